"""deploy/compose/compose.yaml, as Docker Compose's own library resolves it."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from headgate.cli.main import headgate
from headgate.configuration.settings import all_variables, file_variable_of
from tests.go_program import build_go_program

ROOT: Final = Path(__file__).resolve().parents[3]
FOLDER: Final = ROOT / "deploy" / "compose"
PARTS: Final = {"api", "worker", "proxy"}
_PUBLIC: Final = "HEADGATE_PUBLIC_API_URL=http://localhost:8470"


pytestmark = pytest.mark.timeout(900)  # a Go program is compiled, once


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_go_program(ROOT / "tests" / "compose_file", tmp_path_factory.mktemp("compose"))


def loaded(program: Path, *arguments: object) -> dict[str, Any]:
    done = subprocess.run(
        [program, FOLDER / "compose.yaml", *arguments], capture_output=True, text=True, check=False, env={}
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def project(program: Path) -> dict[str, Any]:
    return loaded(program, _PUBLIC)


@pytest.fixture(scope="module")
def with_kms(program: Path) -> dict[str, Any]:
    return loaded(program, FOLDER / "kms.yaml", _PUBLIC, "VAULT_ADDR=https://vault.example.com:8200")


def networks_of(service: dict[str, Any]) -> set[str]:
    return set(service["networks"])


def test_a_missing_address_is_said(program: Path) -> None:
    done = subprocess.run([program, FOLDER / "compose.yaml"], capture_output=True, text=True, check=False, env={})
    assert done.returncode != 0
    assert "HEADGATE_PUBLIC_API_URL is missing a value: set it to the address" in done.stderr


def test_every_service_is_hardened(project) -> None:
    for name, service in project["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert re.fullmatch(r"[1-9]\d*:\d+", service["user"]), name
        assert not service.get("privileged"), name
        assert "docker.sock" not in json.dumps(service), name
        assert name in {"migrate", "agent"} or service["healthcheck"]["test"], name


def test_an_agents_only_neighbor_is_the_proxy(project) -> None:
    services = project["services"]
    assert networks_of(services["agent"]) == {"agents"}
    assert {name for name, one in services.items() if "agents" in networks_of(one)} == {"agent", "proxy"}
    closed = {"agents", "data", "monitoring"}
    for name, network in project["networks"].items():
        assert network.get("internal", False) == (name in closed), name
    # Without it the addresses of this machine, and so its services, are reachable from an internal network.
    for name in closed:
        assert project["networks"][name]["driver_opts"]["com.docker.network.bridge.gateway_mode_ipv4"] == "isolated"


def test_agents_reach_no_probe_of_the_proxy(project) -> None:
    proxy = project["services"]["proxy"]
    host = proxy["environment"]["HEADGATE_MONITOR_ADDRESS"].rpartition(":")[0]
    assert host in proxy["networks"]["monitoring"]["aliases"]
    assert [name for name, one in proxy["networks"].items() if one and host in one.get("aliases", [])] == ["monitoring"]
    assert proxy["healthcheck"]["test"] == ["CMD", "python", "-m", "headgate.monitor.probe"]


def test_the_database_and_valkey_have_no_way_out_and_no_port(project) -> None:
    for name in ("postgres", "valkey"):
        assert networks_of(project["services"][name]) == {"data"}
        assert not project["services"][name].get("ports")


def test_what_is_published_is_published_on_this_machine_only(project) -> None:
    published = [port for one in project["services"].values() for port in one.get("ports", [])]
    assert published
    assert {port["host_ip"] for port in published} == {"127.0.0.1"}


def test_the_parts_name_settings_and_commands_that_exist(project) -> None:
    known = {one.name for one in all_variables()} | {file_variable_of(one) for one in all_variables()}
    commands = headgate.list_commands(headgate.make_context("headgate", [], resilient_parsing=True))
    for name in (*PARTS, "migrate"):
        service = project["services"][name]
        assert service["command"] == [name]
        assert name in commands
        assert set(service["environment"]) <= known, name


def test_every_part_has_its_own_database_login_and_no_secret_in_its_environment(project) -> None:
    logins = {name: f"HEADGATE_{name.upper()}_DATABASE_URL_FILE" for name in PARTS} | {
        "migrate": "HEADGATE_OWNER_DATABASE_URL_FILE"
    }
    secret = {one.name for one in all_variables() if one.is_secret}
    for name, variable in logins.items():
        environment = project["services"][name]["environment"]
        assert [one for one in environment if "DATABASE_URL" in one] == [variable]
        assert not secret & set(environment)


@pytest.mark.parametrize("loaded_from", ["project", "with_kms"])
def test_every_named_file_is_mounted(loaded_from: str, request: pytest.FixtureRequest) -> None:
    for name in (*PARTS, "migrate"):
        service = request.getfixturevalue(loaded_from)["services"][name]
        mounted = {one.get("target") or f"/run/secrets/{one['source']}" for one in service["secrets"]}
        named = {value for value in service["environment"].values() if value.startswith("/run/secrets/")}
        assert named <= {one if one.startswith("/") else f"/run/secrets/{one}" for one in mounted}, name
        unused = {one for one in mounted if one.startswith("/run/secrets/")} - named
        assert not unused, name


def test_each_part_that_opens_master_keys_reaches_the_kms(project, with_kms) -> None:
    holders = {name for name in PARTS if "HEADGATE_MASTER_KEYS_FILE" in project["services"][name]["environment"]}
    for name, service in with_kms["services"].items():
        added = set(service.get("environment") or ()) - set(project["services"][name].get("environment") or ())
        variables = {"VAULT_ADDR", "VAULT_NAMESPACE", "TRANSIT_SECRET_ENGINE_PATH", "HEADGATE_VAULT_TOKEN_FILE"}
        assert added == (variables if name in holders else set()), name
        if name in holders:
            assert "outside" in networks_of(service), name


def test_the_address_of_the_kms_must_be_given(program: Path) -> None:
    command = [program, FOLDER / "compose.yaml", FOLDER / "kms.yaml", _PUBLIC]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    assert done.returncode != 0
    assert "VAULT_ADDR is missing a value: set it to the address" in done.stderr


def test_the_proxy_alone_has_the_key_of_the_authority(project) -> None:
    holders = {
        name for name, one in project["services"].items() if any(s["source"] == "ca" for s in one.get("secrets", []))
    }
    assert holders == {"proxy"}


def test_a_part_has_the_time_to_drain(project) -> None:
    for name in PARTS:
        service = project["services"][name]
        drains = int(service["environment"]["HEADGATE_DRAIN_SECONDS"])
        assert service["stop_grace_period"] == f"{drains + 15}s"


def test_images_have_a_version(project) -> None:
    for name, service in project["services"].items():
        tag = service["image"].partition("@")[0].rpartition(":")[2]
        assert name in {*PARTS, "migrate"} or re.match(r"v?\d", tag), name


def test_the_files_of_configs_exist(project) -> None:
    assert [one["file"] for one in project["configs"].values() if not Path(one["file"]).is_file()] == []


def test_prometheus_asks_every_part_where_it_answers(project) -> None:
    configuration = yaml.safe_load((FOLDER / "prometheus.yaml").read_text("utf-8"))
    [job] = configuration["scrape_configs"]
    asked = {(one["names"][0], one["port"]) for one in job["dns_sd_configs"]}
    addresses = {name: project["services"][name]["environment"]["HEADGATE_MONITOR_ADDRESS"] for name in PARTS}
    expected = {
        (name if host == "0.0.0.0" else host, int(port))
        for name, (host, port) in ((name, address.split(":")) for name, address in addresses.items())
    }
    assert asked == expected
    assert all("monitoring" in networks_of(project["services"][name]) for name in (*PARTS, "prometheus", "grafana"))
