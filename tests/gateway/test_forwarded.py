"""A certificate that the proxy in front has read: believed only as the proxy wrote it."""

from __future__ import annotations

import pytest

from gateway.identity import forwarded_names

URI = "spiffe://example.org/billing"


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (f"By=spiffe://mesh/envoy;Hash=ab12;URI={URI};DNS=billing.example.org", [URI, "billing.example.org"]),
        ("Hash=ab12;DNS=a.example.org;DNS=b.example.org", ["a.example.org", "b.example.org"]),
        ('Hash=ab;Subject="CN=x,O=\\"URI=spiffe://evil\\";DNS=evil";URI="spiffe://good"', ["spiffe://good"]),
        # What stands before came from somebody further away.
        (f"URI=spiffe://evil,URI={URI}", [URI]),
        (f"URI={URI},Hash=ab12", []),
        ("URI=spiffe://x;nonsense", []),
        ('Subject="never closed;URI=spiffe://x', []),
        ("", []),
    ],
)
def test_the_last_element_counts(header: str, names: list[str]) -> None:
    assert forwarded_names([("x-forwarded-client-cert", header)]) == names


def test_the_last_header_counts_and_others_are_not_read() -> None:
    metadata = [("x-forwarded-client-cert", "URI=spiffe://evil"), ("x-forwarded-client-cert", f"URI={URI}")]
    assert forwarded_names(metadata) == [URI]
    assert forwarded_names([("x-client-cert", f"URI={URI}"), ("traceparent", "x")]) == []
