"""The keyword lane: full-text search over ingested documents, by an embedded engine or a search server."""
