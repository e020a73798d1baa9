"""What the owner of the database does to events that transactions write beside their rows is found."""

import asyncio
import hashlib
import shutil
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from headgate.actions.recorded_entry import OutcomeRow
from headgate.actions.recording_store import RecordingOutcome, events_of_action, record_action
from headgate.approvals.gate_store import HoldRow, UseRow, hold_action, hold_terms, record_retry
from headgate.audit.change import Change
from headgate.audit.model import SYSTEM, Event, EventType, payload_text
from headgate.audit.store import append, record_refusals
from headgate.audit.written_events import WrittenEvents
from headgate.db.database import Database
from headgate.executions.control_store import report_outcome
from headgate.gate.attest_entries import AttestEntries
from headgate.gate.record_batch import GateRecorder
from headgate.grants.exemption_store import Exemption, use_exemption
from headgate.journal.apply import require_applied
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.mcp_tools.model import Definition
from headgate.mcp_tools.store import note_tools
from headgate.organizations.change import begin_change
from headgate.policies.marker import Marker, mark_of
from headgate.policies.quarantine import quarantine_suspects
from headgate.policies.service import seed_default_policies
from headgate.policies.shadow_store import ShadowEvent, record_shadow
from headgate.reconciliation.reconcile import reconcile
from tests.entry_codes import CODES
from tests.integration.conftest import Cluster, Organization
from tests.integration.journal.test_apply import Superuser, _action, _count
from tests.integration.policies.test_quarantine import left_in

type Row = tuple[object, ...]

_PAYLOAD = payload_text(SYSTEM, {})


@pytest.fixture
async def recorder(cluster: Cluster) -> AsyncIterator[GateRecorder]:
    made = GateRecorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
def proxy_attests(proxy_database: Database, recorder: GateRecorder) -> AttestEntries:
    """Of a process that holds calls."""
    return AttestEntries(proxy_database, recorder.lanes, CODES, recorder.written)


@pytest.fixture
def api_attests(api_database: Database) -> AttestEntries:
    """Of a process whose transactions append events."""
    return AttestEntries(api_database, (), CODES)


def _hold_row(organization: Organization, *, superseding: str | None = None) -> HoldRow:
    now = datetime.now(UTC)
    decision = canonical_bytes({"decision": "require_approval", "risk_level": "high"}).decode()
    return HoldRow(
        organization.org_id, 1, new_id(IdPrefix.ACTION), organization.agent_id, None, "proxy", "mail", "send",
        bytes(31) + b"\1", '{"params":{}}', decision, "high", None, now, None, None,
        _PAYLOAD, _PAYLOAD, _PAYLOAD, new_id(IdPrefix.APPROVAL), '[]', 1, "a person must look", "pol_1",
        now + timedelta(hours=1), superseding, None if superseding is None else _PAYLOAD,
    )  # fmt: skip


async def _hold(recorder: GateRecorder, row: HoldRow) -> None:
    assert await recorder.submit_hold(row, hold_terms(None, None, None)) is RecordingOutcome.RECORDED


def _missed(superuser: Superuser, org_id: str) -> list[Row]:
    """Each event that the record says it misses, and its action."""
    return superuser.execute(
        "SELECT one ->> 'event_type', one ->> 'action_id' FROM audit_events e,"
        " jsonb_array_elements(e.payload::jsonb #> '{data,events}') AS one"
        " WHERE e.org_id = %s AND e.event_type = 'journal_entry.missed' ORDER BY e.seq, one ->> 'event_type'",
        [org_id],
    ).fetchall()


def _all_missed(superuser: Superuser, org_id: str) -> int:
    return len(
        superuser.execute(
            "SELECT FROM audit_events WHERE org_id = %s AND event_type = 'journal_entry.missed'", [org_id]
        ).fetchall()
    )


async def _differences(database: Database, org_id: str) -> list[tuple[str, str, str | None, str | None]]:
    async with database.transaction(org_id) as connection:
        found = await reconcile(connection, org_id)
    return [(one.table, one.row_id, one.column, one.found) for one in found.differences]


