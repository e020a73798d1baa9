"""The applier against a real server: killed anywhere, twice at once, and with bytes that nobody can apply."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import sql

from headgate.actions.entry_lane import EntryLane, SignedEntry
from headgate.actions.recorded_entry import ActionRow, OutcomeRow, action_entry, outcome_entry
from headgate.actions.recording_store import RecordingOutcome
from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Database
from headgate.gate.record_batch import Recorder
from headgate.journal.apply import apply_before_reading, apply_due, apply_if_free, require_applied
from headgate.journal.store import read_journal
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, new_id
from headgate.kernel.secrets import Secret
from headgate.llm_usage.model import MODELS_MAX, OTHER_MODELS, Counts, ModelUse, day_of
from headgate.llm_usage.of_outcome import kept_usage
from headgate.llm_usage.prices import NO_PRICES
from headgate.llm_usage.store import add_usage, usage_of_agent, used_on
from headgate.protocols.llm_answer import Usage
from tests.entry_codes import CODES
from tests.integration.audit.verify_range import verify_range
from tests.integration.conftest import Cluster, Organization

type Superuser = psycopg.Connection[tuple[object, ...]]

_EMPTY = payload_text(SYSTEM, {})


def _action(organization: Organization, execution_id: str | None = None, **changes: object) -> ActionRow:
    started = None if execution_id is None else _EMPTY
    row = ActionRow(
        organization.org_id, 1, new_id(IdPrefix.ACTION), organization.agent_id, None, "proxy", "mail", "send",
        "denied" if execution_id is None else "executing", bytes(32), b'{"params":{}}', b'{"decision":"deny"}', "low",
        None, datetime.now(UTC), execution_id, None if execution_id is None else "ins_1", None, None, _EMPTY, _EMPTY,
        started,
    )  # fmt: skip
    return row._replace(**changes)  # type: ignore[arg-type]


def _outcome(row: ActionRow, *, succeeded: bool = True) -> OutcomeRow:
    assert row.execution_id is not None
    return OutcomeRow(
        row.org_id,
        row.execution_id,
        row.action_id,
        row.agent_id,
        succeeded,
        datetime.now(UTC),
        None,
        b"{}",
        _EMPTY,
        None,
    )


def _count(superuser: Superuser, table: str, org_id: str) -> object:
    query = sql.SQL("SELECT count(*) FROM {} WHERE org_id = %s").format(sql.Identifier(table))
    return superuser.execute(query, [org_id]).fetchall()[0][0]


def _append(superuser: Superuser, org_id: str, *entries: bytes) -> list[bytes]:
    signed = EntryLane(CODES).sign([(org_id, entry) for entry in entries])
    _append_signed(superuser, org_id, *signed)
    return signed


def _append_signed(superuser: Superuser, org_id: str, *signed: bytes) -> None:
    superuser.execute(
        "INSERT INTO journal (org_id, created_at, entries) VALUES (%s, now(), %s)", [org_id, b"".join(signed)]
    )


@pytest.fixture
async def recorder(cluster: Cluster) -> AsyncIterator[Recorder]:
    made = Recorder(Secret(cluster.dsn("headgate_proxy")), CODES)
    await made.open()
    yield made
    await made.close()


@pytest.mark.parametrize(
    "moment",
    [
        "BEFORE INSERT ON actions",
        "AFTER INSERT ON actions",
        "AFTER UPDATE ON executions",
        "AFTER INSERT ON executions",
        "AFTER INSERT ON audit_chain",
        "AFTER INSERT ON audit_events",
        "BEFORE DELETE ON journal",
        "AFTER DELETE ON journal",
    ],
)
async def test_an_applier_that_is_killed_leaves_the_journal_as_it_was(
    recorder: Recorder, api_database: Database, superuser: Superuser, organization: Organization, moment: str
) -> None:
    org_id = organization.org_id
    earlier = _action(organization, new_id(IdPrefix.EXECUTION))
    await recorder.submit_action(earlier)
    await require_applied(api_database, org_id)
    later = _action(organization, new_id(IdPrefix.EXECUTION))
    await recorder.submit_action(later)
    await recorder.submit_outcome(_outcome(earlier))
    await recorder.submit_outcome(_outcome(later, succeeded=False))
    before = _count(superuser, "journal", org_id)
    # Only this organization's: other tests use the same database.
    superuser.execute(
        "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
        " PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END $$"
    )
    superuser.execute(f"CREATE TRIGGER die {moment} EXECUTE FUNCTION die()".encode())
    try:
        with pytest.raises(UnavailableError):
            await require_applied(api_database, org_id)
    finally:
        superuser.execute("DROP FUNCTION die CASCADE")
    assert (_count(superuser, "journal", org_id), _count(superuser, "actions", org_id)) == (before, 1)
    await require_applied(api_database, org_id)
    assert superuser.execute(
        "SELECT status FROM executions WHERE org_id = %s ORDER BY execution_id", [org_id]
    ).fetchall() == [("succeeded",), ("failed",)]
    found = await verify_range(api_database, org_id)
    assert (found.fault, found.events_verified) == (None, 8)


async def test_two_appliers_write_each_action_once(
    recorder: Recorder,
    api_database: Database,
    worker_database: Database,
    superuser: Superuser,
    organization: Organization,
) -> None:
    org_id, finished = organization.org_id, asyncio.Event()

    async def call() -> None:
        row = _action(organization, new_id(IdPrefix.EXECUTION))
        assert await recorder.submit_action(row) is RecordingOutcome.RECORDED
        await recorder.submit_outcome(_outcome(row))
        await recorder.submit_outcome(_outcome(row, succeeded=False))  # a retry after a lost answer

    async def apply() -> None:
        while not finished.is_set():
            await apply_before_reading(api_database, org_id)
            await apply_if_free(worker_database, org_id)
            await apply_due(worker_database)

    appliers = [asyncio.create_task(apply()) for _ in range(3)]
    for _ in range(10):
        await asyncio.gather(*(call() for _ in range(20)))
    finished.set()
    await asyncio.gather(*appliers)
    await require_applied(api_database, org_id)
    assert superuser.execute(
        "SELECT status, count(*) FROM executions WHERE org_id = %s GROUP BY 1", [org_id]
    ).fetchall() == [("succeeded", 200)]
    assert (_count(superuser, "journal", org_id), _count(superuser, "journal_set_aside", org_id)) == (0, 0)
    found = await verify_range(api_database, org_id)
    assert (found.fault, found.events_verified) == (None, 800)


async def test_an_entry_that_cannot_be_applied_is_set_aside_and_no_other(
    api_database: Database, worker_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    rows = [_action(organization, new_id(IdPrefix.EXECUTION)) for _ in range(5)]
    # An identifier that a header cannot quote, a duplicate, and a status that the table refuses.
    bad = [_action(organization, action_id='act_"'), rows[0], _action(organization, status="lost")]
    _append(superuser, org_id, *map(action_entry, [*rows[:2], bad[0], rows[2], *bad[1:], *rows[3:]]))
    _append(superuser, org_id, *(outcome_entry(_outcome(row)) for row in rows))
    while await apply_due(worker_database):
        pass
    assert superuser.execute(
        "SELECT status, count(*) FROM executions WHERE org_id = %s GROUP BY 1", [org_id]
    ).fetchall() == [("succeeded", 5)]
    aside = superuser.execute(
        "SELECT position, entry, failure FROM journal_set_aside WHERE org_id = %s ORDER BY position", [org_id]
    ).fetchall()
    assert [position for position, _, _ in aside] == [2, 4, 5]
    for (_, entry, failure), row, why in zip(
        aside, bad, ("header", "actions_pkey", "actions_status_check"), strict=True
    ):
        assert isinstance(entry, bytes) and isinstance(failure, str)
        assert entry.endswith(action_entry(row)) and why in failure
    found = await verify_range(api_database, org_id)
    assert (found.fault, found.events_verified) == (None, 20)


@pytest.mark.parametrize("cut", [1, 4, 6, 100])
async def test_a_torn_row_is_set_aside_from_where_it_is_torn(
    api_database: Database, superuser: Superuser, organization: Organization, cut: int
) -> None:
    org_id = organization.org_id
    entries = [(org_id, action_entry(_action(organization))) for _ in range(2)]
    whole, last = EntryLane(CODES).sign(entries)
    torn = last[:-cut]
    _append_signed(superuser, org_id, whole, torn)
    _append(superuser, org_id, action_entry(_action(organization)))
    await require_applied(api_database, org_id)
    assert superuser.execute(
        "SELECT position, entry FROM journal_set_aside WHERE org_id = %s", [org_id]
    ).fetchall() == [(1, torn)]
    assert (_count(superuser, "actions", org_id), _count(superuser, "journal", org_id)) == (2, 0)
    assert (await verify_range(api_database, org_id)).fault is None


async def test_a_round_is_as_large_as_it_is_when_it_is_read(
    api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    """What repeats itself is short in the journal: 500 such rows would be gigabytes in the applier."""
    org_id = organization.org_id
    request = b'{"params":"' + b"a" * 1_500_000 + b'"}'
    for _ in range(4):
        _append(superuser, org_id, action_entry(_action(organization)._replace(request=request)))
    async with api_database.transaction(org_id) as connection:
        rows, is_more = await read_journal(connection, org_id, 500)
    assert (len(rows), is_more) == (2, True)
    assert sum(len(row.entries or b"") for row in rows) < 100_000
    await require_applied(api_database, org_id)
    assert (_count(superuser, "actions", org_id), _count(superuser, "journal", org_id)) == (4, 0)


async def test_an_entry_that_no_process_wrote_is_set_aside_unread(
    api_database: Database, superuser: Superuser, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short row could fill the applier's memory, again and again, and the organization's record would stand still."""
    org_id = organization.org_id
    [signed] = EntryLane(CODES).sign([("org_other", action_entry(_action(organization)))])
    _append_signed(superuser, org_id, signed)

    def refuse(self: SignedEntry) -> None:
        raise AssertionError("it was decompressed")

    monkeypatch.setattr(SignedEntry, "read", refuse)
    await require_applied(api_database, org_id)
    [(failure,)] = superuser.execute("SELECT failure FROM journal_set_aside WHERE org_id = %s", [org_id]).fetchall()
    assert "fits none of the master keys" in str(failure)


