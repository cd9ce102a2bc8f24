"""Text to vector: one interface, a model inside the process or an HTTP endpoint."""
