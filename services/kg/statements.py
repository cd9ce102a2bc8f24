"""The questions the embedded graph answers, as SQL constants. What a caller sent is only ever a bound value, and every
statement applies labels and projects to all it touches."""

# ruff: noqa: S608 - statements are made of constants only.

from __future__ import annotations

from services.kg.engine import DEGREE_LIMIT

_HELD = "SELECT value FROM json_each(:labels)"
_WANTED = "SELECT value FROM json_each(:projects)"


def _open(row: str, table: str) -> str:
    marked = f"SELECT 1 FROM {table}_labels AS mark WHERE mark.owner = {row}.number AND mark.label IN ({_HELD})"
    return f"({row}.labelled = 0 OR EXISTS ({marked}))"


def _within(row: str, table: str) -> str:
    placed = (
        f"SELECT 1 FROM {table}_projects AS place WHERE place.owner = {row}.number AND place.project IN ({_WANTED})"
    )
    return f"EXISTS ({placed})"


# A relation without projects belongs to those of its ends.
_RELATION = f"""{_open("relation", "relation")}
    AND (:projects IS NULL OR NOT relation.placed OR {_within("relation", "relation")})"""


def _end(row: str) -> str:
    """Whether one end of a visible relation is visible; a stub is vouched for by the relation itself."""
    stated = f"({row}.stub AND (:projects IS NULL OR relation.placed))"
    own = f"(NOT {row}.stub AND {_open(row, 'entity')} AND (:projects IS NULL OR {_within(row, 'entity')}))"
    return f"({stated} OR {own})"


def _relations_of(row: str, near: str, far: str) -> str:
    return f"""FROM relations AS relation CROSS JOIN entities AS other ON other.number = relation.{far}
        WHERE relation.{near} = {row}.number AND {_RELATION} AND {_end("other")}"""


_STATED = " OR ".join(
    f"EXISTS (SELECT 1 {_relations_of('entity', near, far)} AND (:projects IS NULL OR relation.placed))"
    for near, far in (("head", "tail"), ("tail", "head"))
)
ENTITY = f"""CASE WHEN entity.stub THEN ({_STATED})
    ELSE {_open("entity", "entity")} AND (:projects IS NULL OR {_within("entity", "entity")}) END"""

_DEGREE = " + ".join(
    f"(SELECT count(*) FROM (SELECT 1 {_relations_of('entity', near, far)} LIMIT {DEGREE_LIMIT}))"
    for near, far in (("head", "tail"), ("tail", "head"))
)


def _projects(table: str, owner: str) -> str:
    return f"""(SELECT json_group_array(project) FROM (SELECT project FROM {table}_projects
        WHERE owner = {owner} AND (:projects IS NULL OR project IN ({_WANTED})) ORDER BY project))"""


_NODE = f"""entity.number, entity.id, entity.name, entity.type, entity.description, entity.confidence,
    {_projects("entity", "entity.number")}"""

KNOWN_KEYS = "SELECT DISTINCT key FROM names WHERE key IN (SELECT value FROM json_each(:keys))"

LINK = f"""SELECT names.kind, {_DEGREE} AS degree, {_NODE}
    FROM names CROSS JOIN entities AS entity ON entity.number = names.entity
    WHERE names.key = :key AND {ENTITY} ORDER BY names.kind, degree DESC, entity.id LIMIT :limit"""

SPOKES = " UNION ".join(
    f"""SELECT name, {far == "head"} FROM (
        WITH RECURSIVE walk(near, type) AS (
            SELECT value, (SELECT min(type) FROM relations WHERE {near} = value) FROM json_each(:handles)
            UNION ALL SELECT near, (SELECT min(type) FROM relations WHERE {near} = near_of.near AND type > near_of.type)
            FROM walk AS near_of WHERE type IS NOT NULL)
        SELECT near, type FROM walk WHERE type IS NOT NULL) AS spoke
    CROSS JOIN types ON types.number = spoke.type
    WHERE EXISTS (SELECT 1 FROM relations AS relation CROSS JOIN entities AS other ON other.number = relation.{far}
        WHERE relation.{near} = spoke.near AND relation.type = spoke.type AND {_RELATION} AND {_end("other")})"""
    for near, far in (("head", "tail"), ("tail", "head"))
)

TYPE = "SELECT number FROM types WHERE name = ?"


def _chosen(near: str, far: str, types: str) -> str:
    return f"""SELECT relation.number AS relation, relation.{near} AS near, relation.{far} AS far,
        relation.confidence AS sure, {far == "head"} AS reversed
        FROM json_each(:handles) AS handle CROSS JOIN json_each(:{types}) AS wanted
        CROSS JOIN relations AS relation ON relation.{near} = handle.value AND relation.type = wanted.value
        CROSS JOIN entities AS other ON other.number = relation.{far} WHERE {_RELATION} AND {_end("other")}"""


