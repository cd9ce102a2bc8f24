"""Whether certificate, key and authorities fit together, found out as peers will: by a handshake, here with oneself."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# OpenSSL's numbers of what is wrong with a certificate, in words that name what to do.
_WRONG = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is not of an authority in LANEMESH_TLS_CA",
    19: "the certificate is not of an authority in LANEMESH_TLS_CA",
    20: "the certificate is not of an authority in LANEMESH_TLS_CA",
    21: "the certificate is not of an authority in LANEMESH_TLS_CA",
    26: "the certificate must be for both server and client authentication",
}
_ROUNDS = 10


class Unfit(Exception):
    """Files that cannot be used; `variable` names the one at fault."""

    def __init__(self, variable: str, message: str) -> None:
        super().__init__(message)
        self.variable = variable


@dataclass(frozen=True, slots=True)
class Proved:
    """What a certificate that works says of itself."""

    names: tuple[str, ...]
    # Unix time.
    expires: float


def prove(certificate: Path, key: Path, authorities: Path) -> Proved:
    """Shakes hands with itself in both roles; Unfit says what a peer would have found wrong."""
    server = serving(certificate, key, authorities)
    client = _filled(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key, authorities)
    client.check_hostname = False
    try:
        found = _shake(server, client)
    except ssl.SSLCertVerificationError as error:
        raise Unfit("LANEMESH_TLS_CERT", _WRONG.get(error.verify_code, error.verify_message)) from error
    except ssl.SSLError as error:
        raise Unfit("LANEMESH_TLS_CERT", f"the certificate does not work: {error.reason}") from error
    return Proved(names_of(found), float(ssl.cert_time_to_seconds(found["notAfter"])))


def serving(certificate: Path, key: Path, authorities: Path, *, client_certificates: bool = True) -> ssl.SSLContext:
    """What a server needs; it asks for a client certificate unless told otherwise."""
    context = _filled(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate, key, authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED if client_certificates else ssl.CERT_NONE
    return context


def read_authorities(authorities: Path) -> None:
    """Unfit when the file holds no certificate."""
    _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), authorities)


def names_of(certificate: dict[str, Any] | None) -> tuple[str, ...]:
    """The DNS names and URIs in a certificate as Python shows it."""
    alternatives = (certificate or {}).get("subjectAltName", ())
    return tuple(name for kind, name in alternatives if kind in ("DNS", "URI"))


def _filled(context: ssl.SSLContext, certificate: Path, key: Path, authorities: Path) -> ssl.SSLContext:
    _trust(context, authorities)
    try:
        # Without a password of its own OpenSSL would ask for one on the terminal.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise Unfit("LANEMESH_TLS_KEY", "the key is not that of LANEMESH_TLS_CERT") from error
        raise Unfit(*_not_pem(certificate)) from error
    except OSError as error:
        raise Unfit("LANEMESH_TLS_CERT", f"the file cannot be read: {error.strerror}") from error
    return context


def _not_pem(certificate: Path) -> tuple[str, str]:
    """Which of the two files it is: the error says only that there is none."""
    if b"-----BEGIN CERTIFICATE-----" not in certificate.read_bytes():
        return "LANEMESH_TLS_CERT", "the file holds no PEM certificate"
    return "LANEMESH_TLS_KEY", "the file holds no unencrypted PEM key, or the certificate is damaged"


def _trust(context: ssl.SSLContext, authorities: Path) -> None:
    try:
        context.load_verify_locations(cafile=authorities)
    except ssl.SSLError as error:
        raise Unfit("LANEMESH_TLS_CA", "the file holds no PEM certificate") from error
    except OSError as error:
        raise Unfit("LANEMESH_TLS_CA", f"the file cannot be read: {error.strerror}") from error


def _shake(server: ssl.SSLContext, client: ssl.SSLContext) -> dict[str, Any]:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server)
    waiting = [theirs, ours]
    for _ in range(_ROUNDS):
        for side in tuple(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                continue
        if not waiting:
            break
    return ours.getpeercert() or {}
