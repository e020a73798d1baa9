"""deploy/helm/headgate, rendered by Helm and decoded into the types of Kubernetes' API."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.cli.key_files import create_key_files
from headgate.configuration.settings import all_variables, file_variable_of
from tests.go_program import build_go_program

ROOT: Final = Path(__file__).resolve().parents[3]
CHART: Final = ROOT / "deploy" / "helm" / "headgate"
VALUES: Final = sorted((ROOT / "deploy" / "helm" / "values").glob("*.yaml"))
MINIMAL: Final = ROOT / "deploy" / "helm" / "values" / "minimal.yaml"
PARTS: Final = ("api", "worker", "proxy")
_CLUSTER: Final = "1.34"

type Manifest = dict[str, Any]


@dataclass(frozen=True)
class Helm:
    program: Path
    decoder: Path

    def run(self, *words: str | Path) -> "subprocess.CompletedProcess[str]":
        command = [self.program, words[0], "--kube-version", _CLUSTER, *words[1:]]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={"HOME": "/nonexistent"})

    def template(self, *options: str | Path, release: str = "headgate") -> "subprocess.CompletedProcess[str]":
        return self.run("template", release, CHART, "--namespace", "headgate", *options)

    def manifests(self, values: Path, *options: str) -> list[Manifest]:
        rendered = self.template("--values", values, *options)
        assert rendered.returncode == 0, rendered.stderr
        decoded = subprocess.run([self.decoder], input=rendered.stdout, capture_output=True, text=True, check=False)
        assert decoded.returncode == 0, decoded.stderr
        return [json.loads(line) for line in decoded.stdout.splitlines()]


pytestmark = pytest.mark.timeout(900)  # a Go program is compiled, once


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    folder, into = ROOT / "tests" / "helm_chart", tmp_path_factory.mktemp("helm")
    return Helm(build_go_program(folder, into, "helm.sh/helm/v3/cmd/helm"), build_go_program(folder, into))


@pytest.fixture(scope="module", params=VALUES, ids=lambda path: path.stem)
def manifests(request: pytest.FixtureRequest, helm: Helm) -> list[Manifest]:
    return helm.manifests(request.param)


def of_kind(manifests: list[Manifest], *kinds: str) -> dict[str, Manifest]:
    return {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}": one for one in manifests if one["kind"] in kinds
    }


def pods(manifests: list[Manifest]) -> dict[str, Manifest]:
    """The pod's spec of each part, by the part."""
    workloads = of_kind(manifests, "Deployment", "DaemonSet", "Job").values()
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]["spec"] for one in workloads
    }


def environment(pod: Manifest) -> dict[str, str]:
    return {one["name"]: one["value"] for one in pod["containers"][0]["env"]}


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_helm_lint_finds_nothing(helm: Helm, values: Path) -> None:
    done = helm.run("lint", "--strict", CHART, "--values", values)
    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout


def test_every_pod_is_hardened(manifests: list[Manifest]) -> None:
    assert set(pods(manifests)) == {*PARTS, "migrate"}
    for part, pod in pods(manifests).items():
        security = pod["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"], security["fsGroup"]) == (True, 10001, 10001), part
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        # Kubernetes would set HEADGATE_API_PORT=tcp://… for a Service named headgate-api.
        assert pod["enableServiceLinks"] is False
        [container] = pod["containers"]
        assert container["args"] == [part]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]


def test_settings_exist_and_hold_no_secret(manifests: list[Manifest]) -> None:
    known = {one.name for one in all_variables()} | {file_variable_of(one) for one in all_variables()}
    secret = {one.name for one in all_variables() if one.is_secret}
    for part, pod in pods(manifests).items():
        own = {name for name in environment(pod) if name.startswith("HEADGATE_")}
        assert own <= known, part
        assert set(environment(pod)) - own <= {"VAULT_ADDR", "TRANSIT_SECRET_ENGINE_PATH"}, part
        assert not set(environment(pod)) & secret, part


