"""Between the record and the permission: whatever is raised there, nothing goes upstream, and what is on record as
begun ends there as failed."""

import asyncio
import gzip
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from addons import call_reading, enforce
from headgate.actions.instance import Instance
from headgate.actions.recorded_entry import ActionRow
from headgate.actions.recording_store import RecordingOutcome
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import create_key
from headgate.approvals.decide import DecideApproval
from headgate.approvals.gate_store import UseRow
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Voter
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM
from headgate.db.database import Database
from headgate.gate import admit_call
from headgate.gate.record_batch import GateRecorder
from headgate.grants.granting import Bounds, Calls, grant_calls
from headgate.grants.model import Scope
from headgate.journal.apply import require_applied
from headgate.kernel.clock import system_clock
from headgate.kernel.secrets import Secret
from headgate.organizations.change import begin_change
from headgate.organizations.service import put_allowlist
from headgate.policies.service import CheckedPolicy, PolicyDraft, create_policy
from headgate.provenance.memory import ValueMemory
from tests.entry_codes import CODES
from tests.integration.proxy.enforcement import open_enforcement
from tests.unit.traffic.samples import vault_in

_REGO = """package t

allow if input.http.method == "GET"

require_approval contains "a reviewer decides" if input.http.method == "POST"

approval := {"hold_seconds": 0}
"""


_TUNNELS = 5


class RustPanic(BaseException):
    """As PyO3's PanicException: of no module that can be imported, and no Exception."""


CAUSES: list[Callable[[], BaseException]] = [
    lambda: ValueError("boom"),
    asyncio.CancelledError,
    RustPanic,
    MemoryError,
    GeneratorExit,
]
_each_cause = pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: type(cause()).__name__)


class CancelsAtTheCommit(GateRecorder):
    """Cancels whoever waits for a record in the moment in which it is durable."""

    armed = False

    def submit_action(self, row: ActionRow) -> asyncio.Future[RecordingOutcome]:
        written = super().submit_action(row)
        waiting = asyncio.current_task()
        if self.armed and waiting is not None:
            written.add_done_callback(lambda _: waiting.cancel())
        return written


@dataclass
class Decided:
    """A gate with the real decision point behind it, and one agent who may read, and write where it is approved."""

    running: Any
    recorder: CancelsAtTheCommit
    instance: Instance
    org_id: str
    key: Secret
    superuser: psycopg.Connection[tuple[object, ...]]
    database: Database

    async def ask(self, method: str = "GET", path: str = "/", *, headers: str = "", body: bytes = b"x") -> bytes:
        credentials = b64encode(f"agent:{self.key.reveal()}".encode()).decode()
        host = f"127.0.0.1:{self.running.upstream.plain_port}"
        head = f"{method} http://{host}{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        sent = b"\r\n"
        if method == "POST":
            sent = f"{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body
        request = f"{head}Proxy-Authorization: Basic {credentials}\r\n".encode()
        received: bytes = await self.running.plain(request + sent, wait_seconds=20)
        return received

    async def ended(self) -> list[tuple[object, ...]]:
        """Executions and how they ended, once all have."""
        async with asyncio.timeout(10):
            while True:
                await require_applied(self.database, self.org_id)
                found = self.superuser.execute(
                    "SELECT status = 'succeeded', error, status FROM executions WHERE org_id = %s", [self.org_id]
                ).fetchall()
                if all(status != "running" for _, _, status in found):
                    return [(succeeded, error) for succeeded, error, _ in found]
                await asyncio.sleep(0.02)

    async def approve(self, database: Database) -> str:
        """The one pending approval of this organization, approved."""
        [(approval_id,)] = self.superuser.execute(
            "SELECT approval_id FROM approvals WHERE org_id = %s AND status = 'pending'", [self.org_id]
        ).fetchall()
        decide = DecideApproval(database, None, system_clock)
        await decide.decide(self.org_id, str(approval_id), Voter("usr_ann", None), VoteDecision.APPROVE, None)
        return str(approval_id)


