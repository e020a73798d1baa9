"""Bodies that become much larger when they are read cost the gate what they are on the wire while their calls wait."""

import asyncio
import gc
import gzip
import json
import resource
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from addons.limits import RequestLimits
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_key
from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Voter
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.gate.candidate import Candidate
from headgate.gate.held_limits import HELD_OF_APPROVAL_MAX
from headgate.gate.record_batch import GateRecorder
from headgate.kernel.allocator import give_back
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.model import NlpDraft, NlpPolicyType, OnMatch
from headgate.nlp_policies.service import create_nlp_policy
from headgate.organizations.change import begin_change
from headgate.organizations.service import put_allowlist
from headgate.policies.service import CheckedPolicy, PolicyDraft, create_policy
from tests.entry_codes import CODES
from tests.integration.proxy.enforcement import Enforcement, open_enforcement
from tests.unit.traffic.samples import vault_in

_REGO = """package t

allow if not startswith(input.http.path, "/held")

require_approval if startswith(input.http.path, "/held")

approval := {"hold_seconds": 100} if input.http.path == "/held"

approval := {"hold_seconds": 3} if input.http.path == "/held_briefly"
"""
_CALLS = 12
_VALUES = 200_000


def _grown(number: int) -> bytes:
    """7 KB on the wire; 600 KB decoded; some 13 MB of objects."""
    noise = b",".join(b"%d" % (one * one) for one in range(number, number + 1_500))
    return gzip.compress(b'{"n":[%d,%s],"x":[0%s]}' % (number, noise, b",[]" * _VALUES), 9, mtime=0)


@dataclass
class Gate:
    running: Any
    whole: Enforcement
    key: Secret

    async def post(self, path: str, body: bytes, *, coding: bool = True, wait_seconds: float = 120) -> bytes:
        credentials = b64encode(f"agent:{self.key.reveal()}".encode()).decode()
        host = f"127.0.0.1:{self.running.upstream.plain_port}"
        fields = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        fields += "Content-Encoding: gzip\r\n" if coding else ""
        head = f"POST http://{host}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}"
        received: bytes = await self.running.plain(
            f"{head}Proxy-Authorization: Basic {credentials}\r\n\r\n".encode() + body, wait_seconds=wait_seconds
        )
        return received


@pytest.fixture
async def gate(
    start, cluster, organization, api_database: Database, proxy_database: Database, tmp_path
) -> AsyncIterator[Gate]:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    async with begin_change(api_database, by) as change:
        loopback = {"destinations": [{"host": "127.0.0.0/8", "private": True}]}
        await put_allowlist(change, loopback)
        checked = CheckedPolicy(PolicyDraft(name="t", rego_policy=_REGO), b"{}", ())
        await create_policy(change, checked)
        issued = await create_key(
            change, kind=KeyKind.AGENT, scopes=KIND_SCOPES[KeyKind.AGENT], agent_id=organization.agent_id
        )
    async with AsyncExitStack() as stack:
        recorder = GateRecorder(Secret(cluster.dsn("headgate_proxy")), CODES)
        whole = await open_enforcement(
            stack, proxy_database, recorder, vault_in(tmp_path), tmp_path / "captures", tunnels=1000
        )
        running = await start(before=[whole.identify], decide=whole.point, limits=RequestLimits(buffered=96 << 20))
        whole.reader.room = running.gate.budget
        yield Gate(running, whole, issued.key)


async def _held(gate: Gate, count: int) -> None:
    async with asyncio.timeout(120):
        while gate.whole.wake_ups.held != count:
            await asyncio.sleep(0.02)


def _resident_bytes() -> int:
    gc.collect()
    give_back()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _large_candidates() -> int:
    gc.collect()
    return sum(isinstance(one, Candidate) and len(one.rego_input) > 100_000 for one in gc.get_objects())


async def test_nothing_that_was_read_of_a_large_call_is_kept_while_it_waits(
    gate: Gate, api_database: Database, organization, superuser, answer
) -> None:
    bodies = [_grown(number) for number in range(_CALLS)]
    budget = gate.running.gate.budget
    await gate.post("/held", _grown(-1), wait_seconds=0.01)  # what is loaded and warmed up once is not counted
    before = _resident_bytes()
    calls = [asyncio.ensure_future(gate.post("/held", body)) for body in bodies]
    await _held(gate, _CALLS)
    assert _large_candidates() == 0
    assert budget.used_bytes == sum(map(len, bodies)), "the bodies as they came, and nothing else"
    assert budget.peak_bytes > 10 << 20, "what was made of one while it was decided"
    assert _resident_bytes() - before < _CALLS * (13 << 20) // 3, "a third of what they would take"
    # What was approved is what is sent, though it was read again.
    approvals = superuser.execute(
        "SELECT approval_id FROM approvals WHERE org_id = %s AND status = 'pending'", [organization.org_id]
    ).fetchall()
    decide = DecideApproval(api_database, None, system_clock)
    for (approval_id,) in approvals:
        await decide.decide(organization.org_id, str(approval_id), Voter("usr_ann", None), VoteDecision.APPROVE, None)
        gate.whole.wake_ups.wake(str(approval_id))
    assert {answer(one).status for one in await asyncio.gather(*calls)} == {200}
    assert sorted(gate.running.upstream.bodies) == sorted(bodies)
    await gate.running.settled()
    assert budget.used_bytes == 0


