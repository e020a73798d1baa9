"""On servers of the operator's own: one address for everything, or a login for each part; with ``headgate up``, or
each part by itself. The whole story each time."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from headgate.approvals.wake_ups import CHANNEL
from headgate.kernel.public_roots import public_roots
from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.conftest import LOOPBACK
from tests.e2e.external_servers import PARTS, ExternalServers, external_servers
from tests.e2e.instance import Instance, running
from tests.e2e.waiting import wait_for
from tests.free_port import free_port


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExternalServers]:
    with external_servers(tmp_path_factory.mktemp("external")) as started:
        yield started


def environment_without_headgate() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HEADGATE_") and name != "PYTHONDONTWRITEBYTECODE"
    }


class Parts:
    """``headgate api``, ``worker`` and ``proxy``, each by itself; what is known of them is in ``runtime``."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment
        self.processes: list[subprocess.Popen[bytes]] = []
        self.runtime: dict[str, Any] = {}

    def command(self, *words: str) -> str:
        command = [sys.executable, "-m", "headgate.cli.main", *words]
        done = subprocess.run(
            command, env=dict(self._environment), capture_output=True, text=True, check=False, timeout=100
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, part: str) -> None:
        with (self._folder / f"{part}.log").open("wb") as log:
            command = [sys.executable, "-m", "headgate.cli.main", part]
            self.processes.append(subprocess.Popen(command, env=dict(self._environment), stdout=log, stderr=log))

    def log_of(self, part: str) -> str:
        return (self._folder / f"{part}.log").read_text()


@contextmanager
def parts_alone(folder: Path, roots: Path, database: Mapping[str, str], redis_url: str) -> Iterator[Parts]:
    api_port, proxy_port = free_port(), free_port()
    environment = environment_without_headgate() | {
        "HEADGATE_DATA_DIR": str(folder / "data"),
        "HEADGATE_REDIS_URL": redis_url,
        "HEADGATE_API_PORT": str(api_port),
        "HEADGATE_PROXY_PORT": str(proxy_port),
        "HEADGATE_PROXY_WORKERS": "2",
        "HEADGATE_UPSTREAM_CA_FILE": str(roots),
        **database,
    }
    parts = Parts(folder, environment)
    try:
        for part in PARTS:
            parts.start(part)
        certificate = folder / "data" / "public" / "ca.pem"
        wait_for(lambda: _serves(api_port), f"the API serves\n{parts.log_of('api')}")
        wait_for(lambda: _serves(proxy_port) and certificate.exists(), "the proxy serves")
        token = parts.command("token", "--user", "ann@example.com", "--role", "admin", "--aal", "aal2").strip()
        parts.runtime = {
            "api_url": f"http://127.0.0.1:{api_port}",
            "proxy_url": f"http://127.0.0.1:{proxy_port}",
            "ca_cert": str(certificate),
            "admin_token": token,
        }
        yield parts
    finally:
        for process in parts.processes:
            process.terminate()
        statuses = [process.wait(60) for process in parts.processes]
    assert statuses == [0] * len(PARTS), "".join(parts.log_of(part)[-2000:] for part in PARTS)


def _serves(port: int) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{port}/ready", verify=public_roots(), trust_env=False, timeout=5).read()
    except httpx.HTTPError:
        return False
    return True


def expect_the_story(instance: Instance | Parts, upstream, path: str) -> None:
    """A read goes through, a deletion is refused, a payment waits for a person and then goes through; all of it is in
    a record that verifies."""
    with closing(Administrator(instance)) as administrator:
        administrator.allow_destinations(LOOPBACK)
        key = administrator.new_agent(f"agent of {path}")["api_key"]["key"]
        with closing(Agent(instance, key=key)) as agent:
            assert agent.call("GET", upstream.url + path).status_code == 200
            refused = agent.call("DELETE", upstream.url + path)
            assert error_of(refused)["code"] == "ACTION_DENIED"
            call = agent.call_later("POST", upstream.url + path, json={"amount": 9000})
            approval = administrator.pending(path)
            assert administrator.approve(approval["id"]).status_code == 200
            assert call.result().status_code == 200
        assert [received.method for received in upstream.of(path)] == ["GET", "POST"]
        assert administrator.settled(approval["action_id"])["execution"]["status"] == "succeeded"
        verified = administrator.api.post("/admin/audit/verify", json={}).json()
        assert verified["valid"], verified
        assert verified["events_verified"] > 10


def expect_logins(servers: ExternalServers, database: str, expected: set[str]) -> None:
    """Who is logged in to this database now."""
    with servers.administrator() as connection:
        query = (
            "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = %s"
            " AND backend_type = 'client backend'"  # autovacuum is nobody
        )
        rows = connection.execute(query, [database])
        assert {row[0] for row in rows} == expected


def test_headgate_up(servers: ExternalServers, tmp_path: Path, certificates, upstream, path: str) -> None:
    settings = {
        "HEADGATE_DATABASE_URL": servers.new_database("for_up"),
        "HEADGATE_REDIS_URL": servers.redis_url,
        "HEADGATE_PROXY_WORKERS": "2",
        "HEADGATE_HOLD_SECONDS": "60",
    }
    with running(tmp_path, certificates[0], **settings) as instance:
        assert (instance.pids("postgres"), instance.pids("valkey")) == ([], [])
        assert not (tmp_path / "data" / "postgres").exists()
        expect_the_story(instance, upstream, path)
        expect_logins(servers, "for_up", {"headgate_owner"})
        with closing(Redis.from_url(servers.redis_url)) as client:
            assert client.pubsub_numsub(CHANNEL) == [(CHANNEL.encode(), 2)]


def test_each_part_by_itself_with_its_own_login(
    servers: ExternalServers, tmp_path: Path, certificates, upstream, path: str
) -> None:
    owner = servers.new_database("for_parts")
    command = [sys.executable, "-m", "headgate.cli.main", "migrate"]
    for says in ("applied schema", "up to date"):
        done = subprocess.run(
            command,
            env=environment_without_headgate() | {"HEADGATE_OWNER_DATABASE_URL": owner},
            capture_output=True,
            text=True,
            check=True,
        )
        assert says in done.stdout
    logins = servers.let_parts_in("for_parts")
    database = {f"HEADGATE_{part.upper()}_DATABASE_URL": logins[part] for part in PARTS}
    with parts_alone(tmp_path, certificates[0], database, servers.redis_url) as parts:
        expect_the_story(parts, upstream, path)
        expect_logins(servers, "for_parts", {f"headgate_{part}" for part in PARTS})


def test_each_part_by_itself_with_the_owners_address(
    servers: ExternalServers, tmp_path: Path, certificates, upstream, path: str
) -> None:
    database = {"HEADGATE_DATABASE_URL": servers.new_database("for_all")}
    done = subprocess.run(
        [sys.executable, "-m", "headgate.cli.main", "migrate"],
        env=environment_without_headgate() | database,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "applied schema" in done.stdout
    with parts_alone(tmp_path, certificates[0], database, servers.redis_url) as parts:
        expect_the_story(parts, upstream, path)
        expect_logins(servers, "for_all", {"headgate_owner"})
