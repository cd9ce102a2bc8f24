"""What stands outside the mesh in these tests: index servers and providers, reachable from the pod network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.images.network import relaying
from tests.keyword.fake_meili import FakeMeili, serving
from tests.kg.arango_server import PASSWORD, USER, Arango, arango_server
from tests.simulator.server import simulating
from tests.vector.qdrant_server import qdrant_server

PROVIDERS = ("web", "news", "markets")


@asynccontextmanager
async def backends(host: str, folder: Path) -> AsyncIterator[dict[str, Any]]:
    """The servers; yields the chart's values that lead the lanes to them."""
    async with AsyncExitStack() as stack:

        async def reached(port: int) -> int:
            """Where pods reach a server that listens on loopback."""
            return await stack.enter_async_context(relaying(host, 0, lambda: [("127.0.0.1", port)]))

        qdrant = await stack.enter_async_context(qdrant_server(folder))
        meili = await stack.enter_async_context(serving(FakeMeili()))
        arango = stack.enter_context(arango_server(Arango()))
        simulator = await stack.enter_async_context(simulating())
        vector, keyword, kg, outside = [
            await reached(port) for port in (qdrant.port, _port(meili.url), _port(arango.url), _port(simulator.url))
        ]
        simulated = {
            "LANEMESH_SIMULATED_PROVIDERS": f"http://{host}:{outside}",
            "LANEMESH_PROVIDER_ALLOWED_ADDRESSES": f"{host}/32",
        }
        yield {
            "backends": {
                "vector": {"url": f"http://{host}:6333"},
                "keyword": {"url": f"http://{host}:{keyword}"},
                "kg": {"url": f"http://{host}:{kg}", "credential": {"secret": "arango"}},
            },
            "deploy": {
                "processes": {
                    "vector": {"env": {"QDRANT_GRPC_PORT": str(vector)}},
                    "kg": {"env": {"ARANGO_USER": USER}},
                    **{name: {"env": simulated} for name in PROVIDERS},
                }
            },
        }


SECRET = {"kind": "Secret", "metadata": {"name": "arango"}, "stringData": {"password": PASSWORD}}


def _port(url: str) -> int:
    return urlsplit(url).port or 0