def test_each_part_reads_its_own_files_only(manifests: list[Manifest], tmp_path: Path) -> None:
    made = set(create_key_files(tmp_path / "keys"))
    for part, pod in pods(manifests).items():
        mounted: dict[str, str] = {}
        for volume in pod["volumes"]:
            sources = volume.get("projected", {}).get("sources", [])
            secrets = [one["secret"] for one in sources] + [volume[one] for one in ("secret",) if one in volume]
            if secrets:
                assert volume.get("projected", volume.get("secret"))["defaultMode"] == 0o440, part
            at = next(one["mountPath"] for one in pod["containers"][0]["volumeMounts"] if one["name"] == volume["name"])
            for one in secrets:
                mounted |= {f"{at}/{item['path']}": item["key"] for item in one["items"]}
        named = {value for value in environment(pod).values() if value.startswith("/run/secrets/")}
        assert named == {path for path in mounted if path.startswith("/run/secrets/")}, part
        database = {key for key in mounted.values() if key.endswith("-url")} - {"redis-url"}
        assert database == {"owner-url" if part == "migrate" else f"{part}-url"}
        keys = {key for key in mounted.values() if not key.endswith("-url")} - {"vault-token"}
        assert ("vault-token" in mounted.values()) == ("HEADGATE_VAULT_TOKEN_FILE" in environment(pod))
        assert keys <= made, part
        assert ("ca.pem" in keys) == (part == "proxy")
        assert ("local-issuer.pem" in keys) == (environment(pod).get("HEADGATE_JWT_LOCAL_ISSUER") == "on")


def test_a_pod_is_probed_and_has_the_time_to_drain(manifests: list[Manifest]) -> None:
    for part in PARTS:
        pod = pods(manifests)[part]
        [container] = pod["containers"]
        assert pod["terminationGracePeriodSeconds"] >= int(environment(pod)["HEADGATE_DRAIN_SECONDS"]) + 15
        ports = {one["name"]: one["containerPort"] for one in container["ports"]}
        assert environment(pod)["HEADGATE_MONITOR_ADDRESS"].endswith(f":{ports['monitor']}")
        paths = {"startupProbe": "/readyz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"}
        assert {name: container[name]["httpGet"]["path"] for name in paths} == paths
        assert {container[name]["httpGet"]["port"] for name in paths} == {"monitor"}


def test_the_database_is_migrated_before_the_parts_change(manifests: list[Manifest]) -> None:
    [job] = of_kind(manifests, "Job").values()
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"


def test_selectors_find_their_pods_and_no_others(manifests: list[Manifest]) -> None:
    labels = {
        part: one["spec"]["template"]["metadata"]["labels"]
        for one in of_kind(manifests, "Deployment", "DaemonSet", "Job").values()
        for part in [one["metadata"]["labels"]["app.kubernetes.io/component"]]
    }
    for name, one in of_kind(manifests, "Service", "PodDisruptionBudget", "Deployment", "DaemonSet").items():
        selector = one["spec"]["selector"]
        wanted = selector.get("matchLabels", selector)
        found = {part for part, have in labels.items() if wanted.items() <= have.items()}
        assert found == {name.rpartition("-")[2]}, name


