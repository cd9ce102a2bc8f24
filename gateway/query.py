"""What is known of one query while it is served."""

from __future__ import annotations

import time

from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse

from gateway.fuse import Fusing
from gateway.round import Round


class Query:
    """One query. Whoever serves it fills in what there is, as it comes to be."""

    __slots__ = ("asked", "asking", "fusing", "origin", "planning", "reply", "request")

    def __init__(self, request: SearchRequest) -> None:
        self.request = request
        # When it arrived, when planning began, and when the first lane was asked, on the monotonic clock.
        self.origin = self.planning = self.asked = time.monotonic()
        self.asking: Round | None = None
        self.fusing: Fusing | None = None
        self.reply: SearchResponse | None = None
