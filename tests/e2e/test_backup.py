"""A backup of a live instance under load, the loss of the machine, and the instance that goes on from the backup.

One story, because an instance takes seconds to start: what was open when the backup was made is done after it, so the
restored instance must not do it again.
"""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from headgate.kernel.public_roots import public_roots
from headgate.runtime.server_process import tail
from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.conftest import HELD_FOR, LOOPBACK
from tests.e2e.instance import Instance, running
from tests.e2e.upstream import Upstream, serving
from tests.e2e.waiting import wait_for
from tests.free_port import free_port

pytestmark = pytest.mark.timeout(600)
_PAYMENT = {"to": "Globex", "amount": 9000}
_PASSPHRASE = "correct horse battery staple"


@pytest.fixture(scope="module")
def upstream(certificates: tuple[Path, Path]) -> Iterator[Upstream]:
    with serving(certificates[1]) as server:
        yield server


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _headgate(folder: Path, *words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    return subprocess.run(
        [sys.executable, "-m", "headgate.cli.main", *words],
        cwd=folder, env=environment | {"HEADGATE_BACKUP_PASSPHRASE": _PASSPHRASE} | settings,
        capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def _succeeds(folder: Path, *words: str) -> dict[str, Any]:
    done = _headgate(folder, *words, "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _client(instance: Instance, *words: str) -> "subprocess.CompletedProcess[str]":
    return _headgate(instance.folder, *words, HEADGATE_RUNTIME_FILE=str(instance.runtime_file))


def _lose_the_machine(instance: Instance) -> None:
    """kill -9 of every process, then the data directory is deleted."""
    pids = [pid for part in ("postgres", "valkey", "api", "worker", "proxy") for pid in instance.pids(part)]
    os.kill(instance._process.pid, signal.SIGKILL)
    instance._process.wait()
    wait_for(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()], "every process is gone")
    shutil.rmtree(instance.folder / "data")
    instance.runtime_file.unlink()


def _submit(agent: Agent, instance: Instance, url: str, key: str) -> dict[str, Any]:
    with httpx.Client(verify=public_roots(), timeout=30, trust_env=False) as client:
        answer = client.post(
            f"{instance.runtime['api_url']}/v1/actions",
            headers={"X-Agent-Key": agent.key},
            json={"tool": "http", "operation": "get", "params": {"url": url}, "idempotency_key": key},
        )
    assert answer.status_code in (200, 201, 202), answer.text
    action: dict[str, Any] = answer.json()
    return action


@contextmanager
def _load(agent: Agent, url: str) -> Iterator[list[int]]:
    """Four clients that read through the proxies without a pause; the statuses that they were answered with."""
    answers: list[int] = []
    stop = threading.Event()

    def read(number: int) -> None:
        with agent.client() as client:
            for count in itertools.count():
                if stop.is_set():
                    return
                answers.append(client.get(f"{url}/load/{number}/{count}").status_code)

    threads = [threading.Thread(target=read, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _grant(administrator: Administrator, instance: Instance, prefix: str) -> str:
    body = {
        "agent_id": instance.runtime["agent_id"], "tool": "http", "operation": "post",
        "conditions": [{"param": "path", "prefix": prefix}], "max_uses": 1, "expires_in_seconds": 3600,
        "reason": "a test asks for it",
    }  # fmt: skip
    created = administrator.api.post("/admin/grants", json=body)
    assert created.status_code == 201, created.text
    return str(created.json()["id"])


def test_an_instance_goes_on_from_a_backup(
    tmp_path: Path, certificates: tuple[Path, Path], upstream: Upstream, stack: ExitStack
) -> None:
    held, unused, queued = "/patient/held", "/impatient/unused", "/queued/once"
    port = free_port()
    lost = Instance(tmp_path, certificates[0], {"HEADGATE_PROXY_WORKERS": "2"})
    try:
        with closing(Administrator(lost)) as administrator, closing(Agent(lost)) as agent:
            administrator.allow_destinations(LOOPBACK)
            patience = {"first_retry_seconds": 20, "last_retry_seconds": 20, "most_attempts": 10}
            assert administrator.api.put("/admin/settings/executions", json=patience).status_code == 200
            administrator.add_policy(HELD_FOR.format(name="patient", seconds=90), priority=500)
            administrator.add_policy(HELD_FOR.format(name="impatient", seconds=0), priority=500)
            grant_id = _grant(administrator, lost, "/impatient/granted")
            waiting = agent.call_later("POST", upstream.url + held, json=_PAYMENT)
            held_approval = administrator.pending(held)
            assert error_of(agent.call("POST", upstream.url + unused, json=_PAYMENT))["code"] == "APPROVAL_PENDING"
            unused_approval = administrator.pending(unused)
            administrator.approve(unused_approval["id"])

            queued_action = _submit(agent, lost, f"https://127.0.0.1:{port}{queued}", "a")
            wait_for(
                lambda: lost.rows("SELECT FROM executions WHERE status = 'queued' AND error IS NOT NULL"),
                "the first attempt found nobody",
            )
            with _load(agent, upstream.url) as answers:
                wait_for(lambda: len(answers) > 100, "calls are answered")
                made = _succeeds(tmp_path, "backup", "create", "--data-dir", "data", "--output", "one.backup")
                meanwhile = len(answers)
                wait_for(lambda: len(answers) > meanwhile + 100, "calls are answered after the backup")
            assert set(answers) == {200}, "no decision waited for the backup, and none failed"
            # After the backup, all of it happens.
            administrator.approve(held_approval["id"])
            assert waiting.result().status_code == 200
            assert agent.call("POST", upstream.url + unused, json=_PAYMENT).status_code == 200
            assert agent.call("POST", upstream.url + "/impatient/granted", json=_PAYMENT).status_code == 200
            late = stack.enter_context(serving(certificates[1], port))
            assert administrator.settled(queued_action["id"])["status"] == "completed"
            [head] = made["organizations"]
            wait_for(
                lambda: administrator.get("/admin/audit/checkpoints", latest=True)["data"][0]["size"] > head["seq"],
                "a checkpoint covers what came after the backup",
            )
            key, trust = agent.key, Path(lost.runtime["ca_cert"]).read_bytes()
            later = administrator.get("/admin/audit/checkpoints", latest=True)["data"][0]["note"]
            keys = _client(lost, "audit", "key", "show").stdout.split()[0]
            watch = ("audit", "monitor", "--once", "--keep", "kept", "--key", keys)
            assert _client(lost, *watch).returncode == 0
            shutil.copytree(tmp_path / "data/evidence/signed", tmp_path / "another-worker")
            _lose_the_machine(lost)
    finally:
        lost.stop()
    assert (tmp_path / "one.backup").stat().st_mode & 0o777 == 0o600

    restored = _succeeds(tmp_path, "restore", "one.backup", "--data-dir", "data")
    withdrawn = restored["withdrawn"][head["org_id"]]
    assert withdrawn["queued_executions"] == 1
    assert withdrawn["grants"] == 1
    assert withdrawn["approvals"] >= 2

    with (
        running(tmp_path, certificates[0], HEADGATE_PROXY_WORKERS="2") as instance,
        closing(Administrator(instance)) as administrator,
        closing(Agent(instance)) as agent,
    ):
        assert agent.key == key
        assert Path(instance.runtime["ca_cert"]).read_bytes() == trust
        verified = instance.try_command("audit", subcommand="verify")
        assert verified.returncode == 0, verified.stderr
        assert f"restored from a backup at event {head['seq']}" in verified.stdout
        [event] = administrator.get("/admin/audit", event_type="backup.restored")["data"]
        assert event["data"]["backup_id"] == made["backup_id"]
        assert (event["data"]["head_seq"], event["data"]["head_hash"]) == (head["seq"], f"sha256:{head['hash']}")

        # An auditor who kept a later checkpoint is told, and told why.
        (tmp_path / "later.checkpoint").write_text(later)
        against = instance.try_command("audit", "--checkpoints", "later.checkpoint", subcommand="verify")
        assert against.returncode == 1
        assert "rolled_back: " in against.stderr
        assert event["id"] in against.stderr

        wait_for(
            lambda: administrator.get("/admin/audit/checkpoints", latest=True)["data"][0]["size"] > head["seq"],
            "a checkpoint covers the restore",
        )
        # So is a monitor. Who knows of the restore accepts it once; a worker on another machine needs it too.
        alarm = _client(instance, *watch)
        assert alarm.returncode == 1
        assert f"in which the log ended at event {head['seq']}" in alarm.stderr
        assert f"headgate audit accept-restore {event['id']} --keep kept" in alarm.stderr
        for folder in ("kept", "another-worker"):
            accept = ("audit", "accept-restore", event["id"], "--keep", folder, "--key", keys)
            accepted = _client(instance, *accept)
            assert accepted.returncode == 0, accepted.stderr
            assert "1 checkpoints of lost events set aside" in accepted.stdout
        again = _client(instance, *watch)
        assert again.returncode == 0, again.stderr
        checked = instance.try_command("audit", "--checkpoints", "kept", subcommand="verify")
        assert checked.returncode == 0, checked.stderr

        # Neither runs again by itself, nor by an approval of before.
        for server, path in ((upstream, held), (upstream, unused), (late, queued)):
            assert len(server.of(path)) == 1, path
        assert administrator.action(queued_action["id"])["status"] == "failed"
        retried = administrator.api.post(
            "/v1/executions/retry", json={"execution_id": queued_action["execution"]["id"]}
        )
        assert retried.status_code == 400, retried.text
        for approval in (held_approval, unused_approval):
            assert administrator.approval(approval["id"])["status"] == "expired"
        for path in (unused, "/impatient/granted"):
            again = agent.call("POST", upstream.url + path, json=_PAYMENT)
            assert error_of(again)["code"] == "APPROVAL_PENDING", again.text
            assert len(upstream.of(path)) == 1
        assert administrator.get(f"/admin/grants/{grant_id}")["status"] == "revoked"
        # A new call is decided as ever.
        assert agent.call("GET", upstream.url + "/after").status_code == 200
        wait_for(
            lambda: (
                administrator.get("/admin/audit/checkpoints", latest=True)["problem"] is None
                and administrator.get("/admin/audit/checkpoints", latest=True)["data"][0]["size"] > head["seq"] + 1
            ),
            "checkpoints are signed again",
        )
    assert "Traceback" not in tail(instance.log, 10_000)
