"""The web lane: what search engines and open reference works know."""
