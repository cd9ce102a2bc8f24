"""A cluster of one machine for the chart's workloads: pods, their readiness behind Services, and rolling restarts.

In place of a cluster's own parts stand: podman and runc for the container runtime, the bridge of podman for the pod
network (each pod has an address of its own), a name server and a relay in this process for DNS and Services, and this
class for kubelet and controllers. Network policies, HPAs and disruption budgets have nobody to enforce them here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp

from tests.images.chart import Manifests, Object, named_port, selected, target_port
from tests.images.network import names, relaying
from tests.images.pod import Pod
from tests.images.podman import LABEL, podman

START_SECONDS = 90.0
# Pods that start at once; more only wait for the processors.
AT_ONCE = 3


class Cluster:
    """The pods of every workload, and what Services make of them."""

    def __init__(self, manifests: Manifests, folder: Path, network: str, host: str) -> None:
        self.manifests = manifests
        self.host = host
        self.pods: dict[str, list[Pod]] = {name: [] for name in manifests.workloads()}
        self.failures: list[str] = []
        self.folder = folder
        self.network = ["--network", network, "--dns", host, "--dns-search", "."]
        self._services = {each["metadata"]["name"]: each for each in manifests.of_kind("Service")}
        self._serial = 0
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def up(self) -> None:
        """Starts every workload with all its replicas."""
        async with asyncio.TaskGroup() as group:
            for name, workload in self.manifests.workloads().items():
                for ordinal in range(workload["spec"].get("replicas", 1)):
                    group.create_task(self._add(name, ordinal))
        await self._until_known()

    async def down(self) -> None:
        """Ends every pod at once."""
        await asyncio.gather(*(pod.remove() for pods in self.pods.values() for pod in pods))

    async def roll(self, name: str) -> None:
        """What `kubectl rollout restart` does to a workload, until its last old pod has gone."""
        workload = self.manifests.workloads()[name]
        old = list(self.pods[name])
        if workload["kind"] == "StatefulSet":
            for ordinal, pod in reversed(list(enumerate(old))):
                await self._end(name, pod)
                await self._add(name, ordinal)
            return
        rolling = workload["spec"]["strategy"]["rollingUpdate"]
        assert rolling == {"maxUnavailable": 0, "maxSurge": 1}
        async with asyncio.TaskGroup() as leaving:
            for pod in old:
                await self._add(name, 0)
                leaving.create_task(self._end(name, pod))

    async def helm_test(self) -> int:
        """Runs the pod of `helm test`; its exit code."""
        (hook,) = self.manifests.of_kind("Pod")
        pod = Pod("helm-test", hook, self.folder / "helm-test")
        try:
            await pod.start(self.manifests, self.network, {})
            code = await pod.exit_code()
            if code:
                print(await pod.logs())
            return code
        finally:
            await pod.remove()

    def find(self, name: str) -> Sequence[str] | None:
        """The addresses behind a name, or None when it is nobody's."""
        service = self._services.get(name.partition(".")[0])
        if service is None:
            return None
        if service["spec"].get("clusterIP") != "None":
            return [self.host]
        return [pod.address for pod in self.ready(service)]

    def ready(self, service: Object) -> list[Pod]:
        """The pods that a Service leads to."""
        return [pod for pods in self.pods.values() for pod in pods if selected(service, pod.labels) and pod.ready]

    @asynccontextmanager
    async def networked(self) -> AsyncIterator[None]:
        """Names and addresses of Services, as long as it lasts."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(names(self.host, self.find))
            for service in self._services.values():
                if service["spec"].get("clusterIP") != "None":
                    for row in service["spec"]["ports"]:
                        await stack.enter_async_context(self._relay(service, row["port"]))
            yield

    def _relay(self, service: Object, port: int) -> AbstractAsyncContextManager[int]:
        def targets() -> list[tuple[str, int]]:
            return [(pod.address, target_port(service, port, pod.spec)) for pod in self.ready(service)]

        return relaying(self.host, port, targets)

    async def _until_known(self) -> None:
        """Waits until every Envoy has looked up and probed the pods that came after it, as its figures tell."""
        gateways = [pod for pods in self.pods.values() for pod in pods if "initContainers" in pod.spec]
        async with asyncio.timeout(START_SECONDS), aiohttp.ClientSession() as session:
            for pod in gateways:
                url = f"http://{pod.address}:{named_port(pod.spec, 'envoy-metrics')}/stats/prometheus"
                # Envoy can only be asked.
                while await self._healthy(session, url) < set(self.pods):  # noqa: ASYNC110
                    await asyncio.sleep(0.2)

    async def _healthy(self, session: aiohttp.ClientSession, url: str) -> set[str]:
        async with session.get(url) as reply:
            text = await reply.text()
        found = re.findall(r'^envoy_cluster_membership_healthy\{envoy_cluster_name="(\w+)"\} (\d+)', text, re.MULTILINE)
        return {
            name
            for name, count in found
            if name in self.pods and int(count) >= (1 if name == "gateway" else len(self.pods[name]))
        }

    async def _add(self, name: str, ordinal: int) -> None:
        workload = self.manifests.workloads()[name]
        self._serial += 1
        pod = Pod(f"{name}-{self._serial}", workload["spec"]["template"], self.folder / str(self._serial))
        self.pods[name].append(pod)
        claims = {
            claim["metadata"]["name"]: self.folder / f"{claim['metadata']['name']}-{name}-{ordinal}"
            for claim in workload["spec"].get("volumeClaimTemplates", ())
        }
        async with self._slots:
            await pod.start(self.manifests, self.network, claims)
            await pod.until_ready(START_SECONDS)

    async def _end(self, name: str, pod: Pod) -> None:
        await pod.terminate()
        self.pods[name].remove(pod)
        self.failures += pod.failures


@asynccontextmanager
async def bridge(name: str) -> AsyncIterator[str]:
    """A network for pods; this machine's address in it."""
    for left in (await podman("ps", "--all", "--quiet", "--filter", f"label={LABEL}")).split()[::-1]:
        await podman("rm", "--force", "--time", "0", "--depend", left, check=False)
    await podman("network", "rm", "--force", name, check=False)
    await podman("network", "create", "--disable-dns", name)
    try:
        yield await podman("network", "inspect", "--format", "{{range .Subnets}}{{.Gateway}}{{end}}", name)
    finally:
        await podman("network", "rm", "--force", name)
