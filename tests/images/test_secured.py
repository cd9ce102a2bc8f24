"""The chart with mutual TLS, from the images: whoever has a certificate is served, nobody else."""

from __future__ import annotations

import grpc
import pytest
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from client.authority import Pair, issue, new_authority
from tests.images.cluster import Cluster
from tests.images.load import LOST

pytestmark = pytest.mark.asyncio(loop_scope="module")

# The providers' lanes would ask the internet, which is not there.
LANES = ("vector", "keyword", "kg", "local")


async def _ask(address: str, credentials: grpc.ChannelCredentials) -> SearchResponse:
    named = [("grpc.ssl_target_name_override", "lanemesh-gateway"), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.secure_channel(address, credentials, options=named) as channel:
        return await SearchServiceStub(channel).Search(
            SearchRequest(query="Who retries a failed charge?", include_lanes=LANES), timeout=5.0
        )


def _credentials(authority: Pair, issuer: Pair | None) -> grpc.ChannelCredentials:
    held = issue(issuer, ["caller.example"]) if issuer else None
    return grpc.ssl_channel_credentials(
        authority.certificate_pem(), held and held.key_pem(), held and held.certificate_pem()
    )


async def test_caller_with_a_certificate_is_answered_by_every_lane(secured: Cluster, authority: Pair) -> None:
    reply = await _ask(f"{secured.host}:50051", _credentials(authority, authority))
    assert [(row.lane, row.reason) for row in reply.ledger if row.lane in LANES and row.status in LOST] == []
    assert await secured.helm_test() == 0


@pytest.mark.parametrize("other", [False, True], ids=["no certificate", "another authority's"])
async def test_caller_without_one_is_refused(secured: Cluster, authority: Pair, other: bool) -> None:
    issuer = new_authority() if other else None
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await _ask(f"{secured.host}:50051", _credentials(authority, issuer))
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("name", ["gateway", "fusion", "vector"])
async def test_nobody_is_served_in_plain_text(secured: Cluster, name: str) -> None:
    (service,) = [
        each for each in secured.manifests.of_kind("Service") if each["metadata"]["name"] == f"lanemesh-{name}"
    ]
    port = service["spec"]["ports"][0]["port"]
    address = secured.host if name == "gateway" else secured.pods[name][0].address
    async with grpc.aio.insecure_channel(f"{address}:{port}") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await SearchServiceStub(channel).Search(SearchRequest(query="?"), timeout=5.0)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
