"""The fusion functions behind their wire."""

from __future__ import annotations

import asyncio
import contextvars
import time
from concurrent.futures import ThreadPoolExecutor

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
from fusion_service.compose import NO_DRAFT, Composer
from fusion_service.fuse import answer, arranged, draft
from fusion_service.observe import observe
from fusion_service.verify import verify
from services.runtime import deadline
from services.runtime.boundary import Context, call_deadline, guarded
from services.runtime.registry import Table

# Texts aligned at once; Python gains nothing from more.
_ALIGNING = 2


class Fusion(fusion_pb2_grpc.FusionServiceServicer):
    """Serves pure functions; what they need of the configuration is fixed at start. A model may write the answers."""

    def __init__(self, table: Table, composer: Composer | None = None) -> None:
        self._table = table
        self._composer = composer
        self._longest_ms = max(mode.deadline_ms for mode in table.modes.values())
        self._threads = ThreadPoolExecutor(_ALIGNING, thread_name_prefix="align")

    @guarded
    async def Fuse(self, request: FuseRequest, context: Context) -> FuseResponse:
        """Many lanes' findings into one answer."""
        started = time.perf_counter()
        response, question = arranged(request, self._table)
        ranked = time.perf_counter()
        written = NO_DRAFT
        if self._composer is not None:
            with deadline.ambient(call_deadline(context, self._longest_ms)):
                written = await draft(request, response, self._table, self._composer)
        answer(request, question, self._table, response, written)
        ended = time.perf_counter()
        response.report.synthesis_ms = (ended - ranked) * 1000
        response.report.elapsed_ms = (ended - started) * 1000
        observe(response)
        return response

    @guarded
    async def Align(self, request: AlignRequest, context: Context) -> AlignResponse:
        """Any text against any documents, beside the loop: what is sent may be long."""
        with deadline.ambient(call_deadline(context, self._longest_ms)):
            work = contextvars.copy_context()
            return await asyncio.get_running_loop().run_in_executor(self._threads, work.run, align, request)

    @guarded
    async def Verify(self, request: VerifyRequest, _context: Context) -> VerifyResponse:
        """Do the spans still hold their passages?"""
        return verify(request)