async def _attested(attests: AttestEntries, database: Database, org_id: str) -> None:
    """What was written, and that it was attested."""
    for _ in range(2):
        await attests.attest()
        await require_applied(database, org_id)


async def test_a_held_call_that_is_deleted_with_its_rows_is_missed(
    recorder: GateRecorder,
    proxy_attests: AttestEntries,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    """Nothing else says that there was one: the rows and the events agree."""
    org_id = organization.org_id
    kept, lost = _hold_row(organization), _hold_row(organization)._replace(digest=bytes(32))
    await _hold(recorder, kept)
    await _hold(recorder, lost)
    for table in ("journal", "approvals", "actions"):
        rows = sql.SQL("DELETE FROM {} WHERE org_id = %s AND action_id = %s").format(sql.Identifier(table))
        gone = superuser.execute(rows, [org_id, lost.action_id])
        assert gone.rowcount > 0
    await require_applied(api_database, org_id)
    await _attested(proxy_attests, api_database, org_id)
    types = ("action.submitted", "approval.requested", "decision.made")
    assert _missed(superuser, org_id) == [(one, lost.action_id) for one in types]
    found = await _differences(api_database, org_id)
    assert {("audit_events", lost.action_id, one, None) for one in types} <= set(found)
    assert superuser.execute("SELECT missing FROM journal_lag()").fetchall() == [(3,)]
    # It is said once.
    await _attested(proxy_attests, api_database, org_id)
    assert len(_missed(superuser, org_id)) == 3


@pytest.mark.parametrize("applied_first", [True, False])
async def test_a_use_of_an_approval_that_is_deleted_is_missed(
    recorder: GateRecorder,
    proxy_attests: AttestEntries,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    applied_first: bool,
) -> None:
    org_id, row = organization.org_id, _hold_row(organization)
    await _hold(recorder, row)
    superuser.execute(
        "UPDATE approvals SET status = 'approved', decided_at = now() WHERE org_id = %s AND approval_id = %s",
        [org_id, row.approval_id],
    )
    if applied_first:
        await require_applied(api_database, org_id)
    use = UseRow(
        org_id, 1, row.approval_id, row.agent_id, row.digest, new_id(IdPrefix.EXECUTION), "ins_1", datetime.now(UTC),
        _PAYLOAD, _PAYLOAD,
    )  # fmt: skip
    assert await recorder.submit_use(use, action_id=row.action_id) is RecordingOutcome.RECORDED
    superuser.execute("DELETE FROM executions WHERE org_id = %s", [org_id])
    superuser.execute("UPDATE approvals SET used_at = NULL, used_by = NULL WHERE org_id = %s", [org_id])
    superuser.execute("DELETE FROM journal WHERE org_id = %s AND created_at >= %s", [org_id, use.at])
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == [("decision.made", row.action_id), ("execution.started", row.action_id)]


async def test_a_repeat_that_is_deleted_is_missed(
    recorder: GateRecorder,
    proxy_attests: AttestEntries,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    org_id, row = organization.org_id, _hold_row(organization)
    await _hold(recorder, row)
    async with proxy_database.transaction(org_id) as connection:
        await record_retry(
            connection, org_id, row.approval_id, row.agent_id, datetime.now(UTC), _PAYLOAD, None,
            action_id=row.action_id,
        )  # fmt: skip
    superuser.execute("DELETE FROM journal WHERE org_id = %s AND event_type = 'action.retried'", [org_id])
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == [("action.retried", row.action_id)]


_DELETE = "DELETE FROM journal WHERE org_id = %s AND event_type = '{}'"
_OF_A_USE = ("action.submitted", "decision.made", "grant.used", "grant.exhausted", "execution.started")


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        *((_DELETE.format(one), [one]) for one in _OF_A_USE),
        # The server makes the payload; the process attests what it was told.
        (
            "UPDATE journal SET payload = replace(payload, '\"uses\":1', '\"uses\":2') WHERE org_id = %s",
            ["grant.exhausted", "grant.used"],
        ),
        ("SELECT %s", []),
    ],
)
async def test_a_use_of_a_grant_that_is_deleted_or_changed_is_missed(
    proxy_attests: AttestEntries,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    change: str,
    lost: list[str],
) -> None:
    org_id, row = organization.org_id, _action(organization, new_id(IdPrefix.EXECUTION))
    grant_id = "grt_" + new_id(IdPrefix.ACTION).partition("_")[2]
    superuser.execute(
        "INSERT INTO grants (org_id, grant_id, agent_id, tool, operation, scope, policy_ids, granters, max_uses,"
        " reason, created_at, expires_at) VALUES (%s, %s, %s, 'mail', 'send', '{}', '{}', '[]', 1, 'r', now(),"
        " now() + interval '1 hour')",
        [org_id, grant_id, row.agent_id],
    )
    async with proxy_database.transaction(org_id) as connection:
        exemption = Exemption(grant_id, Decimal(0))
        assert await use_exemption(connection, exemption, row) is RecordingOutcome.RECORDED
    superuser.execute(change.encode(), [org_id])
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == [(one, row.action_id) for one in lost]


