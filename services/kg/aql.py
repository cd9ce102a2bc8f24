"""Everything the lane asks of ArangoDB, as named AQL constants. What a caller sent is only ever a bind variable, and
every statement applies labels and projects to all it touches."""

from __future__ import annotations

GRAPH = "knowledge_graph"
ENTITIES, RELATIONS, DOCUMENTS_COLLECTION = "entities", "relations", "documents"


def _open(row: str) -> str:
    return f"(LENGTH({row}.labels) == 0 OR LENGTH(INTERSECTION({row}.labels, @labels)) > 0)"


def _within(row: str) -> str:
    return f"(@projects == null OR LENGTH(INTERSECTION({row}.projects, @projects)) > 0)"


# A relation without projects belongs to those of its ends.
def _relation(row: str) -> str:
    return f"({_open(row)} AND (LENGTH({row}.projects) == 0 OR {_within(row)}))"


def _placed(row: str) -> str:
    return f"(@projects == null OR LENGTH({row}.projects) > 0)"


def _end(row: str, relation: str) -> str:
    """Whether one end of a visible relation is visible; a stub is vouched for by the relation itself."""
    return f"({row}.stub ? {_placed(relation)} : ({_open(row)} AND {_within(row)}))"


def _kept(row: str) -> str:
    return f"(@projects == null ? {row}.projects : INTERSECTION({row}.projects, @projects))"


def _node(row: str) -> str:
    return f"""{{handle: {row}._id, id: {row}.id, name: {row}.name, type: {row}.type,
        description: {row}.description, confidence: {row}.confidence, projects: {_kept(row)}}}"""


def _around(start: str) -> str:
    return f"""FOR v, r IN 1..1 ANY {start} GRAPH "{GRAPH}" FILTER {_relation("r")} AND {_end("v", "r")}"""


_ENTITY = f"""(e.stub ? LENGTH({_around("e._id")} AND {_placed("r")} LIMIT 1 RETURN 1) > 0
        : ({_open("e")} AND {_within("e")}))"""

LINK = f"""
FOR key IN @keys
  FOR found IN (
    FOR e IN {ENTITIES}
      FILTER key IN e.keys[*]
      FILTER {_ENTITY}
      LET degree = LENGTH({_around("e._id")} LIMIT @most RETURN 1)
      LET kind = e.kinds[POSITION(e.keys, key, true)]
      SORT kind, degree DESC, e.id
      LIMIT @limit
      RETURN {{key: key, kind: kind, degree: degree, node: {_node("e")}}})
  RETURN found
"""

SPOKES = f"""
FOR handle IN @handles
  {_around("handle")}
  COLLECT relation = r.relation, reversed = (r._to == handle)
  RETURN {{relation: relation, reversed: reversed}}
"""

EXPAND = f"""
FOR handle IN @handles
  {_around("handle")}
  LET reversed = (r._to == handle)
  FILTER reversed ? r.relation IN @against : r.relation IN @along
  SORT r.confidence DESC, r._key
  LIMIT @limit
  RETURN {{source: handle, relation: r.relation, reversed: reversed, confidence: r.confidence,
    description: r.description, projects: {_kept("r")}, node: {_node("v")}}}
"""

# The shortest come first; @tried bounds how many are looked at before the filters leave @count.
PATHS = f"""
FOR p IN ANY K_SHORTEST_PATHS @start TO @end GRAPH "{GRAPH}"
  LIMIT @tried
  LET length = LENGTH(p.edges)
  FILTER length > 0 AND length <= @hops
  FILTER LENGTH(FOR i IN 0..length - 1
    LET r = p.edges[i]
    FILTER NOT ({_relation("r")} AND {_end("p.vertices[i]", "r")} AND {_end("p.vertices[i + 1]", "r")}
      AND (LENGTH(@relations) == 0 OR r.relation IN @relations))
    LIMIT 1 RETURN 1) == 0
  LIMIT @count
  RETURN (FOR i IN 0..length - 1
    LET r = p.edges[i]
    LET v = p.vertices[i + 1]
    RETURN {{source: p.vertices[i]._id, relation: r.relation, reversed: r._from != p.vertices[i]._id,
      confidence: r.confidence, description: r.description, projects: {_kept("r")}, node: {_node("v")}}})
"""

