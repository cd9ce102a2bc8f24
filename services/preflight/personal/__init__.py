"""Personal data in a query: what it is, where it stands, and the query without it. One file per kind."""
