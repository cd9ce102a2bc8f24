"""IP addresses that may point to somebody: not versions, networks, masks, loopback or well-known resolvers."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from services.preflight.personal.item import Item, named_before

_FOUR = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w/-]|\.\d)")
_SIX = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,39}(?:%\w{1,16})?(?![\w:/]|\.\d)")
_VERSION = re.compile(
    r"\b(?:version|release|build|v|ver|chapter|section|clause|table|figure|rfc|iso|ec|upgrade[ds]? (?:to|from))\W*$",
    re.I,
)
_RESOLVERS = {"1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9", "2001:4860:4860::8888", "2606:4700:4700::1111"}


def find(text: str) -> Iterator[Item]:
    """Addresses of version 4 and 6."""
    for match in _FOUR.finditer(text):
        if _points_at_somebody(match[0]) and not named_before(text, match.start(), _VERSION):
            yield Item("ip_address", match.start(), match.end())
    if text.count(":") < 2:
        return
    for match in _SIX.finditer(text):
        written = match[0].removesuffix(":") if not match[0].endswith("::") else match[0]
        # Fewer than two groups, as in a time or a label, is no address anybody writes.
        if written.count(":") >= 2 and _points_at_somebody(written.partition("%")[0]):
            yield Item("ip_address", match.start(), match.start() + len(written))


def _points_at_somebody(written: str) -> bool:
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return False
    mask = written.startswith(("255.", "0."))
    nobody = address.is_loopback or address.is_unspecified or address.is_multicast
    return not mask and not nobody and written.lower() not in _RESOLVERS