@pytest.mark.parametrize("is_lost", [True, False])
@pytest.mark.parametrize("in_batch", [True, False])
@pytest.mark.parametrize("ended", ["approval.superseded", "approval.expired"])
async def test_an_approval_that_ends_with_a_new_hold_and_is_deleted_is_missed(
    recorder: GateRecorder,
    proxy_attests: AttestEntries,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    ended: str,
    in_batch: bool,
    is_lost: bool,
) -> None:
    org_id, first = organization.org_id, _hold_row(organization)
    await _hold(recorder, first)
    later = _hold_row(organization, superseding=first.approval_id)
    if ended == "approval.expired":
        superuser.execute("UPDATE approvals SET expires_at = now() WHERE org_id = %s", [org_id])
        later = later._replace(superseded=None)
    if in_batch:
        await _hold(recorder, later)
    else:
        async with proxy_database.transaction(org_id) as connection:
            assert await hold_action(connection, later, most_open=None) is RecordingOutcome.RECORDED
    found = superuser.execute("SELECT FROM journal WHERE org_id = %s AND event_type = %s", [org_id, ended])
    assert found.rowcount == 1
    if is_lost:
        superuser.execute("DELETE FROM journal WHERE org_id = %s AND event_type = %s", [org_id, ended])
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == ([(ended, first.action_id)] if is_lost else [])


@pytest.mark.parametrize("is_lost", [True, False])
async def test_a_use_that_is_given_back_and_deleted_is_missed(
    recorder: GateRecorder,
    proxy_attests: AttestEntries,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    is_lost: bool,
) -> None:
    """Its execution ends at once, outside a lane; an outcome that is sent again appends nothing."""
    org_id, row = organization.org_id, _hold_row(organization)
    await _hold(recorder, row)
    superuser.execute("UPDATE approvals SET status = 'approved', decided_at = now() WHERE org_id = %s", [org_id])
    use = UseRow(
        org_id, 1, row.approval_id, row.agent_id, row.digest, new_id(IdPrefix.EXECUTION), "ins_1", datetime.now(UTC),
        _PAYLOAD, _PAYLOAD,
    )  # fmt: skip
    assert await recorder.submit_use(use, action_id=row.action_id) is RecordingOutcome.RECORDED
    failed = OutcomeRow(
        org_id, use.execution_id, row.action_id, row.agent_id, False, datetime.now(UTC), "nothing was sent", None,
        _PAYLOAD, row.approval_id,
    )  # fmt: skip
    for _ in range(2):
        await asyncio.gather(recorder.submit_outcome(failed), recorder.submit_outcome(failed))
    if is_lost:
        gone = superuser.execute("DELETE FROM journal WHERE org_id = %s AND event_type = 'execution.failed'", [org_id])
        assert gone.rowcount == 1
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == ([("execution.failed", row.action_id)] if is_lost else [])


