"""The mesh for internal callers: a Python client and the `lanemesh` command."""
