"""What web, news and markets share: providers in tiers, their health, a cache, and one careful HTTP client."""
