"""``headgate audit monitor`` against a running API, and what makes it raise an alarm."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from psycopg import sql

from headgate.cli.api_client import ApiClient
from headgate.cli.audit import monitor as monitor_command
from headgate.cli.audit_monitor import AlarmError, Monitor
from headgate.cli.target import Target
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.note import VerifierKey
from headgate.evidence.signed_memory import SignedMemory
from headgate.journal.apply import apply_before_reading
from headgate.kernel.secrets import Secret
from headgate.organizations.model import Role


class Followed:
    """A service, whoever signs for it, and somebody who follows it."""

    def __init__(self, gate, worker_database, folder: Path) -> None:
        keys = gate.api.settings.evidence_keys
        keys.create("log.example")
        self.gate = gate
        self.checkpointer = Checkpointer(worker_database, keys, SignedMemory(folder / "signed"), timedelta(0), 1)
        token = gate.api.token(gate.org_id, Role.AUDITOR)
        self.client = ApiClient(Target(gate.api.url, Secret(token)))
        self.monitor = Monitor(self.client, keys.load().verifier_keys("log.example"), folder / "kept")

    async def act_and_sign(self, checkpointer: Checkpointer | None = None) -> None:
        await self.gate.as_agent.post("/v1/actions", json={"tool": "read", "operation": "rows", "params": {}})
        await apply_before_reading(self.gate.api.dependencies.database, self.gate.org_id)
        assert await (checkpointer or self.checkpointer).checkpoint(self.gate.org_id)

    async def look(self):
        return await asyncio.to_thread(self.monitor.look)


@pytest.fixture
def followed(gate, worker_database, tmp_path: Path):
    return Followed(gate, worker_database, tmp_path)


async def test_it_follows_and_keeps_what_it_saw(followed: Followed, tmp_path: Path) -> None:
    assert await followed.look() is None
    sizes = []
    for _ in range(3):
        await followed.act_and_sign()
        sizes.append((await followed.look()).size)
        assert (await followed.look()).size == sizes[-1]
    kept = sorted(one.name for one in (tmp_path / "kept").iterdir())
    assert kept == [f"{size:015d}.checkpoint" for size in sizes]


async def test_a_rewritten_log_is_an_alarm(followed: Followed, superuser, tmp_path: Path) -> None:
    for _ in range(2):
        await followed.act_and_sign()
    await followed.look()
    tables = ("audit_trees", "audit_tiles", "audit_checkpoints", "audit_chain", "audit_events")
    for table in tables:
        statement = sql.SQL("DELETE FROM {} WHERE org_id = %s").format(sql.Identifier(table))
        superuser.execute(statement, [followed.gate.org_id])
    with pytest.raises(AlarmError, match="no longer has a checkpoint"):
        await followed.look()
    forgetful = replace(followed.checkpointer, memory=SignedMemory(tmp_path / "none"))
    await followed.act_and_sign(forgetful)
    with pytest.raises(AlarmError, match="shrunk"):
        await followed.look()
    for _ in range(3):
        await followed.act_and_sign(forgetful)
    with pytest.raises(AlarmError, match=r"does not prove|forked or rewritten"):
        await followed.look()


async def test_a_service_that_signs_no_more_or_with_another_key_is_an_alarm(followed: Followed, tmp_path: Path) -> None:
    await followed.act_and_sign()
    await followed.look()
    stranger = replace(followed.checkpointer.keys, file=tmp_path / "stranger")
    followed.monitor.keys = stranger.create("log.example").verifier_keys("log.example")
    with pytest.raises(AlarmError, match="cannot be verified"):
        await followed.look()
    followed.checkpointer.keys.file.unlink()
    with pytest.raises(AssertionError):
        await followed.act_and_sign()
    with pytest.raises(AlarmError, match=r"no longer signs checkpoints.*missing"):
        await followed.look()


async def test_a_service_that_does_not_answer_is_an_alarm_after_a_while(tmp_path: Path) -> None:
    client = ApiClient(Target("http://127.0.0.1:9", Secret("x")))
    monitor = Monitor(client, [], tmp_path / "kept", patience_seconds=0.2)
    assert monitor.look() is None
    await asyncio.sleep(0.3)
    with pytest.raises(AlarmError, match="has not answered"):
        monitor.look()


def test_who_looks_once_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is not "nothing was signed yet": a scheduler would take that for all being well."""
    monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
    monkeypatch.setenv("HEADGATE_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HEADGATE_TOKEN", "x")
    key = VerifierKey("log.example", bytes(32)).text
    ended = CliRunner().invoke(monitor_command, ["--key", key, "--keep", str(tmp_path / "kept"), "--once"])
    assert isinstance(ended.exception, AlarmError)
    assert "the service does not answer" in ended.exception.message