def test_an_agent_reaches_the_proxy_and_names_only(helm: Helm) -> None:
    manifests = helm.manifests(MINIMAL.with_name("daemonset.yaml"))
    policies = of_kind(manifests, "NetworkPolicy")
    for namespace in ("agents", "more-agents"):
        policy = policies[f"{namespace}/headgate-agents"]["spec"]
        assert (policy["podSelector"], policy["policyTypes"]) == ({}, ["Egress"])
        to_proxy, to_names = policy["egress"]
        assert {one["port"] for one in to_proxy["ports"]} == {8471}
        assert {one["port"] for one in to_names["ports"]} == {53}
        [peer] = to_proxy["to"]
        assert peer["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "headgate"}}
        proxy = of_kind(manifests, "DaemonSet")["headgate/headgate-proxy"]["spec"]
        assert peer["podSelector"]["matchLabels"] == proxy["selector"]["matchLabels"]
        assert proxy["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] == 8471


def test_nobody_else_reaches_the_proxy_or_the_probes(helm: Helm) -> None:
    for part in PARTS:
        policy = of_kind(helm.manifests(MINIMAL), "NetworkPolicy")[f"headgate/headgate-{part}"]["spec"]
        assert policy["policyTypes"] == ["Ingress"]
        allowed = {port["port"] for rule in policy.get("ingress") or [] for port in rule["ports"]}
        assert allowed == ({"traffic"} if part == "api" else set()), part
    full = of_kind(helm.manifests(MINIMAL.with_name("full.yaml")), "NetworkPolicy")
    for part in PARTS:
        rules = full[f"headgate/headgate-{part}"]["spec"]["ingress"]
        assert all(rule["from"] for rule in rules)
        assert {port["port"] for rule in rules for port in rule["ports"]} >= {"monitor"}


def test_the_proxies_scale_or_stand_on_each_node(helm: Helm) -> None:
    full = helm.manifests(MINIMAL.with_name("full.yaml"))
    [scaler] = of_kind(full, "HorizontalPodAutoscaler").values()
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (3, 30)
    assert "replicas" not in of_kind(full, "Deployment")["headgate/headgate-proxy"]["spec"]
    each = helm.manifests(MINIMAL.with_name("daemonset.yaml"))
    assert of_kind(each, "Service")["headgate/headgate-proxy"]["spec"]["internalTrafficPolicy"] == "Local"
    assert set(of_kind(each, "PodDisruptionBudget")) == {"headgate/headgate-api", "headgate/headgate-worker"}
    [monitor] = of_kind(full, "PodMonitor").values()
    assert monitor["spec"]["podMetricsEndpoints"][0]["port"] == "monitor"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("image.repository=",), "image.repository is missing: set it"),
        (("publicApiUrl=",), "publicApiUrl is missing: set it to the address"),
        (("secrets.databases=",), "secrets.databases is missing"),
        (("secrets.redis=",), "secrets.redis is missing"),
        (("secrets.keys=",), "secrets.keys is missing"),
        (("publicApiUrl=gate.example.com",), "at '/publicApiUrl'"),
        (("proxy.kind=StatefulSet",), "one of 'Deployment', 'DaemonSet'"),
        (("typo=1",), "additional properties 'typo' not allowed"),
        (("api.settings.HEADGATE_DATABASE_URL=x",), "invalid propertyName 'HEADGATE_DATABASE_URL'"),
        (("drainSeconds=301",), "at '/drainSeconds'"),
        (("kms.environment.VAULT_TOKEN=x",), "invalid propertyName 'VAULT_TOKEN'"),
        (("kms.environment.LD_PRELOAD=x",), "invalid propertyName 'LD_PRELOAD'"),
        (("proxy.kind=DaemonSet", "proxy.autoscaling.enabled=true"), "a DaemonSet has one pod on each node"),
        (("networkPolicy.agents.namespaces={headgate}",), "say which pods are agents"),
        (("podMonitor.enabled=true",), "networkPolicy.monitoringFrom is missing"),
    ],
)
def test_a_missing_or_wrong_value_is_said(helm: Helm, options: tuple[str, ...], says: str) -> None:
    done = helm.template("--values", MINIMAL, *(word for one in options for word in ("--set", one)))
    assert done.returncode != 0
    assert says in done.stderr


def test_no_secret_setting_passes_the_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    refused = re.compile(schema["properties"]["settings"]["propertyNames"]["not"]["pattern"])
    assert [one.name for one in all_variables() if bool(refused.match(one.name)) != one.is_secret] == []


def test_names_and_settings_follow_the_release_and_the_values(helm: Helm) -> None:
    rendered = helm.template("--values", MINIMAL, "--set", "proxy.settings.HEADGATE_LOG_FORMAT=text", release="gate")
    assert rendered.returncode == 0, rendered.stderr
    assert "http://gate-headgate-proxy.headgate.svc:8471" in rendered.stdout
    assert rendered.stdout.count('HEADGATE_LOG_FORMAT, value: "text"') == 1


def test_a_service_that_wraps_the_master_key_is_reached(helm: Helm) -> None:
    manifests = helm.manifests(MINIMAL.with_name("kms.yaml"))
    for part in PARTS:
        pod = pods(manifests)[part]
        assert pod["serviceAccountName"] == "headgate"
        assert environment(pod)["VAULT_ADDR"] == "https://vault.example.com:8200"
        assert environment(pod)["HEADGATE_VAULT_TOKEN_FILE"] == "/run/secrets/headgate/vault-token"
    assert "VAULT_ADDR" not in environment(pods(manifests)["migrate"])


def test_the_charts_version_is_the_programs() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    text = (CHART / "Chart.yaml").read_text("utf-8")
    assert f"\nversion: {version[1]}\n" in text
    assert f'\nappVersion: "{version[1]}"\n' in text
