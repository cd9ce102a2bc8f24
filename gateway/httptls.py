"""TLS at the JSON door: the gateway's certificates, looked at anew at every handshake as gRPC does."""

from __future__ import annotations

import logging
import ssl
from typing import Any

from services.runtime.certificates import Certificates, Material
from services.runtime.handshake import Unfit, names_of, serving
from services.runtime.server import Security

log = logging.getLogger(__name__)


def door_context(security: Security) -> ssl.SSLContext:
    """A context that hands every connection to the one made of the newest certificates."""
    newest = _Newest(security)
    outer = newest.context

    def choose(connection: ssl.SSLObject, _name: str | None, _outer: ssl.SSLContext) -> None:
        connection.context = newest.context

    # Called at every handshake, whether or not the client names a server.
    outer.sni_callback = choose
    return outer


def client_names(transport: Any) -> tuple[str, ...]:
    """The names in the certificate of whoever is at the other end; none in plain text."""
    connection = transport.get_extra_info("ssl_object") if transport is not None else None
    return names_of(connection.getpeercert()) if connection is not None else ()


class _Newest:
    """The context of the certificates in use."""

    def __init__(self, security: Security) -> None:
        self._certificates: Certificates = security.certificates
        self._client_certificates = security.client_certificates
        self._material: Material = self._certificates.material
        self._context = self._made()

    @property
    def context(self) -> ssl.SSLContext:
        found = self._certificates.look()
        if found is not self._material:
            try:
                self._context, self._material = self._made(), found
            except Unfit as unfit:
                # The files changed again since; the next handshake looks again.
                log.warning("the JSON door keeps its certificates: %s: %s", unfit.variable, unfit)
        return self._context

    def _made(self) -> ssl.SSLContext:
        files = self._certificates.files
        assert files.certificate is not None and files.key is not None  # noqa: S101, PT018
        context = serving(
            files.certificate, files.key, files.authorities, client_certificates=self._client_certificates
        )
        # A resumed session would skip the look at the client's certificate.
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
        return context