@pytest.fixture
async def key(api_database: Database, organization: Any) -> Secret:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    loopback = {"destinations": [{"host": "127.0.0.0/8", "private": True}]}
    async with begin_change(api_database, by) as change:
        await put_allowlist(change, loopback)
        checked = CheckedPolicy(PolicyDraft(name="t", rego_policy=_REGO), b"{}", ())
        await create_policy(change, checked)
        issued = await create_key(
            change,
            kind=KeyKind.AGENT,
            scopes=KIND_SCOPES[KeyKind.AGENT],
            agent_id=organization.agent_id,
        )
    return issued.key


@pytest.fixture
async def decided(
    start, cluster, organization, superuser, proxy_database: Database, worker_database: Database, key, tmp_path
) -> AsyncIterator[Decided]:
    recorder = CancelsAtTheCommit(Secret(cluster.dsn("headgate_proxy")), CODES)
    async with AsyncExitStack() as stack:
        whole = await open_enforcement(
            stack, proxy_database, recorder, vault_in(tmp_path), tmp_path / "captures", tunnels=_TUNNELS
        )
        running = await start(before=[whole.identify], decide=whole.point)
        yield Decided(running, recorder, whole.instance, organization.org_id, key, superuser, worker_database)


def _in_flight(decided: Decided) -> object:
    return decided.instance._in_flight  # what its heartbeat tells the worker


async def _none_in_flight(decided: Decided) -> None:
    """The answer may be there a moment before the end is told."""
    async with asyncio.timeout(30):
        while _in_flight(decided):
            await asyncio.sleep(0.01)


async def test_a_read_goes_through(decided: Decided, answer) -> None:
    assert answer(await decided.ask()).status == 200
    assert await decided.ended() == [(True, None)]


async def test_what_the_destination_says_its_answer_is_cannot_keep_the_outcome_from_the_record(
    decided: Decided, answer
) -> None:
    """Bytes of a header that are no UTF-8 are no JSON either; the call would have been under way for ever."""
    assert answer(await decided.ask(path="/odd-type")).status == 200
    assert await decided.ended() == [(True, None)]
    await _none_in_flight(decided)


async def test_an_answer_that_is_none_is_not_quoted_whole_in_the_record(decided: Decided, answer) -> None:
    """Too large to be written in time it would have been told again for ever, and every other outcome with it."""
    await decided.ask(path="/no-head/1")
    [(succeeded, error)] = await decided.ended()
    assert not succeeded
    assert len(str(error)) < 500


@_each_cause
async def test_raised_between_the_record_and_the_permission(decided: Decided, answer, monkeypatch, cause) -> None:
    raised = []

    def explode(*_: object) -> None:
        raised.append(cause())
        raise raised[0]

    monkeypatch.setattr(enforce, "allow", explode)
    assert answer(await decided.ask()).status == 503
    assert len(raised) == 1
    [(succeeded, error)] = await decided.ended()
    assert not succeeded
    assert str(error).startswith("not forwarded")
    assert decided.running.upstream.connections == 0
    await _none_in_flight(decided)


async def test_cancelled_in_the_moment_of_the_commit(decided: Decided, answer) -> None:
    """The record is durable, and whoever waited for it never learns: it must not count as under way for ever."""
    decided.recorder.armed = True
    assert answer(await decided.ask()).status == 503
    [(succeeded, error)] = await decided.ended()
    assert not succeeded
    assert str(error).startswith("not forwarded")
    assert decided.running.upstream.connections == 0
    await _none_in_flight(decided)


@_each_cause
async def test_the_use_of_an_approval_is_given_back(
    decided: Decided, api_database: Database, answer, monkeypatch, cause
) -> None:
    assert answer(await decided.ask("POST")).status == 403
    approval_id = await decided.approve(api_database)

    def explode(*_: object) -> None:
        raise cause()

    with monkeypatch.context() as patched:
        patched.setattr(enforce, "allow", explode)
        assert answer(await decided.ask("POST")).status == 503
    [(succeeded, _)] = await decided.ended()
    assert not succeeded
    assert decided.running.upstream.connections == 0
    assert answer(await decided.ask("POST")).status == 200
    assert decided.running.upstream.bodies == [b"x"]
    [(used,)] = decided.superuser.execute(
        "SELECT used_at IS NOT NULL FROM approvals WHERE approval_id = %s", [approval_id]
    ).fetchall()
    assert used