async def test_what_can_be_mended_is_not_set_aside(
    api_database: Database, superuser: Superuser, organization: Organization
) -> None:
    org_id = organization.org_id
    for _ in range(3):
        _append(superuser, org_id, action_entry(_action(organization)))
    superuser.execute("REVOKE INSERT ON actions FROM headgate_definer")
    try:
        with pytest.raises(UnavailableError):
            await require_applied(api_database, org_id)
    finally:
        superuser.execute("GRANT INSERT ON actions TO headgate_definer")
    assert (_count(superuser, "journal", org_id), _count(superuser, "journal_set_aside", org_id)) == (3, 0)
    await require_applied(api_database, org_id)
    assert _count(superuser, "actions", org_id) == 3


async def test_a_row_that_is_gone_refuses_the_round(
    cluster: Cluster, superuser: Superuser, organization: Organization
) -> None:
    """An applier cannot delete what it has not read, nor seal behind a chain that has grown."""
    with psycopg.connect(cluster.dsn("headgate_worker")) as connection:
        connection.execute("SELECT set_config('app.org_id', %s, true)", [organization.org_id])
        nothing = ", ".join(["'{}'"] * 31)
        for journal, seq in (("{1}", 1), ("{}", 5)):
            with pytest.raises(psycopg.errors.SerializationFailure), connection.transaction():
                connection.execute(
                    f"SELECT apply_journal(%s, %s, %s, now(), {nothing})".encode(), [organization.org_id, journal, seq]
                )