_EDGE = f"""chosen.near, types.name, chosen.reversed, relation.confidence, relation.description,
    {_projects("relation", "relation.number")}, {_NODE}"""
_JOINED = """CROSS JOIN relations AS relation ON relation.number = chosen.relation
    CROSS JOIN types ON types.number = relation.type CROSS JOIN entities AS entity ON entity.number = chosen.far"""

EXPAND = f"""SELECT {_EDGE} FROM (
        SELECT * FROM ({_chosen("head", "tail", "along")} UNION ALL {_chosen("tail", "head", "against")})
        ORDER BY sure DESC, relation LIMIT :limit) AS chosen
    {_JOINED} ORDER BY chosen.sure DESC, chosen.relation"""

# One level of a search for paths: bare numbers, so that many fit into memory.
ADJACENT = " UNION ALL ".join(
    f"""SELECT relation.number, relation.{near}, relation.{far}, {far == "head"}
        FROM json_each(:handles) AS handle CROSS JOIN relations AS relation ON relation.{near} = handle.value
        CROSS JOIN entities AS other ON other.number = relation.{far}
        WHERE (:types IS NULL OR relation.type IN (SELECT value FROM json_each(:types)))
        AND {_RELATION} AND {_end("other")}"""
    for near, far in (("head", "tail"), ("tail", "head"))
)

# The relations of a path in order, each as [relation, near, far, reversed].
STEPS = f"""SELECT {_EDGE} FROM (SELECT key, value ->> 0 AS relation, value ->> 1 AS near, value ->> 2 AS far,
        value ->> 3 AS reversed FROM json_each(:steps)) AS chosen {_JOINED} ORDER BY chosen.key"""

STATED_PROJECTS = (
    "SELECT DISTINCT project FROM ("
    + " UNION ALL ".join(
        f"""SELECT place.project FROM entities AS entity
        CROSS JOIN relations AS relation ON relation.{near} = entity.number
        CROSS JOIN entities AS other ON other.number = relation.{far}
        CROSS JOIN relation_projects AS place ON place.owner = relation.number
        WHERE entity.number = :handle AND {_RELATION} AND {_end("other")}"""
        for near, far in (("head", "tail"), ("tail", "head"))
    )
    + f") WHERE :projects IS NULL OR project IN ({_WANTED}) ORDER BY project"
)
OWN_PROJECTS = f"""SELECT project FROM entity_projects
    WHERE owner = :handle AND (:projects IS NULL OR project IN ({_WANTED})) ORDER BY project"""

KEYS = "SELECT key FROM names WHERE entity = ? ORDER BY key"

_DOCUMENT_OPEN = _open("document", "document")
# An unknown date is NULL, and NULL compares to nothing.
_DOCUMENT = f"""{_DOCUMENT_OPEN}
    AND (:projects IS NULL OR document.project IN ({_WANTED}))
    AND (:sources IS NULL OR document.source IN (SELECT value FROM json_each(:sources)))
    AND (:tags IS NULL OR EXISTS (SELECT 1 FROM document_tags AS mark WHERE mark.owner = document.number
        AND mark.tag IN (SELECT value FROM json_each(:tags))))
    AND (:language IS NULL OR substr(document.language_key, 1, length(:language)) = :language)
    AND (:after IS NULL OR (document.published_seconds, document.published_nanos) >= (:after, :after_nanos))
    AND (:before IS NULL OR (document.published_seconds, document.published_nanos) < (:before, :before_nanos))"""

DOCUMENTS = f"""SELECT document.record FROM mentions
    CROSS JOIN documents AS document ON document.number = mentions.rowid
    WHERE mentions MATCH :phrases AND {_DOCUMENT} ORDER BY mentions.rank, document.id LIMIT :limit"""

COUNT_DOCUMENTS = f"""SELECT document.project, count(*) FROM documents AS document
    WHERE {_DOCUMENT_OPEN} GROUP BY document.project"""
COUNT_ENTITIES = f"SELECT count(*) FROM entities AS entity WHERE {ENTITY}"
COUNT_RELATIONS = f"""SELECT count(*) FROM relations AS relation
    CROSS JOIN entities AS head ON head.number = relation.head
    CROSS JOIN entities AS tail ON tail.number = relation.tail
    WHERE {_RELATION} AND {_end("head")} AND {_end("tail")}"""
