"""The probes of a kubelet, as the manifests describe them."""

from __future__ import annotations

import asyncio

import aiohttp
import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from tests.images.chart import Object, named_port


async def passes(probe: Object, address: str, spec: Object) -> bool:
    """Whether a pod passes a probe now."""
    seconds = probe.get("timeoutSeconds", 1)
    try:
        if "grpc" in probe:
            return await _serving(f"{address}:{probe['grpc']['port']}", probe["grpc"].get("service", ""), seconds)
        get = probe["httpGet"]
        return await _answers(f"http://{address}:{named_port(spec, get['port'])}{get['path']}", seconds)
    except (grpc.aio.AioRpcError, aiohttp.ClientError, TimeoutError):
        return False


async def _serving(target: str, service: str, seconds: float) -> bool:
    async with grpc.aio.insecure_channel(target, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        reply: HealthCheckResponse = await HealthStub(channel).Check(
            HealthCheckRequest(service=service), timeout=seconds
        )
    return reply.status == HealthCheckResponse.SERVING


async def _answers(url: str, seconds: float) -> bool:
    async with aiohttp.ClientSession() as session, asyncio.timeout(seconds), session.get(url) as reply:
        return 200 <= reply.status < 400


class Probing:
    """The probes of one container, each in its turn: startup until it passes, then readiness and liveness."""

    def __init__(self, container: Object, spec: Object, address: str) -> None:
        self.ready = "readinessProbe" not in container
        self.started = asyncio.Event()
        # Ready for the first time.
        self.passed = asyncio.Event()
        self.failures: list[str] = []
        self._container = container
        self._spec = spec
        self._address = address

    async def run(self) -> None:
        """Probes until cancelled."""
        await self._start()
        if self.ready:
            self.passed.set()
        async with asyncio.TaskGroup() as group:
            if probe := self._container.get("readinessProbe"):
                group.create_task(self._readiness(probe))
            if probe := self._container.get("livenessProbe"):
                group.create_task(self._liveness(probe))

    async def _start(self) -> None:
        probe = self._container.get("startupProbe")
        for _ in range(probe.get("failureThreshold", 3) if probe else 0):
            if await passes(probe, self._address, self._spec):
                break
            await asyncio.sleep(probe.get("periodSeconds", 10))
        else:
            if probe:
                self.failures.append(f"{self._container['name']} does not start")
        self.started.set()

    async def _readiness(self, probe: Object) -> None:
        failures = 0
        while True:
            failures = 0 if await passes(probe, self._address, self._spec) else failures + 1
            self.ready = failures == 0 or (self.ready and failures < probe.get("failureThreshold", 3))
            if self.ready:
                self.passed.set()
            await asyncio.sleep(probe.get("periodSeconds", 10))

    async def _liveness(self, probe: Object) -> None:
        failures = 0
        while True:
            failures = 0 if await passes(probe, self._address, self._spec) else failures + 1
            if failures >= probe.get("failureThreshold", 3):
                self.failures.append(f"{self._container['name']} is not alive")
            await asyncio.sleep(probe.get("periodSeconds", 10))
