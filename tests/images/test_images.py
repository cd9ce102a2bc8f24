"""What is in an image, and what is not."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from images import build

Run = Callable[[str, str], str]
ALL = build.processes()

# `lanemesh certs`, for one machine: what it needs is an extra of its own.
ELSEWHERE = {"client.authority"}
IMPORT_ALL = """
import importlib, json, os, pkgutil, sys
names = {names!r}
failed = {{}}
def load(name):
    try:
        module = importlib.import_module(name)
    except Exception as error:
        failed[name] = repr(error)
        return
    for found in pkgutil.iter_modules(getattr(module, "__path__", []), name + "."):
        if not found.name.endswith("__main__"):
            load(found.name)
for name in names:
    load(name)
print(failed)
"""
WALK = """
import os
tools, writable, setuid = [], [], []
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        path = os.path.join(folder, name)
        if os.path.islink(path):
            continue
        if name in ("sh", "bash", "dash", "busybox", "apt", "dpkg", "pip", "pip3", "uv", "perl", "curl", "wget"):
            tools.append(path)
        if folder.startswith(("/usr", "/app", "/etc/ssl")) and os.access(path, os.W_OK):
            writable.append(path)
        if os.stat(path).st_mode & 0o6000:
            setuid.append(path)
print([tools, writable, setuid, os.getuid(), os.getgid()])
"""


@pytest.mark.parametrize("process", ALL)
def test_nothing_but_the_process(process: str, run: Run) -> None:
    assert ast.literal_eval(run(process, WALK)) == [[], [], [], 65532, 65532]


@pytest.mark.parametrize("process", ALL)
def test_everything_it_imports_is_there(process: str, run: Run) -> None:
    own = {"gateway": ["gateway"], "fusion": ["fusion_service"], "client": ["client"]}.get(process)
    names = ["services.runtime", "lanemesh", *(own or [f"services.{process}"])]
    failed = ast.literal_eval(run(process, IMPORT_ALL.format(names=names)))
    assert {name: why for name, why in failed.items() if name not in ELSEWHERE} == {}


@pytest.mark.parametrize("process", ALL)
def test_image_stays_small(process: str, containers: dict[str, str]) -> None:
    assert build.size(containers[process]) < (320e6 if process == "vector" else 100e6)


def test_vector_brings_its_model_and_not_what_made_it(run: Run) -> None:
    files = ast.literal_eval(run("vector", "import os; print(sorted(os.listdir('/app/models')))"))
    assert [name.rpartition(".")[2] for name in files] == ["onnx", "json"]
    code = "import importlib.util as u; print([n for n in ('onnx', 'safetensors', 'torch', 'pip') if u.find_spec(n)])"
    assert run("vector", code) == "[]"


def test_only_vector_has_its_libraries(run: Run) -> None:
    code = "import importlib.util as u; print([n for n in ('numpy', 'onnxruntime', 'qdrant_edge') if u.find_spec(n)])"
    assert run("gateway", code) == "[]"
    assert run("vector", code) == "['numpy', 'onnxruntime', 'qdrant_edge']"


def test_nothing_is_compiled_at_run_time(run: Run) -> None:
    code = "import grpc, asyncio; print(grpc.__cached__, __import__('os').path.exists(grpc.__cached__))"
    assert run("gateway", code).endswith("True")


def test_certificates_are_trusted(run: Run) -> None:
    code = "import ssl; print(ssl.create_default_context().cert_store_stats()['x509_ca'] > 50)"
    assert run("web", code) == "True"
