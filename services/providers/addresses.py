"""Which addresses may be connected to. Asked once per socket: names, redirects and odd spellings all end here."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from aiohttp import AddrInfoType

Network: TypeAlias = IPv4Network | IPv6Network
MakeSocket: TypeAlias = Callable[[AddrInfoType], socket.socket]

# Global on paper, yet they lead into private networks or to nobody: relays, tunnels and special assignments.
_MISLEADING: tuple[Network, ...] = tuple(
    map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "5f00::/16"))
)
# Unicast addresses are only assigned from here.
_UNICAST = ip_network("2000::/3")
# Translators carry an IPv4 address in the last 32 bits.
_NAT64 = ip_network("64:ff9b::/96")


class ForbiddenAddress(OSError):
    """A connection to an address that must not be reached."""

    def __init__(self) -> None:
        super().__init__("the address is private or reserved")


def open_socket(info: AddrInfoType) -> socket.socket:
    """A socket for the address, not yet connected."""
    family, kind, protocol, _, _ = info
    return socket.socket(family=family, type=kind, proto=protocol)


def guard(allowed: Sequence[Network], make: MakeSocket = open_socket) -> MakeSocket:
    """Makes sockets for public addresses and those in `allowed`; ForbiddenAddress for every other."""

    def guarded(info: AddrInfoType) -> socket.socket:
        if not permitted(str(info[4][0]), allowed):
            raise ForbiddenAddress
        return make(info)

    return guarded


def permitted(address: str, allowed: Sequence[Network] = ()) -> bool:
    """Whether a numeric address is public, or explicitly allowed."""
    parsed = _unwrapped(address.partition("%")[0])
    if any(parsed in network for network in allowed):
        return True
    if isinstance(parsed, IPv6Address) and parsed not in _UNICAST:
        return False
    return parsed.is_global and not parsed.is_multicast and not any(parsed in network for network in _MISLEADING)


def _unwrapped(address: str) -> IPv4Address | IPv6Address:
    """The address that a packet would reach: IPv4 inside IPv6 is taken out."""
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return parsed.ipv4_mapped
        if parsed in _NAT64:
            return IPv4Address(int(parsed) & 0xFFFFFFFF)
    return parsed
