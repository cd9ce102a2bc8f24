"""The chart's manifests run: a question answered through Envoy, and restarts that nobody notices."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from lanemesh.v1.search_pb2 import Degradation

from client.mesh import Mesh
from services.runtime.registry import load_table
from tests.images.chart import containers
from tests.images.cluster import Cluster
from tests.images.load import LOST, Load

pytestmark = pytest.mark.asyncio(loop_scope="module")

LANES = [lane.name for lane in load_table().enabled()]
QUESTION = "How many times does PaymentAdapter retry a failed charge?"


async def test_pods_are_confined_as_their_manifests_say(cluster: Cluster) -> None:
    for pods in cluster.pods.values():
        for pod in pods:
            for container in containers(pod.spec):
                found = await pod.inspect(container["name"])
                host = found["HostConfig"]
                assert found["Config"]["User"] == "65532:65532"
                assert (host["ReadonlyRootfs"], host["Privileged"], host["CapAdd"]) == (True, False, [])
                assert not found["EffectiveCaps"]
                assert "no-new-privileges" in host["SecurityOpt"]


async def test_question_is_answered_through_envoy(cluster: Cluster) -> None:
    async with Mesh(f"{cluster.host}:50051") as mesh:
        reply = await mesh.search(QUESTION, deadline=5.0)
    assert "at most 5 times" in reply.answer
    assert {row.lane for row in reply.ledger} == set(LANES)
    assert reply.degradation == Degradation.DEGRADATION_L0


async def test_question_in_json_is_answered_through_envoy(cluster: Cluster) -> None:
    async with aiohttp.ClientSession() as session:
        answer = session.post(f"http://{cluster.host}:50051/v1/search", json={"query": QUESTION})
        async with answer as reply:
            assert reply.status == 200
            assert (await reply.json())["answer"]


async def test_every_lane_answers(cluster: Cluster) -> None:
    async with Mesh(f"{cluster.host}:50051") as mesh:
        reply = await mesh.search(f"{QUESTION} And what is the price of TSLA?", lanes=LANES, deadline=5.0)
    assert [(row.lane, row.reason) for row in reply.ledger if row.status in LOST] == []


async def test_helm_test_passes(cluster: Cluster) -> None:
    assert await cluster.helm_test() == 0


@pytest.mark.parametrize("name", ["gateway", "fusion", *LANES])
async def test_rolling_restart_under_load_loses_nothing(cluster: Cluster, name: str) -> None:
    before = {pod.name for pod in cluster.pods[name]}
    load, enough = Load(), asyncio.Event()
    # The lane itself is asked in every question, and local, which has an answer to each.
    lanes = sorted({name, "local"} & set(LANES))
    asking = asyncio.create_task(load.run(f"{cluster.host}:50051", lanes, enough))
    try:
        await cluster.roll(name)
    finally:
        enough.set()
        await asking
    print(f"\n{name}: {load.summary()}; {load.lost()}")
    assert load.failures == []
    assert cluster.failures == []
    assert len(cluster.pods[name]) == len(before)
    assert not before & {pod.name for pod in cluster.pods[name]}