PROJECTS = f"""
FOR handle IN @handles
  LET e = DOCUMENT(handle)
  LET own = {_kept("e")}
  LET stated = FLATTEN({_around("handle")} RETURN {_kept("r")})
  RETURN {{handle: handle, projects: LENGTH(own) > 0 ? own : UNIQUE(stated)}}
"""

_DOCUMENT = f"""{_open("d")}
        AND (@projects == null OR d.project IN @projects)
        AND (@sources == null OR d.source IN @sources)
        AND (@tags == null OR LENGTH(INTERSECTION(d.tags, @tags)) > 0)
        AND (@language == null OR STARTS_WITH(d.language, @language))
        AND (@after == null OR (d.published != null AND d.published >= @after))
        AND (@before == null OR (d.published != null AND d.published < @before))"""

DOCUMENTS = f"""
FOR handle IN @handles
  LET e = DOCUMENT(handle)
  LET found = (
    FOR phrase IN e.phrases
      FOR d IN {DOCUMENTS_COLLECTION}
        FILTER phrase.probe IN d.words[*]
        FILTER CONTAINS(d.text, phrase.text)
        FILTER {_DOCUMENT}
        COLLECT id = d.id, record = d.record
        SORT id
        LIMIT @limit
        RETURN record)
  RETURN {{handle: handle, keys: e.phrases[*].key, records: found}}
"""

COUNT_DOCUMENTS = f"""
FOR d IN {DOCUMENTS_COLLECTION}
  FILTER {_open("d")}
  COLLECT project = d.project WITH COUNT INTO number
  RETURN {{project: project, number: number}}
"""
COUNT_ENTITIES = f"RETURN LENGTH(FOR e IN {ENTITIES} FILTER {_ENTITY} RETURN 1)"
COUNT_RELATIONS = f"""
RETURN LENGTH(
  FOR r IN {RELATIONS}
    LET head = DOCUMENT(r._from)
    LET tail = DOCUMENT(r._to)
    FILTER {_relation("r")} AND {_end("head", "r")} AND {_end("tail", "r")}
    RETURN 1)
"""

PUT_ENTITIES = f'FOR row IN @rows INSERT row INTO {ENTITIES} OPTIONS {{overwriteMode: "replace"}}'
# What is there stays: a stub never replaces an entity.
PUT_STUBS = f'FOR row IN @rows INSERT row INTO {ENTITIES} OPTIONS {{overwriteMode: "ignore"}}'
PUT_RELATIONS = f'FOR row IN @rows INSERT row INTO {RELATIONS} OPTIONS {{overwriteMode: "replace"}}'
PUT_DOCUMENTS = f'FOR row IN @rows INSERT row INTO {DOCUMENTS_COLLECTION} OPTIONS {{overwriteMode: "replace"}}'

DROP_DOCUMENTS = f"""
FOR d IN {DOCUMENTS_COLLECTION} FILTER d._key IN @keys REMOVE d IN {DOCUMENTS_COLLECTION} RETURN 1
"""
DROP_RELATIONS = f"""
FOR r IN {RELATIONS} FILTER r._key IN @keys REMOVE r IN {RELATIONS} RETURN [r._from, r._to]
"""
DROP_RELATIONS_OF = f"""
FOR r IN {RELATIONS} FILTER r._from IN @handles OR r._to IN @handles REMOVE r IN {RELATIONS} RETURN [r._from, r._to]
"""
DROP_ENTITIES = f"FOR e IN {ENTITIES} FILTER e._id IN @handles REMOVE e IN {ENTITIES} RETURN 1"
# A stub lives as long as a relation names it.
DROP_UNNAMED = f"""
FOR e IN {ENTITIES}
  FILTER e._id IN @handles AND e.stub
  FILTER LENGTH(FOR r IN {RELATIONS} FILTER r._from == e._id OR r._to == e._id LIMIT 1 RETURN 1) == 0
  REMOVE e IN {ENTITIES}
"""
