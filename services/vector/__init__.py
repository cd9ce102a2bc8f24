"""The vector lane: documents by meaning, by an embedded engine or a Qdrant server."""
