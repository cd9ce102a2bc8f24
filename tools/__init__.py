"""What builds and starts the tools of development that are not Python packages."""