async def test_what_a_language_model_used_is_counted_once(
    recorder: Recorder,
    proxy_database: Database,
    api_database: Database,
    organization: Organization,
) -> None:
    org_id, agent_id, today = organization.org_id, organization.agent_id, day_of(datetime.now(UTC))
    rows = [_action(organization, new_id(IdPrefix.EXECUTION)) for _ in range(4)]
    kept = kept_usage("openai/m", Usage(100, 40, 5, 7), NO_PRICES, ["pay"])
    results = [
        canonical_bytes({"llm": kept, "status": 200}),
        canonical_bytes({"llm": {**kept, "model": "openai/n", "estimated": True}}),
        canonical_bytes({"content_type": '"llm":{"cost_usd":1', "llm": "none"}),
    ]
    for row in rows:
        await recorder.submit_action(row)
    # One ends in a round of its own, the others in another; one is told twice.
    await require_applied(api_database, org_id)
    for row, result in [*zip(rows, results, strict=False), (rows[0], results[0])]:
        await recorder.submit_outcome(_outcome(row)._replace(result=result))
        await require_applied(api_database, org_id)
    executions = [row.execution_id or "" for row in rows]
    async with proxy_database.transaction(org_id) as connection:
        used, applied = await used_on(connection, org_id, today, executions)
        yesterday = await used_on(connection, org_id, "2026-01-01", executions)
    assert sorted(applied) == sorted(executions[:3])
    assert sorted(used, key=str) == [
        (agent_id, "openai/m", Counts(1, 100, 40, 5, 7, 0)),
        (agent_id, "openai/n", Counts(1, 100, 40, 5, 7, 1)),
    ]
    assert yesterday[0] == []
    async with api_database.transaction(org_id) as connection:
        found = await usage_of_agent(connection, org_id, agent_id, datetime.now(UTC).date())
    assert {(one.day.isoformat(), one.model) for one in found} == {(today, "openai/m"), (today, "openai/n")}


async def test_models_that_an_agent_makes_up_are_counted_together(
    api_database: Database, proxy_database: Database, organization: Organization
) -> None:
    org_id = organization.org_id
    many = MODELS_MAX + 20
    uses = [ModelUse(f"e{n}", "agt_1", f"compatible/{n}", "2026-11-27", Usage(1, 0, 0, 1)) for n in range(many)]
    async with api_database.transaction(org_id) as connection:
        await add_usage(connection, org_id, uses[:30])
        await add_usage(connection, org_id, uses)
    async with proxy_database.transaction(org_id) as connection:
        used, _ = await used_on(connection, org_id, "2026-11-27", [])
    assert len(used) == MODELS_MAX + 1
    assert sum(counts.calls for _, _, counts in used) == many + 30
    assert [counts.calls for _, model, counts in used if model == OTHER_MODELS] == [20]
