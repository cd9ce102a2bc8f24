"""The kg lane: entities, relations and paths of a knowledge graph, by an embedded engine or a graph server."""
