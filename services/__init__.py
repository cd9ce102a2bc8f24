"""The lanes, what they run on, and what they share."""
