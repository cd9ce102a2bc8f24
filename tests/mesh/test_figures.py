"""After the demo every measure that a query reports is exported by the process that knows it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lanemesh.v1.lane_pb2 import MODE_RESEARCH
from lanemesh.v1.search_pb2 import SearchRequest
from prometheus_client.parser import text_string_to_metric_families

from services.runtime.dev import METRICS_OFFSET
from services.runtime.registry import load_table
from tests.mesh.conftest import Up, started

# The measures of the requirements, and the series that they are read from.
GATEWAY = {
    "lane success rate": "lanemesh_lane_calls_total",
    "budget utilisation": "lanemesh_lane_budget_share_count",
    "response time": "lanemesh_query_seconds_count",
    "time per lane": "lanemesh_lane_seconds_count",
    "times of the stages": "lanemesh_query_stage_seconds_count",
    "degradation": "lanemesh_queries_total",
    "cache hits": "lanemesh_lane_cache_total",
}
FUSION = {
    "received": "lanemesh_fusion_evidence_received_total",
    "dedup": "lanemesh_fusion_evidence_removed_total",
    "citation coverage": "lanemesh_fusion_sentences_total",
    "citation accuracy": "lanemesh_fusion_citations_total",
    "source agreement": "lanemesh_fusion_documents_total",
    "conflicts": "lanemesh_fusion_conflicts_total",
    "time of fusion": "lanemesh_fusion_seconds_count",
    "time of synthesis": "lanemesh_synthesis_seconds_count",
}
PROVIDERS = {"outcomes": "lanemesh_provider_attempts_total", "standing": "lanemesh_provider_standing"}
# What is exported from the start, and counts when it happens.
EVENTS = ("lanemesh_fallbacks_total", "lanemesh_provider_demotions_total")


async def figures(port: int) -> dict[str, float]:
    """What a process exports: the sum over the labels of every series."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
    text = (await reader.read()).decode().partition("\r\n\r\n")[2]
    writer.close()
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        found.setdefault(family.name + ("_total" if family.type == "counter" else ""), 0.0)
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


async def test_every_measure_is_exported_after_the_demo(tmp_path: Path) -> None:
    async with started(tmp_path, "--metrics") as up:
        await _ask(up)
        table = load_table()
        ports = {name: up.base + METRICS_OFFSET + row.port for name, row in table.lanes.items()}
        gateway = await figures(up.base + METRICS_OFFSET + table.gateway_port)
        fusion = await figures(up.base + METRICS_OFFSET + table.fusion.port)
        lanes = {name: await figures(port) for name, port in ports.items()}
    assert {name for name, series in GATEWAY.items() if not gateway.get(series)} == set()
    assert {name for name, series in FUSION.items() if not fusion.get(series)} == set()
    assert {name for name, series in PROVIDERS.items() if series not in lanes["web"]} == set()
    assert lanes["web"][PROVIDERS["outcomes"]] > 0
    assert all(own["lanemesh_rpc_total"] > 0 for own in lanes.values())
    assert set(EVENTS) <= gateway.keys() | lanes["web"].keys()


async def _ask(up: Up) -> None:
    """Questions that reach every lane, one of them with sources that disagree."""
    for query in ("How many times does PaymentAdapter retry a failed charge?", "How long does a session last?"):
        await up.search.Search(SearchRequest(query=query), timeout=10)
    everybody = list(load_table().lanes)
    await up.search.Search(
        SearchRequest(query="latest stock price of Apple", include_lanes=everybody, mode=MODE_RESEARCH), timeout=10
    )
