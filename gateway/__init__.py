"""The front door: validates, plans, asks the lanes at once under one deadline, fuses and replies."""
