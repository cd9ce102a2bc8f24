"""The body of a reply, read in pieces: what it unpacks to is counted as it unpacks and never held beyond the limit."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from services.runtime.errors import BadReply

ACCEPT_ENCODING = "gzip, deflate"
# Both window sizes: gzip or zlib by their header.
_ANY_HEADER = zlib.MAX_WBITS | 32
_UNPACKED = ("", "identity")
_PACKED = ("gzip", "x-gzip", "deflate")


async def read_body(pieces: AsyncIterator[bytes], encoding: str, limit: int) -> bytes:
    """All of it, unpacked; BadReply beyond `limit` bytes, or when it is packed in another way than was offered."""
    encoding = encoding.strip().lower()
    if encoding in _UNPACKED:
        return await _plain(pieces, limit)
    if encoding in _PACKED:
        return await _unpacked(pieces, limit)
    raise BadReply("the reply is packed in a way that was not offered")


async def _plain(pieces: AsyncIterator[bytes], limit: int) -> bytes:
    body = bytearray()
    async for piece in pieces:
        body += piece
        _check_size(len(body), limit)
    return bytes(body)


async def _unpacked(pieces: AsyncIterator[bytes], limit: int) -> bytes:
    unpacker = zlib.decompressobj(_ANY_HEADER)
    body = bytearray()
    try:
        async for piece in pieces:
            # One byte more than allowed tells a reply that ends at the limit from one that goes on.
            body += unpacker.decompress(piece, limit + 1 - len(body))
            _check_size(len(body), limit)
    except zlib.error:
        raise BadReply("the reply cannot be unpacked") from None
    if not unpacker.eof:
        raise BadReply("the reply broke off")
    return bytes(body)


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise BadReply(f"the reply is larger than {limit} bytes")
