"""The policies of one organization are as slow as they may be; another organization does not wait for them."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_key
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.gate.record_batch import GateRecorder
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.service import put_allowlist
from headgate.policies.service import CheckedPolicy, PolicyDraft, create_policy
from tests.entry_codes import CODES
from tests.integration.proxy.enforcement import open_enforcement
from tests.unit.traffic.samples import vault_in

_FAST = "package t\nimport rego.v1\nallow := true"
_SLOW = f"""{_FAST.replace(":= true", "if not found")}
found if {{ some a in numbers.range(1, 100); some b in numbers.range(1, 100); a * b < 0 }}
"""
"""Some 7 ms, and then it allows."""
_ATTACKERS = 24
_GETS = 20


@dataclass
class Caller:
    running: Any
    key: Secret
    answered: int = 0

    async def get(self) -> bytes:
        credentials = b64encode(f"agent:{self.key.reveal()}".encode()).decode()
        host = f"127.0.0.1:{self.running.upstream.plain_port}"
        head = f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        received: bytes = await self.running.plain(
            f"{head}Proxy-Authorization: Basic {credentials}\r\n\r\n".encode(), wait_seconds=30
        )
        self.answered += 1
        return received

    async def keep_getting(self) -> None:
        while True:
            await self.get()


async def _key(database: Database, organization: Any, *regos: str) -> Secret:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    loopback = {"destinations": [{"host": "127.0.0.0/8", "private": True}]}
    async with begin_change(database, by) as change:
        await put_allowlist(change, loopback)
        for number, rego in enumerate(regos):
            checked = CheckedPolicy(PolicyDraft(name=f"policy {number}", rego_policy=rego), b"{}", ())
            await create_policy(change, checked)
        issued = await create_key(
            change, kind=KeyKind.AGENT, scopes=KIND_SCOPES[KeyKind.AGENT], agent_id=organization.agent_id
        )
    return issued.key


@pytest.fixture
async def running(start, cluster, proxy_database: Database, tmp_path) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:
        recorder = GateRecorder(Secret(cluster.dsn("headgate_proxy")), CODES)
        whole = await open_enforcement(
            stack, proxy_database, recorder, vault_in(tmp_path), tmp_path / "captures", tunnels=1000
        )
        yield await start(before=[whole.identify], decide=whole.point)


async def test_another_organization_does_not_wait(running, new_organization, api_database: Database, answer) -> None:
    victim = Caller(running, await _key(api_database, new_organization(), _FAST))
    attacker = Caller(running, await _key(api_database, new_organization(), _SLOW, _SLOW + "# second", _SLOW + "# 3"))
    assert answer(await victim.get()).status == 200
    await attacker.get()
    attack = [asyncio.ensure_future(attacker.keep_getting()) for _ in range(_ATTACKERS)]
    while attacker.answered < 5:
        await asyncio.sleep(0)
    before = attacker.answered
    try:
        statuses = [answer(await victim.get()).status for _ in range(_GETS)]
    finally:
        for one in attack:
            one.cancel()
        await asyncio.gather(*attack, return_exceptions=True)
    assert statuses == [200] * _GETS
    # In the loop's thread each of the victim's reads would wait for one of every attacker's: twenty times 24.
    assert attacker.answered - before < _GETS * _ATTACKERS / 4


async def test_policies_that_are_slow_together_deny_and_the_record_says_so(
    running, organization, api_database: Database, superuser, answer, applied
) -> None:
    slow = [_SLOW + f"# {number}" for number in range(12)]
    caller = Caller(running, await _key(api_database, organization, *slow))
    reasons: list[str] = []
    for _ in range(5):  # where the machine is slow for a moment, one policy exceeds its own limit first
        assert answer(await caller.get()).status == 403
        await applied()
        [*_, (reason,)] = superuser.execute(
            "SELECT decision::json ->> 'reason' FROM actions WHERE org_id = %s ORDER BY action_id",
            [organization.org_id],
        ).fetchall()
        reasons.append(reason)
        if "exceeded its time limit" not in reason:
            break
    assert "took longer than 50 ms together, and so deny (slowest: " in reasons[-1], reasons