async def test_a_call_that_is_read_at_once_is_kept(gate: Gate) -> None:
    call = asyncio.ensure_future(gate.post("/held", b'{"a":1}', coding=False))
    await _held(gate, 1)
    assert gate.running.gate.budget.used_bytes == 7
    call.cancel()


async def test_what_there_is_no_room_for_is_refused_and_nothing_stays_charged(gate: Gate, answer) -> None:
    gate.whole.reader.room.limit_bytes = 8 << 20
    refused = answer(await gate.post("/allowed", _grown(0)))
    assert refused.status == 503
    assert b"memory for bodies and messages" in refused.body
    assert answer(await gate.post("/allowed", b"{}", coding=False)).status == 200
    await gate.running.settled()
    assert gate.running.gate.budget.used_bytes == 0


async def test_beyond_its_ratio_a_body_stays_unread(gate: Gate, answer, superuser, organization, applied) -> None:
    """Ten kilobytes that become ten megabytes are no document."""
    bomb = gzip.compress(b'{"a":"%s"}' % (b"x" * 9_900_000), 9, mtime=0)
    assert answer(await gate.post("/allowed", bomb)).status == 200
    await applied()
    [(request,)] = superuser.execute(
        "SELECT request::json #> '{params,body}' FROM actions WHERE org_id = %s", [organization.org_id]
    ).fetchall()
    assert (request["unread"], request["size"]) == ("too_large", len(bomb))


@pytest.mark.timeout(120)
async def test_calls_that_wait_for_one_approval_are_few(gate: Gate, answer) -> None:
    more = 3
    calls = [
        asyncio.ensure_future(gate.post("/held", b'{"a":1}', coding=False)) for _ in range(HELD_OF_APPROVAL_MAX + more)
    ]
    done, _ = await asyncio.wait(calls, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    while len(done) < more:
        done, _ = await asyncio.wait(calls, timeout=1)
    assert {answer(one.result()).status for one in done} == {403}
    assert all(b"APPROVAL_PENDING" in one.result() for one in done)
    assert gate.whole.wake_ups.held == HELD_OF_APPROVAL_MAX
    for one in calls:
        one.cancel()


_MAIL = "maria.keller@example.com"
_TO_MASK = json.dumps({"to": _MAIL, "text": "nothing to see " * 14_000}).encode()
_MASKED = _TO_MASK.replace(_MAIL.encode(), b"[masked: email]")


@pytest.fixture
async def masking(gate: Gate, api_database: Database, organization) -> Gate:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    async with begin_change(api_database, by) as change:
        draft = NlpDraft("Mask addresses", NlpPolicyType.PII_DETECTION, model="pii", on_match=OnMatch.MASK)
        await create_nlp_policy(change, draft)
    return gate


async def _is_given_back(gate: Gate) -> None:
    await gate.running.settled()
    assert gate.running.gate.budget.used_bytes == 0


async def test_a_masked_copy_is_charged_beside_the_body(masking: Gate, answer) -> None:
    assert answer(await masking.post("/allowed", _TO_MASK, coding=False)).status == 200
    assert masking.running.upstream.bodies == [_MASKED]
    # The body, what was read of it, and what it takes to mask it.
    assert masking.running.gate.budget.peak_bytes > 6 * len(_TO_MASK)
    await _is_given_back(masking)


async def test_where_there_is_no_room_for_a_masked_copy_none_is_made(
    masking: Gate, answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object) -> None:
        raise AssertionError("made before there was room for it")

    monkeypatch.setattr("headgate.gate.masked_call.masked_in_time", made)
    masking.whole.reader.room.limit_bytes = 5 * len(_TO_MASK)
    refused = answer(await masking.post("/allowed", _TO_MASK, coding=False))
    assert (refused.status, b"memory for bodies and messages" in refused.body) == (503, True)
    assert masking.running.upstream.bodies == []
    await _is_given_back(masking)


@pytest.mark.parametrize("cause", [RuntimeError, MemoryError, asyncio.CancelledError])
@pytest.mark.parametrize(
    "where",
    ["headgate.gate.masked_call.masked_in_time", "addons.call_reading.with_body_of", "addons.enforce.replace_body"],
)
async def test_of_a_masked_copy_that_fails_nothing_stays_charged(
    masking: Gate, monkeypatch: pytest.MonkeyPatch, where: str, cause: type[BaseException]
) -> None:
    def fails(*_: object) -> None:
        raise cause

    monkeypatch.setattr(where, fails)
    await masking.post("/allowed", _TO_MASK, coding=False)
    assert masking.running.upstream.bodies == []
    await _is_given_back(masking)


@pytest.mark.parametrize("path", ["/held", "/held_briefly"])
async def test_of_a_masked_copy_nothing_stays_charged_while_its_call_waits(masking: Gate, path: str) -> None:
    """Until its client has gone, or the hold is over."""
    call = asyncio.ensure_future(masking.post(path, _TO_MASK, coding=False))
    await _held(masking, 1)
    assert masking.running.gate.budget.used_bytes == len(_TO_MASK)
    if path == "/held":
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    else:
        assert b"APPROVAL_PENDING" in await call
    await _held(masking, 0)
    await _is_given_back(masking)
