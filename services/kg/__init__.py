"""The kg lane: entities, relations and paths of the knowledge graph, by an embedded engine or ArangoDB."""
