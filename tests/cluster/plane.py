"""A control plane of real parts: etcd, kube-apiserver and kube-controller-manager, on loopback, without nodes."""

from __future__ import annotations

import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.cluster.binaries import Binaries
from tests.cluster.kube import Kube, Object, Refused

START_SECONDS = 120.0
Found = TypeVar("Found")
# What turns the chart's objects into pods; nothing here needs a node.
CONTROLLERS = (
    *("deployment-controller", "replicaset-controller", "statefulset-controller", "serviceaccount-controller"),
    *("garbage-collector-controller", "namespace-controller", "disruption-controller"),
    "persistentvolumeclaim-protection-controller",
)


def eventually(look: Callable[[], Found | None], what: str) -> Found:
    """What `look` finds, once it finds something; the other side is a process that cannot be waited for."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if (found := look()) is not None:
            return found
        time.sleep(0.1)
    raise TimeoutError(f"not within {START_SECONDS:.0f} s: {what}")


@contextmanager
def control_plane(binaries: Binaries, folder: Path) -> Iterator[tuple[Kube, Path]]:
    """Runs it; yields a client and a kubeconfig file for helm."""
    client, peer, port = _free_ports(3)
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f"{token},tester,1,system:masters\n", encoding="utf-8")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "accounts.key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    kube = Kube(port, token, folder / "certificates" / "apiserver.crt")
    with ExitStack() as stack:
        stack.enter_context(_running("etcd", _etcd(binaries.etcd, folder, client, peer), folder))
        stack.enter_context(_running("apiserver", _apiserver(binaries.apiserver, folder, client, port), folder))
        eventually(lambda: _ready(kube), f"kube-apiserver is ready; its log is {folder}/apiserver.log")
        config = _kubeconfig(kube, folder)
        stack.enter_context(_running("controllers", _controllers(binaries.controllers, folder, config), folder))
        yield kube, config


def _etcd(binary: Path, folder: Path, client: int, peer: int) -> list[str]:
    here, other = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    options = {
        "data-dir": folder / "etcd",
        "listen-client-urls": here,
        "advertise-client-urls": here,
        "listen-peer-urls": other,
        "initial-advertise-peer-urls": other,
        "initial-cluster": f"default={other}",
        "unsafe-no-fsync": "true",
    }
    return [str(binary), *(f"--{name}={value}" for name, value in options.items())]


def _apiserver(binary: Path, folder: Path, etcd: int, port: int) -> list[str]:
    options = {
        "etcd-servers": f"http://127.0.0.1:{etcd}",
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "cert-dir": folder / "certificates",
        "service-cluster-ip-range": "10.96.0.0/16",
        "authorization-mode": "RBAC",
        "token-auth-file": folder / "tokens.csv",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": folder / "accounts.key",
        "service-account-signing-key-file": folder / "accounts.key",
    }
    return [str(binary), *(f"--{name}={value}" for name, value in options.items())]


def _controllers(binary: Path, folder: Path, config: Path) -> list[str]:
    options = {
        "kubeconfig": config,
        "controllers": ",".join(CONTROLLERS),
        "service-account-private-key-file": folder / "accounts.key",
        "leader-elect": "false",
        "secure-port": 0,
    }
    return [str(binary), *(f"--{name}={value}" for name, value in options.items())]


def _kubeconfig(kube: Kube, folder: Path) -> Path:
    cluster = {"server": f"https://127.0.0.1:{kube.port}", "certificate-authority": str(kube.authority)}
    config: Object = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": kube.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    path.chmod(0o600)
    return path


def _ready(kube: Kube) -> Object | None:
    try:
        return kube.call("GET", "/readyz")
    except (OSError, Refused):
        return None


@contextmanager
def _running(name: str, command: Sequence[str], folder: Path) -> Iterator[None]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in sockets]
    for probe in sockets:
        probe.close()
    return ports
