"""Where a process may listen: on loopback as it likes, beyond it only with certificates."""

from __future__ import annotations

from ipaddress import ip_address

from services.runtime.errors import StartupError

TLS = "set LANEMESH_TLS_CERT, LANEMESH_TLS_KEY and LANEMESH_TLS_CA"


def on_loopback(address: str) -> bool:
    """Whether only this machine can reach the address; what cannot be read is taken to be beyond."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = host_of(address)
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(address: str) -> str:
    """The host of `host:port`, `[::1]:port` or a gRPC target such as `dns:///host:port`."""
    place = address.rpartition("/")[2]
    for scheme in ("dns:", "ipv4:", "ipv6:"):
        place = place.removeprefix(scheme)
    host, separator, _ = place.rpartition(":")
    return (host if separator else place).strip("[]").lower()


def permit(variable: str, address: str, *, secured: bool, plaintext: bool) -> None:
    """StartupError where anybody on the network could read and call what listens there."""
    if not (secured or plaintext or on_loopback(address)):
        raise StartupError(
            f"{variable}={address} is beyond loopback: {TLS}, "
            "or LANEMESH_ALLOW_PLAINTEXT=true where something trusted encrypts in its place"
        )
