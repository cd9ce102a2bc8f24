"""The chart on a real API server, by real helm: every kind accepted, every pod admitted, there and back."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from tests.cluster.conftest import NAMESPACE, RELEASE, ROOT, VALUES, Cluster, objects
from tests.cluster.kube import Object, Refused
from tests.cluster.plane import eventually

CHART = str(ROOT / "helm")
SETS = ("secured", "bare", "development")


def _values(name: str) -> tuple[str, str]:
    return "--values", str(VALUES / f"{name}.yaml")


def _pods(cluster: Cluster) -> Counter[str]:
    pods = cluster.kube.list("Pod", "v1", NAMESPACE)
    alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return Counter(pod["metadata"]["labels"]["app.kubernetes.io/name"] for pod in alive)


def _wanted(manifest: list[Object]) -> Counter[str]:
    scaled = {thing["metadata"]["name"]: thing["spec"] for thing in manifest if thing["kind"].endswith("Autoscaler")}
    count: Counter[str] = Counter()
    for thing in manifest:
        if thing["kind"] in ("Deployment", "StatefulSet"):
            # Nothing scales here: one pod is what a Deployment without a number begins with.
            replicas = 1 if thing["metadata"]["name"] in scaled else thing["spec"]["replicas"]
            count[thing["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"]] = replicas
    return count


def _run(cluster: Cluster) -> None:
    """Says of each pod what a kubelet says of one that is well; there is none here, and a roll-out waits for it."""
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for pod in cluster.kube.list("Pod", "v1", NAMESPACE):
        if pod["status"].get("phase") != "Running":
            # It may be gone by now.
            with suppress(Refused):
                path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}/status"
                cluster.kube.call("PATCH", path, {"status": running})


def _settled(cluster: Cluster, manifest: list[Object]) -> None:
    """Waits until every pod of the manifest was made; none may have been refused."""
    wanted = _wanted(manifest)

    def look() -> bool | None:
        _run(cluster)
        events = cluster.kube.list("Event", "v1", NAMESPACE)
        assert [event["message"] for event in events if event["reason"] == "FailedCreate"] == []
        return True if _pods(cluster) == wanted else None

    eventually(look, f"pods {dict(wanted)}")


def _as_told(told: Any, live: Any) -> bool:
    """Whether the server holds what it was told, whatever it added."""
    if isinstance(told, dict) and isinstance(live, dict):
        return all(_as_told(value, live.get(key)) for key, value in told.items() if value is not None)
    if isinstance(told, list) and isinstance(live, list):
        return len(told) == len(live) and all(map(_as_told, told, live))
    # Absent and empty are one thing to the server.
    return str(told) == str(live) or (not told and not live)


def _holds(cluster: Cluster, manifest: list[Object]) -> None:
    for thing in manifest:
        live = cluster.kube.live(thing, NAMESPACE)
        told = {key: value for key, value in thing.items() if key != "metadata"}
        assert _as_told(told, live), f"{thing['kind']}/{thing['metadata']['name']} is not as the release says"


@pytest.mark.parametrize("name", SETS)
def test_every_object_is_accepted_strictly_and_without_a_warning(cluster: Cluster, name: str) -> None:
    rendered = objects(cluster.helm("template", RELEASE, CHART, *_values(name)))
    for thing in rendered:
        cluster.kube.create(thing, NAMESPACE, dryRun="All", fieldValidation="Strict")
    assert cluster.kube.warnings == []


@pytest.mark.parametrize("name", SETS)
def test_every_pod_is_admitted_under_restricted(release: Cluster, name: str) -> None:
    release.helm("install", RELEASE, CHART, *_values(name))
    _settled(release, release.manifest())
    for pod in release.kube.list("Pod", "v1", NAMESPACE):
        assert pod["spec"]["serviceAccountName"] == f"{RELEASE}-{pod['metadata']['labels']['app.kubernetes.io/name']}"
        assert not [volume for volume in pod["spec"].get("volumes", []) if "projected" in volume]
    assert release.kube.warnings == []


def test_a_pod_that_is_not_restricted_is_refused_here(cluster: Cluster) -> None:
    container = {"name": "root", "image": "root:1"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "root"}, "spec": {"containers": [container]}}
    with pytest.raises(Refused, match='violates PodSecurity \\\\"restricted'):
        cluster.kube.create(pod, NAMESPACE)


def test_upgrade_and_rollback_leave_exactly_what_they_say(release: Cluster) -> None:
    notes = release.helm("install", RELEASE, CHART)
    assert "WARNING: processes talk in plain text" in notes
    assert "WARNING: no callers are known" in notes
    first = release.manifest()
    _holds(release, first)
    # To servers and mutual TLS: the index lanes become Deployments, certificates and autoscalers come.
    _settled(release, first)
    assert "WARNING" not in release.helm("upgrade", RELEASE, CHART, *_values("secured"))
    second = release.manifest()
    _settled(release, second)
    assert {thing["kind"] for thing in second} - {thing["kind"] for thing in first} >= {"Certificate"}
    _holds(release, second)
    release.helm("rollback", RELEASE, "1")
    assert sorted(map(str, release.manifest())) == sorted(map(str, first))
    _holds(release, first)
    _settled(release, first)
    gone = [thing for thing in second if thing["kind"] == "Certificate"]
    for thing in gone:
        with pytest.raises(Refused, match="not found"):
            release.kube.live(thing, NAMESPACE)
    assert release.kube.warnings == []


def test_removal_leaves_the_indexes_and_nothing_else(release: Cluster) -> None:
    release.helm("install", RELEASE, CHART)
    manifest = release.manifest()
    _settled(release, manifest)
    release.helm("uninstall", RELEASE, "--wait", "--timeout", "60s")
    for thing in manifest:
        with pytest.raises(Refused, match="not found"):
            release.kube.live(thing, NAMESPACE)
    claims = release.kube.list("PersistentVolumeClaim", "v1", NAMESPACE)
    kept = {claim["metadata"]["name"] for claim in claims}
    assert kept == {f"data-{RELEASE}-{lane}-0" for lane in ("keyword", "kg", "preflight", "vector")}
