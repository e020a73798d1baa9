"""``headgate up`` as a person runs it: from an empty folder to ready, through deaths, to a clean end."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from headgate.kernel.public_roots import public_roots
from headgate.runtime.instance_pointer import point_to

_READY_SECONDS = 90.0


@dataclass
class Up:
    """One ``headgate up``."""

    process: "subprocess.Popen[bytes]"
    data: Path
    runtime_file: Path
    log: Path

    @property
    def runtime(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.runtime_file.read_text())
        return document

    def pids(self) -> list[int]:
        return [pid for pids in self.runtime["pids"].values() for pid in pids]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def _up(folder: Path, *arguments: str) -> Up:
    log = folder / "up.log"
    runtime_file = folder / "elsewhere.json"
    command = [sys.executable, "-m", "headgate.cli.main", "up", "--data-dir", str(folder / "data")]
    command += ["--runtime-file", str(runtime_file), "--proxy-workers", "2"]
    command += arguments or ["--api-port", "0", "--proxy-port", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    return Up(process, folder / "data", runtime_file, log)


def _wait_until(condition: Callable[[], bool], up: Up, seconds: float = _READY_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert up.process.poll() is None, up.log.read_text()
        assert time.monotonic() < deadline, up.log.read_text()
        time.sleep(0.05)


def _ready(up: Up) -> Up:
    _wait_until(up.runtime_file.exists, up)
    return up


def _lives(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def _headgate(*arguments: str, up: Up) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "headgate.cli.main", *arguments, "--runtime-file", str(up.runtime_file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    up = _up(tmp_path_factory.mktemp("up"))
    try:
        yield _ready(up)
    finally:
        up.process.kill()
        up.process.wait()


def test_the_runtime_file_is_what_scripts_rely_on(up: Up) -> None:
    runtime = up.runtime
    assert stat.S_IMODE(up.runtime_file.stat().st_mode) == 0o600
    assert json.loads((up.data / "runtime.json").read_text()) == runtime
    counts = {name: len(pids) for name, pids in runtime["pids"].items()}
    assert counts == {"postgres": 1, "valkey": 1, "api": 1, "worker": 1, "proxy": 2}
    assert runtime["agent_id"].startswith("agt_")
    assert runtime["agent_key"].startswith("hg_")
    assert Path(runtime["ca_cert"]).read_text().startswith("-----BEGIN CERTIFICATE-----")
    with psycopg.connect(runtime["database_url"]) as connection:
        assert connection.execute("SELECT count(*) FROM policies").fetchone() == (4,)


def test_the_administrators_token_works(up: Up) -> None:
    headers = {"authorization": f"Bearer {up.runtime['admin_token']}"}
    with httpx.Client(
        verify=public_roots(), base_url=up.runtime["api_url"], headers=headers, trust_env=False
    ) as client:
        agents = client.get("/admin/agents").json()["data"]
    assert up.runtime["agent_id"] in [agent["id"] for agent in agents]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("doctor",), "the proxy listens"),
        (("policy", "list"), "Default: allow reads, hold writes"),
        (("agents", "list"), "default"),
        (("approvals", "list"), "no pending approval requests"),
        (("audit", "verify"), "the audit log is valid"),
        (("ca", "show"), "Headgate CA"),
        (("ca", "export"), "BEGIN CERTIFICATE"),
        (("env",), "export HTTPS_PROXY='http://agent:hg_"),
    ],
)
def test_commands_find_it_by_its_runtime_file(up: Up, arguments: tuple[str, ...], shown: str) -> None:
    done = _headgate(*arguments, up=up)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


def test_creating_an_agent_names_the_others_of_its_name(up: Up) -> None:
    first, second = (_headgate("agents", "create", "twin", up=up) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0)
    assert "warning" not in first.stderr
    assert re.search(r"warning: other agents have the same name: agt_\S+\. Commands need their ids", second.stderr)


def test_a_token_for_a_person_has_that_persons_rights(up: Up) -> None:
    done = _headgate("token", "--user", "val@example.com", "--role", "viewer", up=up)
    headers = {"authorization": f"Bearer {done.stdout.strip()}"}
    with httpx.Client(
        verify=public_roots(), base_url=up.runtime["api_url"], headers=headers, trust_env=False
    ) as client:
        assert client.get("/v1/approvals").status_code == 200
        assert client.get("/admin/agents").status_code == 403


def test_a_command_in_any_folder_finds_the_instance_that_was_started_last(up: Up, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    environment["XDG_DATA_HOME"] = str(tmp_path)
    point_to(up.data / "runtime.json", environment)
    for arguments in (["approvals", "list"], ["run", "--", "true"], ["login"]):
        command = [sys.executable, "-m", "headgate.cli.main", *arguments]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr


def test_the_printed_links_lead_to_the_dashboard(up: Up) -> None:
    printed = re.search(r"http\S+/auth/local/\S+", up.log.read_text())
    assert printed is not None
    asked = _headgate("login", "--print-url", up=up)
    assert (asked.stdout.count("\n"), asked.stderr) == (1, "")
    headers = {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
    for link in (printed[0], asked.stdout.strip()):
        with httpx.Client(verify=public_roots(), headers=headers, trust_env=False, follow_redirects=True) as browser:
            assert browser.get(link).status_code == 200
            inbox = browser.post(link)
            assert (inbox.status_code, inbox.url.path) == (200, "/inbox")
            assert browser.get(up.runtime["dashboard_url"]).url.path == "/inbox"
            assert browser.get(link).status_code == 401


def test_run_gives_a_program_the_environment(up: Up) -> None:
    command = [sys.executable, "-m", "headgate.cli.main", "run", "--runtime-file", str(up.runtime_file), "--"]
    done = subprocess.run([*command, "sh", "-c", "echo $HTTPS_PROXY"], capture_output=True, text=True, check=True)
    assert up.runtime["agent_key"] in done.stdout


def test_a_data_directory_is_one_instances(up: Up) -> None:
    second = _up(up.data.parent, "--api-port", "0", "--proxy-port", "0")
    assert second.process.wait(60) == 1
    assert "another instance runs" in second.log.read_text()
    assert up.runtime_file.exists(), "the second took the first one's runtime file away"


def test_no_secret_is_in_the_logs(up: Up) -> None:
    kept = json.loads((up.data / "secrets.json").read_text())
    values = [*kept["passwords"].values(), kept["agent"]["key"], up.runtime["admin_token"]]
    for log in (up.log, *(up.data / "logs").iterdir()):
        text = log.read_text(errors="replace")
        assert not [value for value in values if value in text], log


@pytest.mark.parametrize("part", ["valkey", "worker", "postgres", "proxy", "api"])
def test_a_part_that_is_killed_comes_back_as_it_was(up: Up, part: str) -> None:
    before = up.runtime
    os.kill(before["pids"][part][0], signal.SIGKILL)
    _wait_until(lambda: before["pids"][part][0] not in up.runtime["pids"][part], up)
    _wait_until(lambda: all(_lives(pid) for pid in up.pids()) and len(up.pids()) == 6, up)
    after = up.runtime
    assert {name: value for name, value in after.items() if name != "pids"} == {
        name: value for name, value in before.items() if name != "pids"
    }
    _wait_until(lambda: _headgate("doctor", "--quiet", up=up).returncode == 0, up)


def test_it_stops_cleanly_and_starts_as_the_same_instance(tmp_path: Path) -> None:
    first = _ready(_up(tmp_path))
    runtime, pids = first.runtime, first.pids()
    ca = Path(runtime["ca_cert"]).read_bytes()
    assert first.stop() == 0, first.log.read_text()
    assert not [pid for pid in pids if _lives(pid)]
    assert not first.runtime_file.exists()
    assert "database system is shut down" in (first.data / "logs" / "postgres.log").read_text()

    ports = [runtime[name].rpartition(":")[2] for name in ("api_url", "proxy_url")]
    second = _ready(_up(tmp_path, "--api-port", ports[0], "--proxy-port", ports[1]))
    try:
        again = second.runtime
        same = ("api_url", "proxy_url", "agent_id", "agent_key", "database_url", "ca_cert")
        assert {name: again[name] for name in same} == {name: runtime[name] for name in same}
        assert Path(again["ca_cert"]).read_bytes() == ca
        _wait_until(lambda: _sign_in_link(second) is not None, second)  # nobody has used the first one
        _sign_in(second)
        with psycopg.connect(again["database_url"]) as connection:
            assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
        pids = second.pids()
        second.process.kill()
        second.process.wait()
        deadline = time.monotonic() + 2
        while left := [pid for pid in pids if _lives(pid)]:
            assert time.monotonic() < deadline, f"orphans two seconds after kill -9: {left}"
            time.sleep(0.02)
        third = _ready(_up(tmp_path))
        try:
            _wait_until(lambda: "approvals list" in third.log.read_text(), third)
            assert third.stop() == 0
            assert _sign_in_link(third) is None
        finally:
            third.process.kill()
            third.process.wait()
    finally:
        second.process.kill()
        second.process.wait()


def _sign_in_link(up: Up) -> str | None:
    found = re.search(r"http://\S+/auth/local/\S+", up.log.read_text())
    return None if found is None else found[0]


def _sign_in(up: Up) -> None:
    """As a browser does: the page, then its form."""
    with httpx.Client(verify=public_roots(), trust_env=False) as browser:
        link = _sign_in_link(up)
        assert link is not None
        assert browser.get(link).status_code == 200
        answer = browser.post(link, headers={"origin": up.runtime["api_url"], "sec-fetch-site": "same-origin"})
        assert answer.status_code in (200, 303), answer.text


def test_a_taken_port_is_named_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        up = _up(tmp_path, "--api-port", "0", "--proxy-port", port)
        assert up.process.wait(60) == 1
    assert f"port {port} of 127.0.0.1, for the proxy, is in use" in up.log.read_text()
    assert not (up.data / "postgres").exists()
