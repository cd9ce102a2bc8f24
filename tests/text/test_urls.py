"""One spelling for one page; the domain somebody registered."""

from __future__ import annotations

import pytest

from services.text.urls import canonical_url, registrable_domain


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://www.Example.org/", "example.org"),
        ("http://example.org:80/a/", "example.org/a"),
        ("https://example.org:443/a#part", "example.org/a"),
        ("https://example.org:8443/a", "example.org:8443/a"),
        ("https://example.org/a/?b=2&a=1", "example.org/a?a=1&b=2"),
        ("https://example.org/a?utm_medium=x&fbclid=1&GCLID=2", "example.org/a"),
        ("https://example.org/A?q=B", "example.org/A?q=B"),
        ("docs/readme.md", ""),
        ("file:///docs/readme.md", ""),
        ("https://", ""),
        ("", ""),
    ],
)
def test_canonical_url(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://en.wikipedia.org/wiki/X", "wikipedia.org"),
        ("https://news.bbc.co.uk:8080/a?b", "bbc.co.uk"),
        ("https://a.b.com.au", "b.com.au"),
        ("https://localhost/x", "localhost"),
        ("http://user@10.0.0.1:99/x", "10.0.0.1"),
        ("http://[::1]:80/x", "[::1]"),
        ("docs/a.md", ""),
    ],
)
def test_registrable_domain(url: str, domain: str) -> None:
    assert registrable_domain(url) == domain
