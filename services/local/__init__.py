"""The local lane: the project's own instructions, read-mes and documentation, always as they are on disk now."""
