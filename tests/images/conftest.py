"""The images, and the chart's workloads running from them. `make test-images` asks for these tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from client.authority import Pair, issue, new_authority
from client.ingest import ingest
from client.mesh import Mesh
from client.reading import find, read
from images import base, build
from images.engine import exists
from services.runtime.certificates import identity
from services.runtime.envoy import envoy
from tests.images.backends import SECRET, backends
from tests.images.chart import Manifests, Object
from tests.images.cluster import Cluster, bridge
from tests.images.podman import FILES, PROCESSES

CORPUS = Path("examples/corpus")
ENVOY = "localhost/lanemesh-envoy:test"
NETWORK = "lanemesh-test"
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs containers where they were not asked for or cannot be had; the pure parts always run."""
    reason = _obstacle()
    for item in items:
        if reason and HERE in item.path.parents and "containers" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=reason))


def _obstacle() -> str:
    if not os.environ.get("LANEMESH_TEST_IMAGES"):
        return "builds and runs containers: make test-images"
    if os.geteuid() != 0:
        return "starting pods needs root"
    missing = [program for program in ("podman", "runc", "mmdebstrap") if shutil.which(program) is None]
    return f"{', '.join(missing)}: not here (Debian: apt install podman runc mmdebstrap)" if missing else ""


@pytest.fixture(scope="session")
def containers() -> dict[str, str]:
    """The image of every process by its name, built on a base made here, and Envoy's program in one."""
    made = base.ensure()
    images = {process: build.name(process, "localhost/") for process in build.processes()}
    for process, image in images.items():
        build.build(process, image, made)
    _pack_envoy(images["gateway"])
    return images


def _pack_envoy(image: str) -> None:
    """Envoy's own image comes from a registry; here the same program, from its wheel, stands on the gateway's image."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy2(envoy(), folder / "envoy")
        (folder / "Dockerfile").write_text(f"FROM {image}\nCOPY envoy /app/venv/bin/envoy\n", encoding="utf-8")
        command = ["podman", "build", "--quiet", "--tag", ENVOY, name]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert exists(ENVOY)


@pytest.fixture(scope="session")
def run(containers: dict[str, str]) -> Callable[[str, str], str]:
    """Runs Python in an image, confined as in a pod; what it printed."""

    def runs(process: str, code: str) -> str:
        limits = ["--ulimit", f"nofile={FILES}:{FILES}", "--ulimit", f"nproc={PROCESSES}:{PROCESSES}"]
        command = ["podman", "--runtime", "runc", "run", "--rm", "--network", "none", "--read-only", *limits]
        command += ["--read-only-tmpfs=false", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
        command += ["--entrypoint", "python", containers[process], "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return runs


@asynccontextmanager
async def installed(
    values: dict[str, Any], secrets: Sequence[Object], folder: Path, host: str
) -> AsyncIterator[Cluster]:
    """The chart with these values over the images made here, up."""
    own = {"images": {"registry": "localhost", "pull": "Never"}, "envoy": {"image": ENVOY} | values.pop("envoy", {})}
    manifests = Manifests.render(own | values, folder)
    manifests.objects |= {("Secret", each["metadata"]["name"]): each for each in secrets}
    running = Cluster(manifests, folder, NETWORK, host)
    async with running.networked():
        try:
            await running.up()
            yield running
        finally:
            await running.down()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(containers: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cluster]:
    """Everything the chart installs, index lanes on servers and so in two replicas, with the demo corpus."""
    folder = tmp_path_factory.mktemp("cluster")
    async with bridge(NETWORK) as host, backends(host, folder) as values:
        project = {"name": "project", "hostPath": {"path": str((CORPUS / "payments").resolve())}}
        values["deploy"]["processes"]["local"] = {"volumes": [project]}
        async with installed(values, [SECRET], folder, host) as running:
            async with Mesh(f"{host}:50051") as mesh:
                summary = await ingest(mesh, read(find([str(CORPUS)]), None, None))
            assert summary.complete
            yield running


@pytest.fixture(scope="module")
def authority() -> Pair:
    """Who issues the certificates of a secured mesh."""
    return new_authority()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secured(
    containers: dict[str, str], authority: Pair, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    """The chart as it comes, indexes in volumes of the lanes' own, with mutual TLS between all processes."""
    values = {"tls": {"enabled": True, "secrets": "{name}-tls"}, "envoy": {"tls": {"enabled": True}}}
    secrets = [certificate(authority, process) for process in build.processes()]
    folder = tmp_path_factory.mktemp("secured")
    async with bridge(NETWORK) as host, installed(values, secrets, folder, host) as running:
        yield running


def certificate(authority: Pair, process: str) -> Object:
    """The Secret that cert-manager would make for a process."""
    names = [identity(process), *(["lanemesh-gateway"] if process == "gateway" else [])]
    issued = issue(authority, names)
    held = {"tls.crt": issued.certificate_pem(), "tls.key": issued.key_pem(), "ca.crt": authority.certificate_pem()}
    entries = {name: content.decode() for name, content in held.items()}
    return {"kind": "Secret", "metadata": {"name": f"{process}-tls"}, "stringData": entries}
