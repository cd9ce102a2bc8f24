"""The configuration itself: accepted by the real Envoy in every form, and made from the lane table and the contract."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.runtime import dev, envoy
from services.runtime.errors import StartupError
from services.runtime.registry import load_table
from tests.envoy.running import merged, values_of

ROOT = Path(__file__).parents[2]
TABLE = load_table()


@pytest.fixture(autouse=True, scope="module")
def installed() -> None:
    try:
        envoy.envoy()
        envoy.helm()
    except StartupError as error:
        pytest.skip(error.message)


def rendered(folder: Path, **more: Any) -> dict[str, Any]:
    """What Envoy is given, once it was found good."""
    path = envoy.render(merged(values_of(20_000, folder, {}, {}), more), folder)
    envoy.validate(path)
    config: dict[str, Any] = yaml.safe_load(path.read_text())["static_resources"]
    return config


def routes(config: dict[str, Any], listener: str) -> list[dict[str, Any]]:
    (found,) = [each for each in config["listeners"] if each["name"] == listener]
    manager = found["filter_chains"][0]["filters"][0]["typed_config"]
    own: list[dict[str, Any]] = manager["route_config"]["virtual_hosts"][0]["routes"]
    return own


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"access_log": {"ingress": "none", "egress": "none"}},
        {"tracing": {"sample_percent": 100, "collector": "collector.observability:4317"}},
        {"ingress": {"origins": ["https://search.example.org"]}},
        {"endpoints": {"vector": ["10.0.0.1:50054", "10.0.0.2:50054", "[2001:db8::1]:50054"]}},
    ],
)
def test_envoy_accepts_it(tmp_path, more):
    rendered(tmp_path, envoy=more)


def test_every_lane_and_fusion_has_a_listener_at_its_offset(tmp_path):
    ports = {each["name"]: each["address"]["socket_address"]["port_value"] for each in rendered(tmp_path)["listeners"]}
    for row in TABLE.lanes.values():
        assert ports[f"egress-{row.name}"] == 20_000 + row.port
    assert ports["egress-fusion"] == 20_000 + TABLE.fusion.port


def test_a_new_lane_needs_nothing_but_its_row(tmp_path):
    row = {"port": 15, "enabled": True, "budget_ms": dict.fromkeys(TABLE.modes, 300), "minimum_ms": 5}
    row["max_results"] = dict.fromkeys(TABLE.depths, 10)
    config = rendered(tmp_path, lanes={"lyrics": row, "web": {"enabled": False}})
    names = {each["name"] for each in config["clusters"]}
    assert "lyrics" in names
    assert "web" not in names


def test_a_call_that_costs_money_is_not_repeated_once_it_may_have_begun(tmp_path):
    config = rendered(tmp_path)
    for row in TABLE.lanes.values():
        retried = routes(config, f"egress-{row.name}")[-1]["route"]["retry_policy"]["retry_on"].split(",")
        assert "unavailable" in retried
        assert ("reset" in retried) is not row.paid


def test_only_the_metrics_and_the_ingress_can_leave_loopback(tmp_path):
    values = {"envoy": {"ingress": {"address": "0.0.0.0"}, "metrics": {"address": "0.0.0.0"}}}
    path = envoy.render(merged(values_of(20_000, tmp_path, {}, {}), values), tmp_path)
    config = yaml.safe_load(path.read_text())
    assert "pipe" in config["admin"]["address"]
    for listener in config["static_resources"]["listeners"]:
        open_wide = listener["address"]["socket_address"]["address"] == "0.0.0.0"
        assert open_wide is (listener["name"] in ("ingress", "metrics"))


def test_the_descriptors_are_those_of_the_contract(tmp_path):
    fresh = tmp_path / "fresh.binpb"
    subprocess.run([sys.executable, ROOT / "protos" / "descriptors.py", fresh], check=True)
    assert fresh.read_bytes() == (ROOT / "helm" / "files" / "lanemesh.binpb").read_bytes(), "run `make protos`"


def test_what_envoy_refuses_is_told_in_its_words(tmp_path):
    wrong = tmp_path / "envoy.yaml"
    wrong.write_text("static_resources: {listeners: 7}\n")
    with pytest.raises(StartupError, match="envoy refused: "):
        envoy.validate(wrong)


def test_on_one_machine_envoy_takes_the_gateways_place(tmp_path):
    settings = dev.DevSettings(home=tmp_path, port_base=21_000)
    table = TABLE.only({"vector", "kg"})
    told = {"LANEMESH_TRACE_SAMPLE_RATE": "0.5", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317"}
    stages = dev.stages(table, settings, told)
    (gateway,), (proxy,), rest = envoy.between(stages, table, envoy.Ports.beside(21_000), tmp_path)
    assert (proxy.name, proxy.port) == ("envoy", 21_000)
    assert proxy.environment == {}
    assert gateway.port == 21_030
    assert gateway.environment["LANEMESH_LISTEN"] == "127.0.0.1:21030"
    assert gateway.environment["LANEMESH_PORT_BASE"] == "21030"
    assert rest == stages[1]
    assert set(proxy.further_ports) == {21_059, 21_031, 21_033, 21_034}
    config = yaml.safe_load((tmp_path / "envoy" / "envoy.yaml").read_text())
    assert {each["name"] for each in config["static_resources"]["listeners"]} == {
        "ingress",
        "metrics",
        "egress-vector",
        "egress-kg",
        "egress-fusion",
    }


def test_certificates_of_the_gateway_become_those_of_envoy(tmp_path):
    settings = dev.DevSettings(home=tmp_path, port_base=21_000)
    files = {name: str(tmp_path / name) for name in envoy.CERTIFICATES}
    stages = dev.stages(TABLE, settings, files)
    (gateway,), *_ = envoy.between(stages, TABLE, envoy.Ports.beside(21_000), tmp_path)
    assert not files.keys() & gateway.environment.keys()
    assert gateway.environment["LANEMESH_FORWARDED_IDENTITY"] == "true"
    secret = yaml.safe_load((tmp_path / "envoy" / "certificate.yaml").read_text())["resources"][0]
    assert secret["tls_certificate"]["private_key"] == {"filename": files["LANEMESH_TLS_KEY"]}


def test_a_home_whose_path_is_too_long_for_a_socket_is_refused(tmp_path):
    home = tmp_path / ("x" * 100)
    settings = dev.DevSettings(home=home, port_base=21_000)
    with pytest.raises(StartupError, match="LANEMESH_HOME is too long"):
        envoy.between(dev.stages(TABLE, settings, {}), TABLE, envoy.Ports.beside(21_000), home)