@pytest.mark.parametrize("is_lost", [True, False])
async def test_a_quarantine_that_is_deleted_is_missed(
    proxy_attests: AttestEntries,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    tmp_path: Path,
    is_lost: bool,
) -> None:
    org_id = organization.org_id
    async with begin_change(api_database, Change(org_id, SYSTEM, None, datetime.now(UTC))) as change:
        policy = (await seed_default_policies(change))[0]
    marker = Marker(tmp_path / "alive")
    marker.begin(mark_of(org_id, policy.policy_id, policy.version))
    [alive] = left_in(tmp_path / "alive")
    for _ in range(2):  # the first death makes it a suspect
        await asyncio.to_thread(shutil.copy, alive, tmp_path / "evaluating-1")
        blamed = await quarantine_suspects(proxy_database, tmp_path)
    marker.close()
    assert len(blamed) == 1
    if is_lost:
        superuser.execute("DELETE FROM journal WHERE org_id = %s AND event_type = 'policy.quarantined'", [org_id])
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == ([("policy.quarantined", None)] if is_lost else [])


@pytest.mark.parametrize("is_lost", [True, False])
async def test_a_changed_tool_of_an_mcp_server_that_is_deleted_is_missed(
    proxy_attests: AttestEntries,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    is_lost: bool,
) -> None:
    org_id = organization.org_id
    for text in ('{"name":"a"}', '{"description":"another","name":"a"}'):
        async with proxy_database.transaction(org_id) as connection:
            definition = Definition("a", hashlib.sha256(text.encode()).digest(), text)
            await note_tools(
                connection, org_id, "mcp.example.com", [definition],
                agent_id=organization.agent_id, action_id="act_1", at=datetime.now(UTC),
            )  # fmt: skip
    if is_lost:
        superuser.execute("DELETE FROM journal WHERE org_id = %s AND event_type = 'mcp_tool.changed'", [org_id])
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == ([("mcp_tool.changed", "act_1")] if is_lost else [])


@pytest.mark.parametrize("lost", ["execution.started", "execution.completed", None])
async def test_an_outcome_that_an_agent_reports_of_an_action_is_missed(
    api_attests: AttestEntries,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    lost: str | None,
) -> None:
    """Whether the action had begun before, the server says."""
    org_id, row = organization.org_id, _action(organization)._replace(status="allowed", source="api")
    async with api_database.transaction(org_id) as connection:
        assert await record_action(connection, row) is RecordingOutcome.RECORDED
    async with api_database.transaction(org_id) as connection:
        reported = await report_outcome(
            connection, org_id, row.action_id, row.agent_id, new_id(IdPrefix.EXECUTION), datetime.now(UTC),
            succeeded=True, error=None, result=None, started=_PAYLOAD, payload=_PAYLOAD,
        )  # fmt: skip
    assert reported == "reported"
    superuser.execute("DELETE FROM journal WHERE org_id = %s AND event_type = %s", [org_id, lost])
    await _attested(api_attests, api_database, org_id)
    assert _missed(superuser, org_id) == ([] if lost is None else [(lost, row.action_id)])


def _setting(n: int = 0) -> Event:
    return Event(EventType.SETTING_CHANGED, datetime.now(UTC), SYSTEM, {"name": "retention", "n": n})


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM journal WHERE org_id = %s AND event_type = 'setting.changed'",
        "UPDATE journal SET payload = replace(payload, 'retention', 'detention') WHERE org_id = %s",
        "UPDATE journal SET created_at = created_at - interval '1 hour' WHERE org_id = %s",
        "UPDATE journal SET event_type = 'setting.tested' WHERE org_id = %s",
        "UPDATE journal SET agent_id = 'agt_1' WHERE org_id = %s",
    ],
)
async def test_a_change_of_an_administrator_that_is_deleted_or_changed_is_missed(
    api_attests: AttestEntries,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    change: str,
) -> None:
    org_id = organization.org_id
    async with api_database.transaction(org_id) as connection:
        await append(connection, org_id, [_setting()])
    assert superuser.execute(change.encode(), [org_id]).rowcount == 1
    await _attested(api_attests, api_database, org_id)
    assert _missed(superuser, org_id) == [("setting.changed", None)]
    [(table, _, column, found)] = await _differences(api_database, org_id)
    assert (table, column, found) == ("audit_events", "setting.changed", None)


