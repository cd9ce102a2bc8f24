"""How Jaeger is run beside a mesh. That the real one works so is shown by tests/trace."""

from __future__ import annotations

import pytest
import yaml

from services.runtime import jaeger
from services.runtime.errors import StartupError


def test_two_meshes_have_two_jaegers():
    ports = {port for base in (50051, 50061) for port in vars_of(jaeger.Ports.beside(base))}
    assert len(ports) == 4
    assert not ports & set(range(50051, 50071))


def vars_of(ports: jaeger.Ports) -> tuple[int, int]:
    return ports.otlp, ports.query


def test_its_binary_is_kept_in_the_users_cache(tmp_path, monkeypatch):
    assert jaeger.binary({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "lanemesh/bin" / f"jaeger-{jaeger.VERSION}"
    assert str(jaeger.binary({})).endswith(f"/.cache/lanemesh/bin/jaeger-{jaeger.VERSION}")


def test_without_the_binary_the_target_that_builds_it_is_named(tmp_path):
    with pytest.raises(StartupError, match="not built on this machine; `make jaeger-build`"):
        jaeger.program(jaeger.Ports(), {"XDG_CACHE_HOME": str(tmp_path)})


def test_it_gets_its_ports_and_nothing_else_of_the_environment(tmp_path):
    environment = {"XDG_CACHE_HOME": str(tmp_path), "BRAVE_SEARCH_API_KEY": "secret"}
    executable = jaeger.binary(environment)
    executable.parent.mkdir(parents=True)
    executable.touch()
    program = jaeger.program(jaeger.Ports(1111, 2222), environment)
    ports = {"JAEGER_OTLP_PORT": "1111", "JAEGER_QUERY_PORT": "2222"}
    assert program.environment == ports | {"JAEGER_PAGE": str(jaeger.PAGE)}
    assert "JAEGER_PAGE" in jaeger.CONFIG.read_text()
    assert (program.address, program.further_ports) == ("127.0.0.1:2222", (1111,))
    assert program.command == (str(executable), "--config", str(jaeger.CONFIG))


def test_it_listens_on_loopback_only():
    configuration = yaml.safe_load(jaeger.CONFIG.read_text())

    def endpoints(part: object) -> list[str]:
        if not isinstance(part, dict):
            return []
        return [found for value in part.values() for found in endpoints(value)] + (
            [part["endpoint"]] if "endpoint" in part else []
        )

    found = endpoints(configuration)
    assert len(found) == 3
    assert all(endpoint.startswith("127.0.0.1:") for endpoint in found)
