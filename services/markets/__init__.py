"""The markets lane: prices and filings."""
