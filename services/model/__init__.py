"""A chat model behind the OpenAI-compatible HTTP interface, for whoever is configured to use one."""
