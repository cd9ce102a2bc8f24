"""The preflight lane: advice on the question itself, by rules and, where one is configured, by a model."""
