"""The certificates of a process as gRPC takes them, and what a call's own certificate says of its caller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from typing import Any

import grpc

from services.runtime.certificates import Certificates, Material, identity
from services.runtime.errors import PermissionDenied, abort
from services.runtime.served import Handler

HEALTH = "/grpc.health.v1.Health/"
PEER_NAMES = "x509_subject_alternative_name"


def server_credentials(certificates: Certificates, *, client_certificates: bool = True) -> grpc.ServerCredentials:
    """Credentials that are looked at anew at every handshake."""
    given = certificates.material

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        nonlocal given
        found = certificates.look()
        if found is given:
            given = found
        return _configuration(found, client_certificates)

    # gRPC's types do not know that None means: as before.
    return grpc.dynamic_ssl_server_credentials(
        _configuration(given, client_certificates),
        fetch,  # type: ignore[arg-type]
        require_client_authentication=client_certificates,
    )


def channel_credentials(material: Material) -> grpc.ChannelCredentials:
    """Credentials of one channel."""
    return grpc.ssl_channel_credentials(material.authorities, material.key, material.certificate)


def peer_names(context: Any) -> tuple[str, ...]:
    """The names in the certificate of whoever calls; none in plain text."""
    found: Mapping[str, Collection[bytes]] = context.auth_context()
    return tuple(name.decode("utf-8", "replace") for name in found.get(PEER_NAMES, ()))


def _configuration(material: Material, client_certificates: bool) -> grpc.ServerCertificateConfiguration:
    # Files of a process always hold a certificate and its key.
    pair = (material.key or b"", material.certificate or b"")
    return grpc.ssl_server_certificate_configuration([pair], material.authorities if client_certificates else None)


class Access(grpc.aio.ServerInterceptor):
    """Lets only certain processes call. Health may be asked with any certificate of the authority."""

    def __init__(self, processes: Collection[str]) -> None:
        self._names = frozenset(map(identity, processes))

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """The handler, behind the check of who calls."""
        handler = await continuation(handler_call_details)
        if handler is None or handler_call_details.method.startswith(HEALTH):
            return handler
        return self._guarded(handler)

    def _guarded(self, handler: Handler) -> Handler:
        codec = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        if handler.response_streaming:
            replies: Any = handler.unary_stream or handler.stream_stream

            async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
                await self._check(context)
                async with aclosing(replies(request, context)) as each:
                    async for reply in each:
                        yield reply

            make = (
                grpc.stream_stream_rpc_method_handler
                if handler.request_streaming
                else grpc.unary_stream_rpc_method_handler
            )
            return make(stream, **codec)
        answer: Any = handler.unary_unary or handler.stream_unary

        async def unary(request: Any, context: Any) -> Any:
            await self._check(context)
            return await answer(request, context)

        make_unary = (
            grpc.stream_unary_rpc_method_handler if handler.request_streaming else grpc.unary_unary_rpc_method_handler
        )
        return make_unary(unary, **codec)

    async def _check(self, context: Any) -> None:
        names = peer_names(context)
        if self._names.isdisjoint(names):
            called = ", ".join(names[:4]) or "a certificate without names"
            await abort(context, PermissionDenied(f"{called} may not call this process"))
