"""Every pod of the chart keeps to Pod Security's `restricted`, is pinned, bounded and drains within its grace."""

from __future__ import annotations

import re

from tests.chart.conftest import ROOT, Rendered, component, containers

PINNED = re.compile(r"\S+(:(?!latest$)\w[\w.-]*|@sha256:[0-9a-f]{64})")
SECRET = re.compile(r"(_KEY|_TOKEN|PASSWORD)$")


def test_every_pod_is_restricted(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        assert not [volume for volume in spec["volumes"] if "hostPath" in volume], name
        for container in containers(pod):
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False, name
            assert own["readOnlyRootFilesystem"] is True, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            assert not [port for port in container.get("ports", []) if "hostPort" in port], name


def test_no_pod_holds_a_token_of_the_cluster(rendered: Rendered) -> None:
    assert all(pod["spec"]["automountServiceAccountToken"] is False for _, pod in rendered.pods())
    assert all(account["automountServiceAccountToken"] is False for account in rendered.of("ServiceAccount"))
    assert not rendered.of("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


def test_every_image_is_pinned(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        for container in containers(pod):
            assert PINNED.fullmatch(container["image"]), name


def test_every_container_asks_for_what_it_needs_and_is_bounded(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        for container in containers(pod):
            assert set(container["resources"]["requests"]) == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name


def test_secrets_come_by_reference_alone(rendered: Rendered) -> None:
    assert not rendered.of("Secret")
    for name, pod in rendered.pods():
        for container in containers(pod):
            for variable in container.get("env", []):
                if SECRET.search(variable["name"]) and not variable.get("value", "").startswith("/"):
                    assert "valueFrom" in variable, name
                assert ("value" in variable) != ("valueFrom" in variable), name


def test_what_is_mounted_is_a_volume_and_the_other_way_round(rendered: Rendered) -> None:
    claims = {thing["metadata"]["name"]: ["data"] for thing in rendered.of("StatefulSet")}
    for name, pod in rendered.pods():
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]} | set(claims.get(name, ()))
        assert {mount["name"] for one in containers(pod) for mount in one.get("volumeMounts", [])} == volumes, name


def test_the_drain_fits_into_the_grace_of_the_pod(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        (process,) = pod["spec"]["containers"]
        settings = {variable["name"]: variable.get("value") for variable in process.get("env", [])}
        if "LANEMESH_GRACE_SECONDS" not in settings:
            continue
        hook = process["lifecycle"]["preStop"]
        before = float(hook["sleep"]["seconds"] if "sleep" in hook else hook["exec"]["command"][-1])
        drain = float(settings["LANEMESH_LAME_DUCK_SECONDS"]) + float(settings["LANEMESH_GRACE_SECONDS"])
        assert before >= 5, name
        assert before + drain < pod["spec"]["terminationGracePeriodSeconds"], name


def test_probes_ask_the_plain_listener_by_grpc(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        (process,) = pod["spec"]["containers"]
        settings = {variable["name"]: variable.get("value") for variable in process.get("env", [])}
        if "LANEMESH_HEALTH_LISTEN" not in settings:
            continue
        port = int(settings["LANEMESH_HEALTH_LISTEN"].rpartition(":")[2])
        for probe in ("startupProbe", "livenessProbe"):
            assert process[probe]["grpc"] == {"port": port, "service": "liveness"}, name
        assert process["readinessProbe"]["grpc"] == {"port": port}, name


def test_certificates_reach_every_process_once_tls_is_on(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        (process,) = pod["spec"]["containers"]
        settings = {variable["name"]: variable.get("value") for variable in process.get("env", [])}
        if "LANEMESH_LISTEN" not in settings:
            continue
        loopback = settings["LANEMESH_LISTEN"].startswith("127.0.0.1:")
        assert loopback == (component(pod) == "gateway" and rendered.values["envoy"]["enabled"]), name
        secured = "LANEMESH_TLS_CERT" in settings
        assert secured == (rendered.values["tls"]["enabled"] and not loopback), name
        assert ("LANEMESH_ALLOW_PLAINTEXT" in settings) == (not secured and not loopback), name


def test_every_setting_that_is_given_is_documented(rendered: Rendered) -> None:
    told = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "docs").glob("*.md"))
    for name, pod in rendered.pods():
        for container in pod["spec"]["containers"]:
            for variable in container.get("env", []):
                if variable["name"].startswith("LANEMESH_"):
                    assert f"`{variable['name']}" in told, f"{name}: {variable['name']}"


def test_a_changed_table_rolls_the_pods(rendered: Rendered) -> None:
    marks = {pod["metadata"]["annotations"]["checksum/table"] for _, pod in rendered.pods() if _reads_table(pod)}
    assert len(marks) == 1


def test_a_new_version_of_the_chart_alone_restarts_nothing(rendered: Rendered) -> None:
    for thing in rendered.of("Deployment", "StatefulSet"):
        labels = thing["spec"]["template"]["metadata"]["labels"]
        assert not {"helm.sh/chart", "app.kubernetes.io/version"} & set(labels), thing["metadata"]["name"]


def _reads_table(pod: dict[str, object]) -> bool:
    return any(volume["name"] == "table" for volume in pod["spec"]["volumes"])  # type: ignore[index]