async def test_what_was_written_and_applied_is_not_missed(
    recorder: GateRecorder,
    proxy_attests: AttestEntries,
    api_attests: AttestEntries,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    """Before or in the round of the attestation, alone, in batches, twice the same, and with an approval that ends."""
    org_id, first = organization.org_id, _hold_row(organization)
    await _hold(recorder, first)
    await require_applied(api_database, org_id)
    await _hold(recorder, _hold_row(organization, superseding=first.approval_id))
    others = [_hold_row(organization)._replace(digest=bytes([n]) * 32) for n in range(2, 12)]
    await asyncio.gather(*(_hold(recorder, row) for row in others))
    event = _setting()
    for _ in range(2):
        async with api_database.transaction(org_id) as connection:
            await append(connection, org_id, [event, event, _setting(1)])
        await api_attests.attest()
    async with api_database.transaction(org_id) as connection:
        row = _action(organization)._replace(status="allowed")
        assert await record_action(connection, row) is RecordingOutcome.RECORDED
    await _attested(proxy_attests, api_database, org_id)
    await _attested(api_attests, api_database, org_id)
    assert _all_missed(superuser, org_id) == 0
    assert (_count(superuser, "journal", org_id), _count(superuser, "journal_set_aside", org_id)) == (0, 0)
    assert _count(superuser, "journal_writers", org_id) == 2, "each process has attested something"


def _roll_back() -> None:
    raise psycopg.Rollback


async def test_what_was_rolled_back_is_not_attested(
    api_attests: AttestEntries, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    with pytest.raises(ZeroDivisionError):
        async with api_database.transaction(org_id) as connection:
            await append(connection, org_id, [_setting(1)])
            raise ZeroDivisionError
    async with api_database.transaction(org_id) as connection:
        with pytest.raises(ZeroDivisionError):
            async with connection.transaction():
                await append(connection, org_id, [_setting(2)])
                raise ZeroDivisionError
        async with connection.transaction():
            await append(connection, org_id, [_setting(3)])
            _roll_back()
        async with connection.transaction(force_rollback=True), connection.transaction():
            await append(connection, org_id, [_setting(4)])
        async with connection.transaction():
            await append(connection, org_id, [_setting(5)])
    await _attested(api_attests, api_database, org_id)
    assert _all_missed(superuser, org_id) == 0
    settings = "SELECT FROM audit_events WHERE org_id = %s AND event_type = 'setting.changed'"
    assert len(superuser.execute(settings, [org_id]).fetchall()) == 1


async def test_an_attestation_of_events_that_is_deleted_is_missed(
    api_attests: AttestEntries, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """It is an entry of a lane as calls are."""
    org_id = organization.org_id
    async with api_database.transaction(org_id) as connection:
        await append(connection, org_id, [_setting()])
    await api_attests.attest()
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    await _attested(api_attests, api_database, org_id)
    assert (_all_missed(superuser, org_id), _missed(superuser, org_id)) == (1, [])


async def test_the_owner_cannot_make_a_deleted_event_look_applied(
    api_attests: AttestEntries, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    async with api_database.transaction(org_id) as connection:
        await append(connection, org_id, [_setting()])
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    await api_attests.attest()
    superuser.execute(
        "INSERT INTO journal_applied (org_id, code)"
        " SELECT org_id, substring(entries FROM at FOR 16)"
        " FROM journal, generate_series(1, octet_length(entries) - 15) AS at"
        " WHERE org_id = %s ON CONFLICT DO NOTHING",
        [org_id],
    )
    await require_applied(api_database, org_id)
    assert _missed(superuser, org_id) == [("setting.changed", None)]


async def test_an_event_that_cannot_be_applied_is_set_aside_and_not_missed(
    api_attests: AttestEntries, api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    superuser.execute("ALTER TABLE audit_events ADD CONSTRAINT refused CHECK (payload NOT LIKE '%\"n\":77%') NOT VALID")
    try:
        async with api_database.transaction(org_id) as connection:
            await append(connection, org_id, [_setting(77), _setting(78)])
        await _attested(api_attests, api_database, org_id)
    finally:
        superuser.execute("ALTER TABLE audit_events DROP CONSTRAINT refused")
    assert (_count(superuser, "journal_set_aside", org_id), _all_missed(superuser, org_id)) == (1, 0)


async def test_events_of_a_process_that_cannot_attest_are_attested_later(
    api_attests: AttestEntries,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    """Whether the attestation was written is unknown: it is written again, which is harmless."""
    org_id = organization.org_id
    async with api_database.transaction(org_id) as connection:
        await append(connection, org_id, [_setting()])
    superuser.execute("REVOKE EXECUTE ON FUNCTION attest_entries FROM headgate_api")
    try:
        await api_attests.attest()
    finally:
        superuser.execute("GRANT EXECUTE ON FUNCTION attest_entries TO headgate_api")
    superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id])
    await _attested(api_attests, api_database, org_id)
    assert _missed(superuser, org_id) == [("setting.changed", None)]


@pytest.mark.parametrize("lost", ["request.refused", "decision.shadowed"])
async def test_what_a_process_wrote_across_organizations_is_missed(
    proxy_attests: AttestEntries,
    proxy_database: Database,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
    lost: str,
) -> None:
    org_id, agent_id, now = organization.org_id, organization.agent_id, datetime.now(UTC)
    async with proxy_database.across_organizations() as connection:
        await record_refusals(connection, [(org_id, agent_id, _PAYLOAD)], now)
        await record_shadow(connection, [], [ShadowEvent(org_id, "act_1", agent_id, now, _PAYLOAD)])
    async with proxy_database.across_organizations() as connection:
        await record_refusals(connection, [(org_id, one, _PAYLOAD) for one in ("agt_unknown", agent_id)], now)
        shadowed = [ShadowEvent(org_id, "act_1", one, now, _PAYLOAD) for one in ("agt_unknown", agent_id)]
        await record_shadow(connection, [], shadowed)
    superuser.execute("DELETE FROM journal WHERE org_id = %s AND event_type = %s", [org_id, lost])
    await _attested(proxy_attests, api_database, org_id)
    assert _missed(superuser, org_id) == [(lost, "act_1" if lost == "decision.shadowed" else None)] * 2


async def test_what_nobody_attests_is_not_missed(
    worker_database: Database,
    proxy_attests: AttestEntries,
    api_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    """SECURITY.md says so: events of a process that attests nothing any more, and those that the owner writes."""
    org_id = organization.org_id
    async with worker_database.transaction(org_id) as connection:
        await append(connection, org_id, [_setting()])
    assert superuser.execute("DELETE FROM journal WHERE org_id = %s", [org_id]).rowcount == 1
    superuser.execute(
        "INSERT INTO journal (org_id, event_type, created_at, payload) VALUES (%s, 'setting.changed', now(), %s)",
        [org_id, _PAYLOAD],
    )
    await _attested(proxy_attests, api_database, org_id)
    assert (_all_missed(superuser, org_id), _count(superuser, "journal_set_aside", org_id)) == (0, 0)


def test_events_that_are_too_old_are_not_attested(monkeypatch: pytest.MonkeyPatch) -> None:
    """The applier does not know any more whether it applied them."""
    written, now = WrittenEvents(), 1_000_000.0
    monkeypatch.setattr("headgate.audit.written_events.time", lambda: now)
    row = _action(Organization("org_1", "agt_1"))
    written.add("org_1", events_of_action(row))
    now += 11 * 3600
    written.add("org_1", events_of_action(row))
    assert sum(len(events) for _, events in written.due()) == 4
    now += 2 * 3600
    assert sum(len(events) for _, events in written.due()) == 2
    monkeypatch.setattr("headgate.audit.written_events._KEPT_MAX", 1)
    assert sum(len(events) for _, events in written.due()) == 1
