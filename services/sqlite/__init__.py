"""SQLite as the embedded lanes use it: bounded threads, deadlines kept, errors translated once."""
