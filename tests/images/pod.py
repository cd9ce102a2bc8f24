"""One pod: its containers in the network and with the volumes of one, started, probed and stopped as a kubelet does."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path

from tests.images.chart import Manifests, Object, containers
from tests.images.podman import LABEL, command, confinement, environment, mounts, podman
from tests.images.probes import Probing
from tests.images.volumes import lay_out


class Pod:
    """A pod of a workload."""

    def __init__(self, name: str, template: Object, folder: Path) -> None:
        self.name = name
        self.spec: Object = template["spec"]
        self.labels: dict[str, str] = template["metadata"]["labels"]
        self.address = ""
        self.terminating = False
        self._folder = folder
        self._probing: dict[str, Probing] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def ready(self) -> bool:
        """Whether Services may lead here."""
        started = len(self._probing) == len(containers(self.spec))
        return started and not self.terminating and all(each.ready for each in self._probing.values())

    @property
    def failures(self) -> list[str]:
        """What its probes complain of."""
        return [f"{self.name}: {failure}" for each in self._probing.values() for failure in each.failures]

    async def start(self, manifests: Manifests, network: list[str], claims: dict[str, Path]) -> None:
        """Starts the containers; a sidecar must have passed its startup probe before the next begins."""
        volumes = lay_out(self.spec, manifests, self._folder, claims)
        for container in containers(self.spec):
            # The first owns the pod's network, the others join it.
            place = [f"--network=container:{self._named(containers(self.spec)[0])}"] if self.address else network
            await podman(
                *("run", "--detach", "--pull", "never", "--log-driver", "k8s-file", "--label", LABEL),
                *("--name", self._named(container)),
                *place,
                *confinement(self.spec, container),
                *environment(container, manifests),
                *mounts(container, volumes),
                *command(container),
            )
            self.address = self.address or await self._find_address(container)
            self._probe(container)
            if container.get("restartPolicy") == "Always":
                await self._probing[container["name"]].started.wait()

    async def until_ready(self, seconds: float) -> None:
        """Waits until it is ready; TimeoutError with its last words when it does not get so."""
        try:
            async with asyncio.timeout(seconds):
                for probing in self._probing.values():
                    await probing.passed.wait()
        except TimeoutError:
            raise TimeoutError(f"{self.name} is not ready; {await self.logs()}") from None

    async def terminate(self) -> None:
        """Off the Services, preStop, SIGTERM, SIGKILL after the grace period; sidecars follow the others."""
        self.terminating = True
        sidecars = [each for each in containers(self.spec) if each.get("restartPolicy") == "Always"]
        try:
            async with asyncio.timeout(self.spec.get("terminationGracePeriodSeconds", 30)):
                for group in (self.spec["containers"], sidecars):
                    await asyncio.gather(*(self._stop(container) for container in group))
        except TimeoutError:
            self._probing[self.spec["containers"][0]["name"]].failures.append("had to be killed")
        await self.remove()

    async def exit_code(self) -> int:
        """How its last container ended, once it has."""
        return int(await podman("wait", self._named(containers(self.spec)[-1])))

    async def remove(self) -> None:
        """Ends what is left of it at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for container in reversed(containers(self.spec)):
            await podman("rm", "--force", "--time", "0", "--volumes", self._named(container), check=False)

    async def logs(self) -> str:
        """The last lines of every container."""
        said = []
        for container in containers(self.spec):
            process = await asyncio.create_subprocess_exec(
                *("podman", "logs", "--tail", "12", self._named(container)),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said.append(f"{container['name']}: {(await process.communicate())[0].decode().strip()}")
        return "\n".join(said)

    async def inspect(self, container: str) -> Object:
        """What podman knows of a container."""
        (found,) = json.loads(await podman("inspect", f"{self.name}.{container}"))
        return dict(found)

    def _named(self, container: Object) -> str:
        return f"{self.name}.{container['name']}"

    async def _find_address(self, container: Object) -> str:
        found = json.loads(await podman("inspect", self._named(container)))[0]["NetworkSettings"]["Networks"]
        (network,) = found.values()
        return str(network["IPAddress"])

    def _probe(self, container: Object) -> None:
        probing = Probing(container, self.spec, self.address)
        self._probing[container["name"]] = probing
        self._tasks.append(asyncio.create_task(probing.run()))

    async def _stop(self, container: Object) -> None:
        hook = container.get("lifecycle", {}).get("preStop", {})
        if "exec" in hook:
            await podman("exec", self._named(container), *hook["exec"]["command"])
        elif "sleep" in hook:
            await asyncio.sleep(hook["sleep"]["seconds"])
        # It may have ended by itself.
        with suppress(Exception):
            await podman("kill", "--signal", "TERM", self._named(container))
        await podman("wait", self._named(container))
