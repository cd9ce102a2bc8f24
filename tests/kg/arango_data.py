"""What the fake ArangoDB server keeps in memory, and what each AQL statement of the lane means on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from services.kg import aql

Row = dict[str, Any]
Statement = Callable[["Data", Row], list[Any]]


class Data:
    """Three collections by key."""

    def __init__(self) -> None:
        self.entities: dict[str, Row] = {}
        self.relations: dict[str, Row] = {}
        self.documents: dict[str, Row] = {}

    def execute(self, statement: str, given: Row) -> list[Any]:
        return STATEMENTS[statement](self, given)

    def entity(self, handle: str) -> Row:
        return self.entities[handle.removeprefix("entities/")]

    def around(self, handle: str, given: Row) -> Iterator[tuple[Row, Row]]:
        """Visible relations of an entity with the entity at their other end."""
        for relation in self.relations.values():
            if handle in (relation["_from"], relation["_to"]):
                other = relation["_from"] if relation["_to"] == handle else relation["_to"]
                if relation_seen(relation, given) and end_seen(self.entity(other), relation, given):
                    yield self.entity(other), relation

    def seen(self, row: Row, given: Row) -> bool:
        if row["stub"]:
            return any(placed(relation, given) for _, relation in self.around(row["_id"], given))
        return opened(row, given) and within(row, given)


def opened(row: Row, given: Row) -> bool:
    return not row["labels"] or bool(set(row["labels"]) & set(given["labels"]))


def within(row: Row, given: Row) -> bool:
    return given["projects"] is None or bool(set(row["projects"]) & set(given["projects"]))


def placed(relation: Row, given: Row) -> bool:
    return given["projects"] is None or bool(relation["projects"])


def relation_seen(row: Row, given: Row) -> bool:
    return opened(row, given) and (not row["projects"] or within(row, given))


def end_seen(row: Row, relation: Row, given: Row) -> bool:
    return placed(relation, given) if row["stub"] else opened(row, given) and within(row, given)


def kept(row: Row, given: Row) -> list[str]:
    return [name for name in row["projects"] if given["projects"] is None or name in given["projects"]]


def node(row: Row, given: Row) -> Row:
    fields = ("id", "name", "type", "description", "confidence")
    return {"handle": row["_id"], **{field: row[field] for field in fields}, "projects": kept(row, given)}


def edge(source: str, relation: Row, other: Row, given: Row) -> Row:
    return {
        "source": source,
        "relation": relation["relation"],
        "reversed": relation["_from"] != source,
        "confidence": relation["confidence"],
        "description": relation["description"],
        "projects": kept(relation, given),
        "node": node(other, given),
    }


def link(data: Data, given: Row) -> list[Row]:
    found = []
    for key in given["keys"]:
        rows = [row for row in data.entities.values() if key in row["keys"] and data.seen(row, given)]
        named = [
            {
                "key": key,
                "kind": row["kinds"][row["keys"].index(key)],
                "degree": len(list(data.around(row["_id"], given))[: given["most"]]),
                "node": node(row, given),
            }
            for row in rows
        ]
        named.sort(key=lambda each: (each["kind"], -each["degree"], each["node"]["id"]))
        found.extend(named[: given["limit"]])
    return found


def spokes(data: Data, given: Row) -> list[Row]:
    ways = {
        (relation["relation"], relation["_to"] == handle)
        for handle in given["handles"]
        for _, relation in data.around(handle, given)
    }
    return [{"relation": relation, "reversed": against} for relation, against in sorted(ways)]


def expand(data: Data, given: Row) -> list[Row]:
    found = []
    for handle in given["handles"]:
        for other, relation in data.around(handle, given):
            wanted = given["against"] if relation["_to"] == handle else given["along"]
            if relation["relation"] in wanted:
                found.append((-relation["confidence"], relation["_key"], edge(handle, relation, other, given)))
    return [row for _, _, row in sorted(found, key=lambda each: each[:2])[: given["limit"]]]


def paths(data: Data, given: Row) -> list[list[Row]]:
    found: list[list[Row]] = []
    open_ways: list[tuple[list[str], list[Row]]] = [([given["start"]], [])]
    for _ in range(given["hops"]):
        onward = []
        for visited, steps in open_ways:
            for other, relation in data.around(visited[-1], given):
                allowed = not given["relations"] or relation["relation"] in given["relations"]
                if allowed and other["_id"] not in visited:
                    step = edge(visited[-1], relation, other, given)
                    onward.append(([*visited, other["_id"]], [*steps, step]))
        found.extend(steps for visited, steps in onward if visited[-1] == given["end"])
        open_ways = [way for way in onward if way[0][-1] != given["end"]]
    return found[: given["count"]]


def projects(data: Data, given: Row) -> list[Row]:
    found = []
    for handle in given["handles"]:
        own = kept(data.entity(handle), given)
        stated = {name for _, relation in data.around(handle, given) for name in kept(relation, given)}
        found.append({"handle": handle, "projects": own or sorted(stated)})
    return found


def document_seen(row: Row, given: Row) -> bool:
    return (
        opened(row, given)
        and (given["projects"] is None or row["project"] in given["projects"])
        and (given["sources"] is None or row["source"] in given["sources"])
        and (given["tags"] is None or bool(set(row["tags"]) & set(given["tags"])))
        and (given["language"] is None or row["language"].startswith(given["language"]))
        and (given["after"] is None or (row["published"] is not None and row["published"] >= given["after"]))
        and (given["before"] is None or (row["published"] is not None and row["published"] < given["before"]))
    )


def documents(data: Data, given: Row) -> list[Row]:
    found = []
    for handle in given["handles"]:
        phrases = data.entity(handle)["phrases"]
        rows = [
            row
            for row in data.documents.values()
            if any(phrase["probe"] in row["words"] and phrase["text"] in row["text"] for phrase in phrases)
            and document_seen(row, given)
        ]
        records = [row["record"] for row in sorted(rows, key=lambda row: row["id"])][: given["limit"]]
        found.append({"handle": handle, "keys": [phrase["key"] for phrase in phrases], "records": records})
    return found


def count_documents(data: Data, given: Row) -> list[Row]:
    counted = Counter(row["project"] for row in data.documents.values() if opened(row, given))
    return [{"project": project, "number": number} for project, number in counted.items()]


def count_relations(data: Data, given: Row) -> list[int]:
    return [
        sum(
            relation_seen(row, given) and all(end_seen(data.entity(row[end]), row, given) for end in ("_from", "_to"))
            for row in data.relations.values()
        )
    ]


def put(collection: str, *, replace: bool) -> Statement:
    def put_rows(data: Data, given: Row) -> list[Any]:
        rows = getattr(data, collection)
        for row in given["rows"]:
            if replace or row["_key"] not in rows:
                rows[row["_key"]] = row | {"_id": f"{collection}/{row['_key']}"}
        return []

    return put_rows


def drop(collection: str, chosen: Callable[[Data, Row, Row], bool], shown: Callable[[Row], Any]) -> Statement:
    def drop_rows(data: Data, given: Row) -> list[Any]:
        rows = getattr(data, collection)
        gone = [key for key, row in rows.items() if chosen(data, row, given)]
        return [shown(rows.pop(key)) for key in gone]

    return drop_rows


def _unnamed(data: Data, row: Row, given: Row) -> bool:
    named = {end for relation in data.relations.values() for end in (relation["_from"], relation["_to"])}
    return row["_id"] in given["handles"] and row["stub"] and row["_id"] not in named


def _ends(row: Row) -> list[str]:
    return [row["_from"], row["_to"]]


STATEMENTS: dict[str, Statement] = {
    aql.LINK: link,
    aql.SPOKES: spokes,
    aql.EXPAND: expand,
    aql.PATHS: paths,
    aql.PROJECTS: projects,
    aql.DOCUMENTS: documents,
    aql.COUNT_DOCUMENTS: count_documents,
    aql.COUNT_ENTITIES: lambda data, given: [sum(data.seen(row, given) for row in data.entities.values())],
    aql.COUNT_RELATIONS: count_relations,
    aql.PUT_ENTITIES: put("entities", replace=True),
    aql.PUT_STUBS: put("entities", replace=False),
    aql.PUT_RELATIONS: put("relations", replace=True),
    aql.PUT_DOCUMENTS: put("documents", replace=True),
    aql.DROP_DOCUMENTS: drop("documents", lambda _, row, given: row["_key"] in given["keys"], lambda _: 1),
    aql.DROP_RELATIONS: drop("relations", lambda _, row, given: row["_key"] in given["keys"], _ends),
    aql.DROP_RELATIONS_OF: drop(
        "relations", lambda _, row, given: bool(set(_ends(row)) & set(given["handles"])), _ends
    ),
    aql.DROP_ENTITIES: drop("entities", lambda _, row, given: row["_id"] in given["handles"], lambda _: 1),
    aql.DROP_UNNAMED: drop("entities", _unnamed, lambda _: 1),
}
