"""What stands around the pods: addresses, replicas, volumes, certificates, figures."""

from __future__ import annotations

import re

import yaml

from tests.chart.conftest import CHART, Rendered, component, containers, render


def test_every_service_leads_to_a_port_of_its_pods(rendered: Rendered) -> None:
    pods = {component(pod): pod for _, pod in rendered.pods()}
    for service in rendered.of("Service"):
        pod = pods[service["spec"]["selector"]["app.kubernetes.io/name"]]
        names = {port["name"] for one in containers(pod) for port in one.get("ports", [])}
        numbers = {port["containerPort"] for one in containers(pod) for port in one.get("ports", [])}
        for port in service["spec"]["ports"]:
            target = port.get("targetPort", port["port"])
            assert target in names | numbers, service["metadata"]["name"]


def test_replicas_that_are_balanced_over_have_addresses_of_their_own(rendered: Rendered) -> None:
    for service in rendered.of("Service"):
        if service["metadata"]["labels"].get("lanemesh/metrics"):
            headless = service["spec"].get("clusterIP") == "None"
            assert headless == (component(service) != "gateway"), service["metadata"]["name"]


def test_each_pod_is_selected_by_its_own_service_alone(rendered: Rendered) -> None:
    for service in rendered.of("Service"):
        selector = service["spec"]["selector"].items()
        chosen = [name for name, pod in rendered.pods() if selector <= pod["metadata"]["labels"].items()]
        assert chosen == [service["metadata"]["name"]]


def test_an_index_in_a_volume_of_its_own_has_one_replica(rendered: Rendered) -> None:
    servers = rendered.values["backends"]
    bundled = rendered.values["development"]["enabled"]
    kept = {
        name
        for name, row in rendered.values["lanes"].items()
        if row["enabled"] and row.get("keeps") and not (name in servers and (bundled or servers[name]["url"]))
    }
    made = {component(thing): thing["spec"] for thing in rendered.of("StatefulSet")}
    assert set(made) == kept
    assert all(spec["replicas"] == 1 for spec in made.values())
    assert all(spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Retain" for spec in made.values())


def test_nobody_goes_before_his_successor_is_ready(rendered: Rendered) -> None:
    servers = rendered.values["development"]["servers"]
    for thing in rendered.of("Deployment"):
        if component(thing) not in servers:
            assert thing["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}


def test_what_has_replicas_is_spread_and_kept(rendered: Rendered) -> None:
    scaled = {component(thing): thing["spec"] for thing in rendered.of("HorizontalPodAutoscaler")}
    several = {
        component(thing)
        for thing in rendered.of("Deployment")
        if thing["spec"].get("replicas", 2) > 1 or component(thing) in scaled
    }
    assert {component(thing) for thing in rendered.of("PodDisruptionBudget")} == several
    for thing in rendered.of("Deployment"):
        if component(thing) in several:
            keys = [one["topologyKey"] for one in thing["spec"]["template"]["spec"]["topologySpreadConstraints"]]
            assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
        # An autoscaler and a number would overrule each other at every upgrade.
        assert ("replicas" in thing["spec"]) == (component(thing) not in scaled)


def test_each_process_has_a_certificate_of_its_own_name() -> None:
    certificates = {component(thing): thing["spec"] for thing in render("secured").of("Certificate")}
    assert len(certificates) == 10
    for name, spec in certificates.items():
        assert f"{name}.lanemesh" in spec["dnsNames"]
        assert set(spec["usages"]) == {"server auth", "client auth"}
        assert len(spec["dnsNames"]) == 1 or name == "gateway"
    assert "search.example.org" in certificates["gateway"]["dnsNames"]


def test_a_provider_lane_sees_its_own_keys_alone() -> None:
    rendered = render("secured")
    seen = {}
    for name, pod in rendered.pods():
        for variable in pod["spec"]["containers"][0].get("env", []):
            if variable.get("valueFrom", {}).get("secretKeyRef", {}).get("name") == "provider-keys":
                seen.setdefault(name.removeprefix("lanemesh-"), []).append(variable["name"])
    assert seen == rendered.values["providers"]["keys"]


def test_the_monitor_finds_every_process() -> None:
    rendered = render("secured")
    (monitor,) = rendered.of("ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    chosen = [service for service in rendered.of("Service") if wanted <= service["metadata"]["labels"].items()]
    assert {component(service) for service in chosen} == {"gateway", "fusion", *rendered.values["lanes"]}
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    ports = {port["name"] for service in rendered.of("Service") for port in service["spec"]["ports"]}
    assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports


def test_alerts_and_dashboard_are_the_files_of_the_chart() -> None:
    rendered = render("secured")
    (rule,) = rendered.of("PrometheusRule")
    assert rule["spec"] == yaml.safe_load((CHART / "files" / "prometheus" / "rules.yaml").read_text(encoding="utf-8"))
    dashboard = rendered.one("ConfigMap", "lanemesh-dashboard")["data"]["lanemesh.json"]
    assert dashboard == (CHART / "files" / "grafana" / "lanemesh.json").read_text(encoding="utf-8")
    assert not render("bare").of("PrometheusRule", "ServiceMonitor")


def test_peers_are_called_where_they_listen(rendered: Rendered) -> None:
    addresses = {
        thing["metadata"]["name"]: {port["name"]: port["port"] for port in thing["spec"]["ports"]}
        for thing in rendered.of("Service")
    }
    lanes = [name for name, row in rendered.values["lanes"].items() if row["enabled"]]
    if rendered.values["envoy"]["enabled"]:
        text = rendered.one("ConfigMap", "lanemesh-envoy")["data"]["envoy.yaml"]
        called = set(re.findall(r'address: "(lanemesh-[a-z]+)", port_value: (\d+)', text))
        names = [f"lanemesh-{name}" for name in [*lanes, "fusion"]]
        assert called >= {(name, str(addresses[name]["grpc"])) for name in names}
    else:
        gateway = rendered.one("Deployment", "lanemesh-gateway")["spec"]["template"]["spec"]["containers"][0]
        settings = {variable["name"]: variable["value"] for variable in gateway["env"]}
        offsets = {name: rendered.values["lanes"][name]["port"] for name in lanes}
        for name, offset in offsets.items():
            port = int(settings["LANEMESH_PORT_BASE"]) + offset
            address = settings["LANEMESH_PEER_ADDRESS"].format(name=name, port=port)
            assert address == f"dns:///lanemesh-{name}:{addresses[f'lanemesh-{name}']['grpc']}"