@_each_cause
async def test_raised_while_a_hold_is_recorded(decided: Decided, answer, monkeypatch, cause) -> None:
    """Whether the approval was opened is unknown to the call: nothing is sent, and a retry joins what is there."""
    held = decided.recorder.submit_hold

    async def explode(*given: Any) -> None:
        await held(*given)
        raise cause()

    with monkeypatch.context() as patched:
        patched.setattr(decided.recorder, "submit_hold", explode)
        assert answer(await decided.ask("POST")).status == 503
    assert answer(await decided.ask("POST")).status == 403
    assert decided.running.upstream.connections == 0
    approvals = decided.superuser.execute("SELECT status FROM approvals WHERE org_id = %s", [decided.org_id]).fetchall()
    assert approvals == [("pending",)]


@_each_cause
async def test_raised_while_an_approval_is_used(
    decided: Decided, api_database: Database, answer, monkeypatch, cause
) -> None:
    assert answer(await decided.ask("POST")).status == 403
    await decided.approve(api_database)
    used = decided.recorder.submit_use

    async def explode(row: UseRow) -> None:
        await used(row)
        raise cause()

    with monkeypatch.context() as patched:
        patched.setattr(decided.recorder, "submit_use", explode)
        assert answer(await decided.ask("POST")).status == 503
    assert decided.running.upstream.connections == 0
    await _none_in_flight(decided)
    assert answer(await decided.ask("POST")).status == 200
    assert len(decided.running.upstream.heads) == 1


async def _granted(decided: Decided, api_database: Database) -> None:
    """One use, for whatever is posted."""
    decided.superuser.execute(
        "INSERT INTO users (org_id, user_id, issuer, subject, roles) VALUES (%s, 'usr_ann', 'i', 'ann', '{approver}')"
        " ON CONFLICT DO NOTHING",
        [decided.org_id],
    )
    [(agent_id,)] = decided.superuser.execute(
        "SELECT agent_id FROM api_keys WHERE org_id = %s", [decided.org_id]
    ).fetchall()
    by = Change(decided.org_id, SYSTEM, "usr_ann", datetime.now(UTC))
    async with begin_change(api_database, by) as change:
        await grant_calls(
            change,
            Voter("usr_ann", None),
            Bounds(change.at + timedelta(minutes=5), 1, None, "a test asks for it"),
            Calls("http", "post", Scope()),
            agent_id=str(agent_id),
            policy_ids=None,
            max_seconds=600,
        )


def _uses(decided: Decided) -> object:
    [(uses,)] = decided.superuser.execute("SELECT uses FROM grants WHERE org_id = %s", [decided.org_id]).fetchall()
    return uses


@_each_cause
async def test_raised_while_a_grant_is_used(
    decided: Decided, api_database: Database, answer, monkeypatch, cause
) -> None:
    """Whether the claim was committed is unknown to whoever made it: nothing is sent, and no count is lost."""
    await _granted(decided, api_database)
    used = admit_call.use_exemption

    async def explode(*given: Any) -> None:
        await used(*given)
        raise cause()

    with monkeypatch.context() as patched:
        patched.setattr(admit_call, "use_exemption", explode)
        assert answer(await decided.ask("POST")).status == 503
    assert decided.running.upstream.connections == 0
    await _none_in_flight(decided)
    assert _uses(decided) == 0
    assert answer(await decided.ask("POST")).status == 200
    assert (_uses(decided), len(decided.running.upstream.heads)) == (1, 1)
    assert answer(await decided.ask("POST")).status == 403


@_each_cause
async def test_the_use_of_a_grant_is_given_back(
    decided: Decided, api_database: Database, answer, monkeypatch, cause
) -> None:
    """It was committed, and nothing was sent after it."""
    await _granted(decided, api_database)

    def explode(*_: object) -> None:
        raise cause()

    with monkeypatch.context() as patched:
        patched.setattr(enforce, "allow", explode)
        assert answer(await decided.ask("POST")).status == 503
    await decided.ended()
    assert (_uses(decided), decided.running.upstream.connections) == (0, 0)
    assert answer(await decided.ask("POST")).status == 200
    assert _uses(decided) == 1


