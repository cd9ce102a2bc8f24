"""The fusion functions behind their wire."""

from __future__ import annotations

import time

from lanemesh.v1 import fusion_pb2_grpc
from lanemesh.v1.fusion_pb2 import (
    AlignRequest,
    AlignResponse,
    FuseRequest,
    FuseResponse,
    VerifyRequest,
    VerifyResponse,
)

from fusion_service.align import align
from fusion_service.fuse import fuse
from fusion_service.verify import verify
from services.runtime.boundary import Context, guarded
from services.runtime.registry import Table


class Fusion(fusion_pb2_grpc.FusionServiceServicer):
    """Serves pure functions; what they need of the configuration is fixed at start."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @guarded
    async def Fuse(self, request: FuseRequest, _context: Context) -> FuseResponse:
        """Many lanes' findings into one answer."""
        started = time.perf_counter()
        response = fuse(request, self._table)
        response.report.elapsed_ms = (time.perf_counter() - started) * 1000
        return response

    @guarded
    async def Align(self, request: AlignRequest, _context: Context) -> AlignResponse:
        """Any text against any documents."""
        return align(request)

    @guarded
    async def Verify(self, request: VerifyRequest, _context: Context) -> VerifyResponse:
        """Do the spans still hold their passages?"""
        return verify(request)
