"""The next start quarantines what the process before it was evaluating when it died."""

import asyncio
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.policies.data import policy_data
from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import Marker, note_death
from headgate.policies.model import RulePolicy, Verdict
from headgate.policies.quarantine import quarantine_suspects
from headgate.policies.service import seed_default_policies
from headgate.policies.store import load_enabled

CHILD = """
import sys, time
from pathlib import Path
from headgate.policies.marker import Marker, mark_of
marker = Marker(Path(sys.argv[1]))
marker.begin(mark_of(*sys.argv[2:4], 1))
print("evaluating", flush=True)
time.sleep(60)
"""


def die_evaluating(folder: Path, policy: RulePolicy) -> int:
    """A process that is killed in the middle of evaluating this policy; its process id."""
    arguments = [sys.executable, "-c", CHILD, str(folder), policy.org_id, policy.policy_id]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"evaluating\n"
        child.kill()
    return child.pid


def left_in(folder: Path) -> list[Path]:
    return list(folder.glob("evaluating-*"))


@pytest.fixture
async def policy(api_database: Database, organization: Any) -> RulePolicy:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    async with begin_change(api_database, by) as change:
        return (await seed_default_policies(change))[0]


async def quarantine_of(database: Database, policy: RulePolicy) -> str | None:
    async with database.transaction(policy.org_id) as connection:
        stored = {one.policy_id: one for one in await load_enabled(connection, policy.org_id)}
    decision = PolicySet(list(stored.values()), policy_data(None)).decide(
        b'{"tool":"shell","operation":"get_time"}', tool="shell", operation="get_time", host=None, method=None
    )
    assert (decision.verdict is Verdict.DENY) == (stored[policy.policy_id].quarantine is not None)
    return stored[policy.policy_id].quarantine


async def test_a_fault_quarantines_at_once(proxy_database: Database, policy: RulePolicy, tmp_path: Path) -> None:
    note_death(tmp_path, die_evaluating(tmp_path, policy), signal.SIGSEGV)
    [blamed] = await quarantine_suspects(proxy_database, tmp_path)
    assert blamed.policy_id == policy.policy_id
    assert await quarantine_of(proxy_database, policy) == "it was running when a process died of SIGSEGV"
    assert left_in(tmp_path) == []


async def test_the_record_says_which_policy_and_why(
    proxy_database: Database, superuser: Any, policy: RulePolicy, tmp_path: Path
) -> None:
    note_death(tmp_path, die_evaluating(tmp_path, policy), signal.SIGSEGV)
    await quarantine_suspects(proxy_database, tmp_path)
    [(written,)] = superuser.execute(
        "SELECT payload FROM journal WHERE org_id = %s AND event_type = 'policy.quarantined'", [policy.org_id]
    ).fetchall()
    told = parse_strict(written.encode())
    assert canonical_bytes(told).decode() == written
    assert isinstance(told, dict)
    assert told["data"] == {
        "name": policy.name,
        "policy_id": policy.policy_id,
        "reason": "it was running when a process died of SIGSEGV",
        "version": policy.version,
    }


async def test_a_kill_from_outside_only_does_the_second_time(
    proxy_database: Database, policy: RulePolicy, tmp_path: Path
) -> None:
    die_evaluating(tmp_path, policy)
    assert await quarantine_suspects(proxy_database, tmp_path) == []
    assert await quarantine_of(proxy_database, policy) is None
    die_evaluating(tmp_path, policy)
    assert len(await quarantine_suspects(proxy_database, tmp_path)) == 1
    assert await quarantine_of(proxy_database, policy) is not None


async def test_processes_that_start_at_once_deal_with_each_death_once(
    proxy_database: Database, policy: RulePolicy, tmp_path: Path
) -> None:
    for _ in range(3):
        note_death(tmp_path, die_evaluating(tmp_path, policy), signal.SIGABRT)
    blamed = await asyncio.gather(*(quarantine_suspects(proxy_database, tmp_path) for _ in range(3)))
    assert sum(map(len, blamed)) == 3
    assert left_in(tmp_path) == []


async def test_a_marker_that_another_process_has_removed_meanwhile(
    proxy_database: Database, policy: RulePolicy, tmp_path: Path
) -> None:
    (tmp_path / "evaluating-1").symlink_to(tmp_path / "gone")  # listed, and not there to be opened
    note_death(tmp_path, die_evaluating(tmp_path, policy), signal.SIGABRT)
    assert len(await quarantine_suspects(proxy_database, tmp_path)) == 1


async def test_the_living_are_left_alone(proxy_database: Database, policy: RulePolicy, tmp_path: Path) -> None:
    marker = Marker(tmp_path)
    marker.begin(b"x".ljust(232, b"\0"))
    assert await quarantine_suspects(proxy_database, tmp_path) == []
    assert len(left_in(tmp_path)) == 1
    marker.close()


async def test_without_the_database_the_suspect_is_kept(policy: RulePolicy, tmp_path: Path) -> None:
    note_death(tmp_path, die_evaluating(tmp_path, policy), signal.SIGABRT)
    unreachable = Database(Secret("host=/nowhere dbname=x"), timeout_seconds=0.2)
    await unreachable.open()
    try:
        with pytest.raises(UnavailableError):
            await quarantine_suspects(unreachable, tmp_path)
    finally:
        await unreachable.close()
    assert len(left_in(tmp_path)) == 1
