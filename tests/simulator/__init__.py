"""One local HTTP server that speaks the APIs of the providers: `python -m tests.simulator` serves it by itself."""
