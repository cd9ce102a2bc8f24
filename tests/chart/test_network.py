"""Who may reach whom: exactly the edges of the mesh, allowed at both of their ends, and the internet for few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.chart.conftest import Object, Rendered, component, containers, render

PRIVATE = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"}
SETS = ("default", "development", "secured")
Edge = tuple[str, str, int]


def _rules(policy: Object, direction: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    end = "from" if direction == "ingress" else "to"
    for rule in policy["spec"].get(direction, []):
        for peer in rule[end]:
            for port in rule["ports"]:
                yield peer, port


def _named(peer: Mapping[str, Any]) -> str:
    """The component of this release that a peer is; empty for anything else."""
    labels = peer.get("podSelector", {}).get("matchLabels", {})
    return str(labels.get("app.kubernetes.io/name", "")) if "app.kubernetes.io/instance" in labels else ""


def _policies(rendered: Rendered) -> list[Object]:
    return [policy for policy in rendered.of("NetworkPolicy") if component(policy) != "nothing"]


def _number(rendered: Rendered, name: str, port: str | int) -> int:
    if isinstance(port, int):
        return port
    pods = [pod for _, pod in rendered.pods() if component(pod) == name]
    listed = [one for pod in pods for box in containers(pod) for one in box.get("ports", [])]
    return int({one["name"]: one["containerPort"] for one in listed}[port])


def _edges(rendered: Rendered, direction: str) -> set[Edge]:
    found = set()
    for policy in _policies(rendered):
        own = component(policy)
        for peer, port in _rules(policy, direction):
            if other := _named(peer):
                ends = (other, own) if direction == "ingress" else (own, other)
                found.add((*ends, _number(rendered, ends[1], port["port"])))
    return found


def _wanted(rendered: Rendered) -> set[Edge]:
    values = rendered.values
    base = values["deploy"]["port_base"]
    lanes = {name: row["port"] for name, row in values["lanes"].items() if row["enabled"]}
    asked = lanes | {"fusion": values["fusion"]["port"]}
    edges = {("gateway", name, base + offset) for name, offset in asked.items()}
    edges.add(("test", "gateway", values["envoy"]["ingress"]["port"]))
    if values["development"]["enabled"]:
        edges |= {
            (lane, row["bundled"], port)
            for lane, row in values["backends"].items()
            for port in values["development"]["servers"][row["bundled"]]["ports"]
        }
        edges |= {(name, "jaeger", 4317) for name in ("gateway", "fusion", *lanes)}
    return edges


@pytest.mark.parametrize("name", SETS)
def test_exactly_the_edges_of_the_mesh_may_be_used(name: str) -> None:
    assert _edges(render(name), "egress") == _wanted(render(name))


@pytest.mark.parametrize("name", SETS)
def test_each_edge_is_allowed_where_it_ends(name: str) -> None:
    rendered = render(name)
    allowed = _edges(rendered, "ingress")
    assert _wanted(rendered) <= allowed
    # Jaeger's own page is beside where spans go in.
    assert {edge for edge in allowed - _wanted(rendered) if edge[1:] != ("jaeger", 16686)} == set()


@pytest.mark.parametrize("name", SETS)
def test_what_is_not_allowed_is_refused(name: str) -> None:
    rendered = render(name)
    (nothing,) = [policy for policy in rendered.of("NetworkPolicy") if component(policy) == "nothing"]
    assert nothing["spec"] == {
        "podSelector": {"matchLabels": {"app.kubernetes.io/instance": "lanemesh"}},
        "policyTypes": ["Ingress", "Egress"],
    }
    assert all(policy["spec"]["policyTypes"] == ["Ingress", "Egress"] for policy in _policies(rendered))
    assert {component(policy) for policy in _policies(rendered)} == {component(pod) for _, pod in rendered.pods()}


@pytest.mark.parametrize("name", SETS)
def test_provider_lanes_alone_reach_the_internet_and_no_private_address(name: str) -> None:
    outside = {}
    for policy in _policies(render(name)):
        for peer, port in _rules(policy, "egress"):
            if "ipBlock" in peer and peer["ipBlock"]["cidr"] == "0.0.0.0/0":
                outside.setdefault(component(policy), set()).add(port["port"])
                assert set(peer["ipBlock"]["except"]) >= PRIVATE
    assert outside == {name: {443, 80} for name in ("web", "news", "markets")}


def test_a_server_of_ones_own_is_reached_where_it_is_said_to_be() -> None:
    rendered = render("secured")
    reached = {
        component(policy): (peer, {port["port"] for _, port in _rules(policy, "egress") if _ == peer})
        for policy in _policies(rendered)
        for peer, _ in _rules(policy, "egress")
        if peer in [one for row in rendered.values["backends"].values() for one in row["peers"]]
        and component(policy) in rendered.values["backends"]
    }
    assert reached["kg"] == ({"ipBlock": {"cidr": "203.0.113.7/32"}}, {8529})
    assert reached["vector"][1] == {6333, 6334}


def test_callers_and_scrapers_are_those_of_the_values() -> None:
    rendered = render("secured")
    policies = {component(policy): policy for policy in _policies(rendered)}
    callers = [peer for peer, port in _rules(policies["gateway"], "ingress") if port["port"] == "ingress"]
    assert {"namespaceSelector": {"matchLabels": {"team": "shop"}}} in callers
    assert len(callers) == 2
    for name in ("gateway", "vector", "fusion"):
        scrapers = [peer for peer, port in _rules(policies[name], "ingress") if port["port"] == "metrics"]
        assert scrapers == rendered.values["network_policy"]["scrapers"]


def test_a_rule_of_ones_own_stands_beside_the_others() -> None:
    policies = {component(policy): policy for policy in _policies(render("secured"))}
    redis = ({"podSelector": {"matchLabels": {"app": "redis"}}}, {"protocol": "TCP", "port": 6379})
    assert [name for name, policy in policies.items() if redis in _rules(policy, "egress")] == ["web"]


def test_policies_can_be_left_to_somebody_else() -> None:
    assert not render("bare").of("NetworkPolicy")