async def test_a_claim_that_the_database_does_not_take_refuses(
    decided: Decided, api_database: Database, answer, superuser
) -> None:
    await _granted(decided, api_database)
    superuser.execute("ALTER FUNCTION use_exemption RENAME TO use_exemption_elsewhere")
    try:
        assert answer(await decided.ask("POST")).status == 503
    finally:
        superuser.execute("ALTER FUNCTION use_exemption_elsewhere RENAME TO use_exemption")
    assert (_uses(decided), decided.running.upstream.connections) == (0, 0)


async def test_tunnels_are_counted(decided: Decided, answer) -> None:
    credentials = b64encode(f"agent:{decided.key.reveal()}".encode())
    target = b"127.0.0.1:%d" % decided.running.upstream.port
    connect = b"CONNECT %b HTTP/1.1\r\nHost: %b\r\nProxy-Authorization: Basic %b\r\n\r\n"
    heads = [await decided.running.plain(connect % (target, target, credentials), wait_seconds=1) for _ in range(7)]
    assert [head.split()[1] for head in heads] == [b"200"] * _TUNNELS + [b"429"] * 2
    refused = answer(heads[-1])
    assert (refused.reason, int(refused.headers["retry-after"]) > 0) == ("Rate limited", True)
    # Requests have a count of their own.
    assert answer(await decided.ask()).status == 200


@pytest.mark.parametrize(
    ("headers", "body", "elsewhere"),
    [
        ("", b'{"a": 1}', False),
        ("", b'{"a": "%b"}' % (b"a" * 300_000), True),
        ("", b"[0%b]" % (b",[]" * 3_000), True),
        ("Content-Encoding: gzip\r\n", gzip.compress(b'{"a": "%b"}' % (b"a" * 3_000_000), mtime=0), True),
    ],
    ids=["small", "large", "values", "compressed"],
)
async def test_a_large_body_is_read_beside_the_loop(
    decided: Decided, answer, monkeypatch, headers: str, body: bytes, elsewhere: bool
) -> None:
    """Reading ten megabytes of JSON takes longer than all other calls of that moment together."""
    threads = []

    def in_thread(function: Callable[..., object]) -> Callable[..., object]:
        def noting(*given: object) -> object:
            threads.append(threading.get_ident())
            return function(*given)

        return noting

    monkeypatch.setattr(call_reading, "interpret", in_thread(call_reading.interpret))
    monkeypatch.setattr(call_reading, "candidate_for", in_thread(call_reading.candidate_for))
    headers += "Content-Type: application/json\r\n"
    assert answer(await decided.ask("POST", headers=headers, body=body)).status == 403
    assert [thread != threading.get_ident() for thread in threads] == [elsewhere] * 2


_ASKS_FOR_ORIGINS = 'package origins\n\ndeny contains "never" if input.provenance["params.never"]\n'


@pytest.fixture
async def with_provenance(api_database: Database, organization: Any, key: Secret) -> None:
    by = Change(organization.org_id, SYSTEM, None, datetime.now(UTC))
    async with begin_change(api_database, by) as change:
        await create_policy(change, CheckedPolicy(PolicyDraft(name="o", rego_policy=_ASKS_FOR_ORIGINS), b"{}", ()))


@_each_cause
@pytest.mark.parametrize("method", ["origins", "called"])
async def test_raised_by_the_memory_of_values(
    with_provenance: None, decided: Decided, answer, monkeypatch, method: str, cause
) -> None:
    """Before the decision nothing is on record; behind it what is begun ends as not forwarded."""

    def explode(*_: object) -> None:
        raise cause()

    with monkeypatch.context() as patched:
        patched.setattr(ValueMemory, method, explode)
        assert answer(await decided.ask()).status == 503
    assert decided.running.upstream.connections == 0
    ended = await decided.ended()
    assert [succeeded for succeeded, _ in ended] == ([] if method == "origins" else [False])
    await _none_in_flight(decided)
    assert answer(await decided.ask()).status == 200


async def test_an_answer_that_cannot_be_remembered_goes_on(
    with_provenance: None, decided: Decided, answer, monkeypatch
) -> None:
    asked = []

    def explode(*_: object) -> None:
        asked.append(True)
        raise ValueError("boom")

    monkeypatch.setattr(ValueMemory, "called", lambda *_: None)
    monkeypatch.setattr(ValueMemory, "show", explode)
    received = answer(await decided.ask())
    assert (received.status, received.complete) == (200, True)
    assert asked
    assert await decided.ended() == [(True, None)]
