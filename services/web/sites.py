"""Kinds of source as sites of the web: where academic work, documentation and news are published."""

from __future__ import annotations

from services.providers.sources import within

SITES = {
    "academic": (
        "arxiv.org",
        "ncbi.nlm.nih.gov",
        "nature.com",
        "science.org",
        "semanticscholar.org",
        "ieee.org",
        "acm.org",
        "plos.org",
    ),
    "docs": (
        "developer.mozilla.org",
        "docs.python.org",
        "learn.microsoft.com",
        "readthedocs.io",
        "docs.rs",
        "pkg.go.dev",
    ),
    "news": (
        "reuters.com",
        "apnews.com",
        "bbc.com",
        "bbc.co.uk",
        "theguardian.com",
        "nytimes.com",
        "npr.org",
        "dw.com",
    ),
}


def sites_of(sources: tuple[str, ...]) -> tuple[str, ...]:
    """The sites that these kinds of source are limited to; none when one of them is the web at large."""
    if "web" in sources:
        return ()
    return tuple(site for source in sources for site in SITES.get(source, ()))


def kind_of(host: str) -> str:
    """The kind of source that a host is."""
    return next((source for source, sites in SITES.items() if within(host, sites)), "web")


def restricted(query: str, sites: tuple[str, ...]) -> str:
    """The query followed by the operators that limit a search engine to the sites."""
    return f"{query} ({' OR '.join(f'site:{site}' for site in sites)})" if sites else query
