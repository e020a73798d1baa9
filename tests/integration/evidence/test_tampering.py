"""What a superuser can do to the record, done on a real database: each is detected, and named.

``kept`` is what was exported before: the checkpoints and the public key, where the superuser has no say.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from msgspec import structs
from psycopg import sql

from headgate.audit import store
from headgate.audit.chain import genesis, header_text, parse_header, payload_digest
from headgate.audit.chain_verifier import FaultReason
from headgate.audit.model import SYSTEM, Event, EventFilter, EventType
from headgate.audit.store import list_events
from headgate.cli.audit_database import verify_database
from headgate.db.database import Database
from headgate.evidence.checkpoint import Checkpoint, parse_checkpoint
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.note import VerifierKey, parse_note
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.tree_store import list_checkpoints
from headgate.evidence.verify_record import RecordVerification
from headgate.evidence.verify_with_checkpoints import verify_against, verify_with_checkpoints
from headgate.journal.apply import apply_before_reading
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.secrets import Secret

type Superuser = psycopg.Connection[tuple[object, ...]]


@dataclass(frozen=True)
class Kept:
    """Checkpoints of 10, 20 and 30 events, by somebody else."""

    notes: list[str]
    keys: list[VerifierKey]


@pytest.fixture
async def kept(checkpointer: Checkpointer, record, organization, api_database: Database) -> Kept:
    for _ in range(3):
        await record(10)
        assert await checkpointer.checkpoint(organization.org_id)
    async with api_database.transaction(organization.org_id) as connection:
        stored = await list_checkpoints(connection, organization.org_id)
    return Kept([one.note for one in stored], checkpointer.keys.load().verifier_keys("log.example"))


async def _verify(
    database: Database, org_id: str, kept: Kept, start: datetime | None = None, end: datetime | None = None
) -> RecordVerification:
    async with database.transaction(org_id) as connection:
        return await verify_against(connection, org_id, kept.notes, kept.keys, start=start, end=end)


def _rewrite(superuser: Superuser, org_id: str, first: int, change: Callable[[int, dict[str, str]], None]) -> None:
    """As somebody would who knows how a chain is made: every header from ``first`` on, with new hashes and links."""
    rows = superuser.execute(
        "SELECT seq, header, hash FROM audit_chain WHERE org_id = %s ORDER BY seq", [org_id]
    ).fetchall()
    previous = genesis(org_id)
    for seq, header, digest in rows:
        assert isinstance(seq, int)
        assert isinstance(header, str)
        if seq < first:
            previous = bytes(digest)  # type: ignore[arg-type] - a bytea
            continue
        parsed = parse_header(header)
        assert parsed is not None
        values = {name: value.strip('"') for name, value in parsed._asdict().items()}
        change(seq, values)
        text = header_text(
            org_id=org_id, seq=seq, event_id=values["id"], event_type=values["type"],
            action_id=None if values["action"] == "null" else values["action"],
            agent_id=None if values["agent"] == "null" else values["agent"],
            created_at=datetime.fromisoformat(values["created_at"]),
            sealed_at=datetime.fromisoformat(values["sealed_at"]),
            payload_digest=bytes.fromhex(values["payload_digest"]), prev_hash=previous,
        )  # fmt: skip
        previous = hashlib.sha256(text.encode()).digest()
        superuser.execute(
            "UPDATE audit_chain SET header = %s, hash = %s, sealed_at = %s WHERE org_id = %s AND seq = %s",
            [text, previous, values["sealed_at"], org_id, seq],
        )
        superuser.execute(
            "UPDATE audit_events SET event_type = %s, created_at = %s, sealed_at = %s WHERE org_id = %s AND seq = %s",
            [values["type"], values["created_at"], values["sealed_at"], org_id, seq],
        )


def _cut_end(superuser: Superuser, org_id: str) -> None:
    for table in (b"audit_chain", b"audit_events"):
        superuser.execute(b"DELETE FROM " + table + b" WHERE org_id = %s AND seq > 25", [org_id])


def _cut_all(superuser: Superuser, org_id: str) -> None:
    for table in (b"audit_chain", b"audit_events"):
        superuser.execute(b"DELETE FROM " + table + b" WHERE org_id = %s", [org_id])


def _cut_middle(superuser: Superuser, org_id: str) -> None:
    superuser.execute("DELETE FROM audit_chain WHERE org_id = %s AND seq = 14", [org_id])


def _rewrite_type(superuser: Superuser, org_id: str) -> None:
    _rewrite(superuser, org_id, 14, lambda seq, header: header.update(type="action.denied") if seq == 14 else None)


def _rewrite_all(superuser: Superuser, org_id: str) -> None:
    _rewrite(superuser, org_id, 1, lambda seq, header: header.update(type="action.denied"))


def _rewrite_payload(superuser: Superuser, org_id: str) -> None:
    payload = '{"actor":{"id":"headgate","type":"system"},"data":{"n":999}}'
    digest = hashlib.sha256(b"salt" + payload.encode()).hexdigest()
    superuser.execute(
        "UPDATE audit_events SET payload = %s, salt = 'salt' WHERE org_id = %s AND seq = 17", [payload, org_id]
    )
    _rewrite(superuser, org_id, 17, lambda seq, header: header.update(payload_digest=digest) if seq == 17 else None)


def _backdate(superuser: Superuser, org_id: str) -> None:
    def earlier(seq: int, header: dict[str, str]) -> None:
        if seq == 14:
            header["created_at"] = (datetime.now(UTC) - timedelta(days=30)).isoformat()

    _rewrite(superuser, org_id, 14, earlier)


def _backdate_column(superuser: Superuser, org_id: str) -> None:
    superuser.execute(
        "UPDATE audit_events SET created_at = created_at - interval '1 day' WHERE org_id = %s AND seq = 14", [org_id]
    )


def _reorder(superuser: Superuser, org_id: str) -> None:
    superuser.execute("UPDATE audit_chain SET seq = 1000014 WHERE org_id = %s AND seq = 14", [org_id])
    superuser.execute("UPDATE audit_chain SET seq = 14 WHERE org_id = %s AND seq = 15", [org_id])
    superuser.execute("UPDATE audit_chain SET seq = 15 WHERE org_id = %s AND seq = 1000014", [org_id])


def _reorder_and_rewrite(superuser: Superuser, org_id: str) -> None:
    found = superuser.execute("SELECT header FROM audit_chain WHERE org_id = %s AND seq IN (14, 15)", [org_id])
    digests = [parse_header(str(header)).payload_digest for (header,) in found]  # type: ignore[union-attr]
    for at, seq in ((0, 15), (1, 14)):
        superuser.execute(
            "UPDATE audit_events SET seq = %s WHERE org_id = %s AND seq = %s", [2000 + seq, org_id, 14 + at]
        )
    superuser.execute("UPDATE audit_events SET seq = seq - 2000 WHERE org_id = %s AND seq > 2000", [org_id])
    ids = superuser.execute(
        "SELECT event_id FROM audit_events WHERE org_id = %s AND seq IN (14, 15) ORDER BY seq", [org_id]
    ).fetchall()

    def swap(seq: int, header: dict[str, str]) -> None:
        if seq in (14, 15):
            header["payload_digest"], header["id"] = digests[15 - seq], str(ids[seq - 14][0])

    _rewrite(superuser, org_id, 14, swap)


def _insert(superuser: Superuser, org_id: str) -> None:
    """One more in the middle: those behind it move up by one."""
    for table in (b"audit_chain", b"audit_events"):
        superuser.execute(b"UPDATE " + table + b" SET seq = seq + 1000 WHERE org_id = %s AND seq >= 14", [org_id])
        superuser.execute(b"UPDATE " + table + b" SET seq = seq - 999 WHERE org_id = %s AND seq >= 1000", [org_id])
    superuser.execute(
        "INSERT INTO audit_chain SELECT org_id, 14, header, sha256('x'), sealed_at FROM audit_chain"
        " WHERE org_id = %s AND seq = 13", [org_id],
    )  # fmt: skip
    superuser.execute(
        "INSERT INTO audit_events SELECT org_id, 14, event_id, event_type, action_id, agent_id, created_at, sealed_at,"
        " salt, payload FROM audit_events WHERE org_id = %s AND seq = 13", [org_id],
    )  # fmt: skip
    _rewrite(superuser, org_id, 14, lambda seq, header: None)


def _change_column(superuser: Superuser, org_id: str) -> None:
    superuser.execute("UPDATE audit_events SET agent_id = 'agt_x' WHERE org_id = %s AND seq = 14", [org_id])


def _take_payload_away(superuser: Superuser, org_id: str) -> None:
    """As erasing does, but nobody recorded it."""
    superuser.execute(
        "UPDATE audit_events SET salt = NULL, payload = NULL WHERE org_id = %s AND seq IN (14, 15)", [org_id]
    )


def _take_row_away(superuser: Superuser, org_id: str) -> None:
    superuser.execute("DELETE FROM audit_events WHERE org_id = %s AND seq = 14", [org_id])


def _add_behind_the_end(superuser: Superuser, org_id: str) -> None:
    """A row in the month's table, and no link of the chain."""
    _copy_event(superuser, org_id, 31)


def _add_before_the_first(superuser: Superuser, org_id: str) -> None:
    _copy_event(superuser, org_id, 0)


def _copy_event(superuser: Superuser, org_id: str, seq: int) -> None:
    superuser.execute(
        "INSERT INTO audit_events SELECT org_id, %s, 'evt_inserted', event_type, action_id, agent_id, created_at,"
        " sealed_at, salt, payload FROM audit_events WHERE org_id = %s AND seq = 30", [seq, org_id],
    )  # fmt: skip


def _cut_links_only(superuser: Superuser, org_id: str) -> None:
    superuser.execute("DELETE FROM audit_chain WHERE org_id = %s AND seq > 25", [org_id])


def _set_time(table: str, column: str, value: str) -> Callable[[Superuser, str], object]:
    """To something that the server can hold and no calendar of ours."""
    statement = sql.SQL("UPDATE {} SET {} = %s WHERE org_id = %s AND seq = 14").format(
        sql.Identifier(table), sql.Identifier(column)
    )
    return lambda superuser, org_id: superuser.execute(statement, [value, org_id])


def _rewrite_with_its_tree(superuser: Superuser, org_id: str) -> None:
    """And the stored tree is thrown away, so that nothing tells which event it was."""
    _rewrite_type(superuser, org_id)
    superuser.execute("DELETE FROM audit_tiles WHERE org_id = %s", [org_id])


TAMPERING = {
    "deletion at the end": (_cut_end, FaultReason.MISSING, 26, "its end is gone"),
    "deletion of everything": (_cut_all, FaultReason.MISSING, 1, "its end is gone"),
    "deletion in the middle": (_cut_middle, FaultReason.MISSING, 14, "no event with seq 14"),
    "rewriting from one event on": (_rewrite_type, FaultReason.NOT_AS_SIGNED, 14, "checkpoint of 20 events"),
    "rewriting of everything": (_rewrite_all, FaultReason.NOT_AS_SIGNED, 1, "checkpoint of 10 events"),
    "rewriting of a payload": (_rewrite_payload, FaultReason.NOT_AS_SIGNED, 17, "checkpoint of 20 events"),
    "rewriting, and the tree with it": (
        _rewrite_with_its_tree,
        FaultReason.NOT_AS_SIGNED,
        11,
        "one of the events 11 to",
    ),
    "backdating, with new hashes": (_backdate, FaultReason.NOT_AS_SIGNED, 14, "written anew"),
    "backdating of a column": (_backdate_column, FaultReason.COLUMN_CHANGED, 14, "created_at"),
    "reordering": (_reorder, FaultReason.OUT_OF_ORDER, 14, "sealed as seq 15"),
    "reordering, with new hashes": (_reorder_and_rewrite, FaultReason.NOT_AS_SIGNED, 14, "written anew"),
    "insertion, with new hashes": (_insert, FaultReason.NOT_AS_SIGNED, 14, "written anew"),
    "a payload taken away": (_take_payload_away, FaultReason.PAYLOAD_MISSING, 14, "no event of the record says"),
    "an event's row taken away": (_take_row_away, FaultReason.PAYLOAD_MISSING, 14, "no event of the record says"),
    "a column outside the hash": (_change_column, FaultReason.COLUMN_CHANGED, 14, "agent_id"),
    "an event behind the end": (_add_behind_the_end, FaultReason.INSERTED, 31, "no link of the chain"),
    "an event before the first": (_add_before_the_first, FaultReason.INSERTED, 0, "no link of the chain"),
    "the end of the chain without its events": (_cut_links_only, FaultReason.MISSING, 26, "its end is gone"),
} | {
    f"{table}.{column} set to {value}": (_set_time(table, column, value), FaultReason.COLUMN_CHANGED, 14, words)
    for table, column in (("audit_events", "created_at"), ("audit_events", "sealed_at"), ("audit_chain", "sealed_at"))
    for value, words in (
        ("infinity", 'now is "infinity"'),
        ("-infinity", 'now is "-infinity"'),
        ("0044-03-15 12:00 BC", 'now is "a time before the year 1"'),
        ("20000-01-01", 'now is "a time after the year 9999"'),
    )
}


@pytest.mark.parametrize("tampering", list(TAMPERING))
async def test_each_is_detected_and_the_first_bad_event_is_named(
    api_database: Database, superuser: Superuser, organization, kept: Kept, tampering: str
) -> None:
    good = await _verify(api_database, organization.org_id, kept)
    assert (good.chain.fault, good.chain.events_verified, good.checkpoints_verified) == (None, 30, 3)
    tamper, reason, seq, words = TAMPERING[tampering]
    tamper(superuser, organization.org_id)
    found = await _verify(api_database, organization.org_id, kept)
    assert found.chain.fault is not None
    assert (found.chain.fault.reason, found.chain.fault.seq) == (reason, seq), found.chain.fault
    assert words in found.chain.fault.message


async def test_a_plain_chain_would_not_have_noticed_rewriting(
    api_database: Database, superuser: Superuser, organization, kept: Kept
) -> None:
    """Why the checkpoints are there: without them the same record passes."""
    _rewrite_all(superuser, organization.org_id)
    assert (await _verify(api_database, organization.org_id, replace(kept, notes=[]))).chain.valid


@pytest.mark.parametrize(("first", "reason"), [(5, FaultReason.NOT_AS_SIGNED), (15, FaultReason.ROLLED_BACK)])
async def test_a_restore_explains_nothing_that_its_backup_held(
    checkpointer: Checkpointer,
    record,
    organization,
    api_database: Database,
    superuser: Superuser,
    first: int,
    reason: FaultReason,
) -> None:
    """A restore at event 11, and a checkpoint of 20 events from after it. What differs behind the restore may be of the
    log before it, and the answer says that only a person can know."""
    org_id = organization.org_id
    await record(10)
    data: JsonObject = {"backup_id": "bkp_1", "restored_by": "root@host", "head_seq": 10}
    async with api_database.transaction(org_id) as connection:
        await store.append(connection, org_id, [Event(EventType.BACKUP_RESTORED, datetime.now(UTC), SYSTEM, data)])
    await apply_before_reading(api_database, org_id)
    await record(9)
    assert await checkpointer.checkpoint(org_id)
    async with api_database.transaction(org_id) as connection:
        [point] = await list_checkpoints(connection, org_id)
    kept = Kept([point.note], checkpointer.keys.load().verifier_keys("log.example"))
    _rewrite(superuser, org_id, first, lambda seq, header: header.update(agent="agt_x") if seq == first else None)
    superuser.execute("UPDATE audit_events SET agent_id = 'agt_x' WHERE org_id = %s AND seq = %s", [org_id, first])
    found = await _verify(api_database, org_id, kept)
    fault = found.chain.fault
    assert fault is not None
    assert (fault.seq, fault.reason) == (first, reason)
    if reason is FaultReason.ROLLED_BACK:
        assert "If it was signed before this restore" in fault.message


async def test_re_signing_after_export_is_a_fork(
    api_database: Database, checkpointer: Checkpointer, superuser: Superuser, organization, kept: Kept, tmp_path
) -> None:
    """Whoever holds the key too signs the rewriting: what was exported contradicts it."""
    org_id = organization.org_id
    _rewrite_all(superuser, org_id)
    for table in (b"audit_trees", b"audit_tiles", b"audit_checkpoints"):
        superuser.execute(b"DELETE FROM " + table + b" WHERE org_id = %s", [org_id])
    forgetful = structs.replace(checkpointer, memory=SignedMemory(tmp_path / "forgotten"))
    assert await forgetful.checkpoint(org_id)
    async with api_database.transaction(org_id) as connection:
        alone = await verify_with_checkpoints(connection, org_id, checkpointer.keys, [])
        found = await verify_with_checkpoints(connection, org_id, checkpointer.keys, kept.notes)
    assert alone.chain.valid, "the instance's own word is worth nothing here"
    assert found.chain.fault is not None
    assert (found.chain.fault.reason, found.chain.fault.seq) == (FaultReason.FORKED, 30)
    without_newest = await _verify(api_database, org_id, replace(kept, notes=kept.notes[:2]))
    assert without_newest.chain.fault is not None
    assert without_newest.chain.fault.reason is FaultReason.NOT_AS_SIGNED


async def test_a_checkpoint_that_nobody_trusted_signed_is_not_believed(
    api_database: Database, organization, kept: Kept
) -> None:
    forged = kept.notes[1].replace("\n20\n", "\n21\n")
    found = await _verify(api_database, organization.org_id, replace(kept, notes=[forged]))
    assert found.chain.fault is not None
    assert found.chain.fault.reason is FaultReason.CHECKPOINT_INVALID


async def test_a_range_is_held_against_checkpoints_within_and_behind_it(
    api_database: Database, superuser: Superuser, organization, kept: Kept
) -> None:
    org_id = organization.org_id
    (at_11, at_15) = (
        superuser.execute("SELECT sealed_at FROM audit_chain WHERE org_id = %s AND seq = %s", [org_id, seq]).fetchone()
        for seq in (11, 20)
    )
    assert at_11 is not None
    assert at_15 is not None
    start, end = at_11[0], at_15[0]
    assert isinstance(start, datetime)
    assert isinstance(end, datetime)
    behind_only = replace(kept, notes=kept.notes[2:])
    good = await _verify(api_database, org_id, behind_only, start, end)
    assert (good.chain.fault, good.chain.events_verified, good.signed_up_to) == (None, 10, 20)
    superuser.execute(
        "UPDATE audit_tiles SET hashes = sha256('x') || substr(hashes, 33) WHERE org_id = %s AND level = 0", [org_id]
    )
    damaged = await _verify(api_database, org_id, kept, start, end)
    assert damaged.chain.valid, "the stored tree is not the record: the whole chain has the signed roots"
    _rewrite_type(superuser, org_id)
    found = await _verify(api_database, org_id, behind_only, start, end)
    assert found.chain.fault is not None
    assert found.chain.fault.reason is FaultReason.NOT_AS_SIGNED


async def test_an_event_that_no_link_knows_is_not_listed_not_counted_and_named_by_the_command(
    cluster, api_database: Database, superuser: Superuser, organization, kept: Kept
) -> None:
    org_id = organization.org_id
    _add_behind_the_end(superuser, org_id)
    _add_before_the_first(superuser, org_id)
    async with api_database.transaction(org_id) as connection:
        for exact in (False, True):
            page = await list_events(connection, org_id, EventFilter(), limit=100, exact_total=exact)
            assert (page.total, [one.seq for one in page.events]) == (30, list(range(30, 0, -1)))
        alone = await verify_against(connection, org_id, [], [], start=datetime.now(UTC) - timedelta(hours=1))
    assert alone.chain.fault is not None
    assert alone.chain.fault.reason is FaultReason.INSERTED
    for segments in (1, 3):
        told = await asyncio.to_thread(
            verify_database, Secret(cluster.dsn("headgate_auditor")), org_id, kept.notes,
            [key.text for key in kept.keys], None, None, segments=segments,
        )  # fmt: skip
        fault = told["fault"]
        assert (told["valid"], fault["reason"]) == (False, "inserted")
        assert (fault["seq"], fault["event_id"]) == (0, "evt_inserted")


async def test_an_event_in_a_record_that_holds_none(api_database: Database, superuser: Superuser, organization) -> None:
    superuser.execute(
        "INSERT INTO audit_events (org_id, seq, event_id, event_type, created_at, sealed_at)"
        " VALUES (%s, 1, 'evt_inserted', 'decision.made', now(), now())", [organization.org_id],
    )  # fmt: skip
    async with api_database.transaction(organization.org_id) as connection:
        found = await verify_against(connection, organization.org_id, [], [])
    assert found.chain.fault is not None
    assert (found.chain.fault.reason, found.chain.fault.seq) == (FaultReason.INSERTED, 1)


@pytest.mark.parametrize("segments", [1, 3])
async def test_the_command_reads_the_database_itself(
    cluster, superuser: Superuser, organization, kept: Kept, segments: int
) -> None:
    def verify() -> dict:
        return verify_database(
            Secret(cluster.dsn("headgate_auditor")), organization.org_id, kept.notes,
            [key.text for key in kept.keys], None, None, segments=segments,
        )  # fmt: skip

    good = await asyncio.to_thread(verify)
    assert (good["valid"], good["events_verified"], good["signed_up_to"]) == (True, 30, 30)
    _rewrite_type(superuser, organization.org_id)
    bad = await asyncio.to_thread(verify)
    assert (bad["valid"], bad["fault"]["seq"], bad["fault"]["reason"]) == (False, 14, "not_as_signed")


async def test_a_damaged_tree_costs_one_more_look_and_no_figure(
    cluster, superuser: Superuser, organization, kept: Kept
) -> None:
    """Stretches begin with the stored tree; without it each would go through the record from its first event."""

    def verify() -> dict:
        return verify_database(
            Secret(cluster.dsn("headgate_auditor")), organization.org_id, kept.notes,
            [key.text for key in kept.keys], None, None, segments=2,
        )  # fmt: skip

    whole = await asyncio.to_thread(verify)
    assert (whole["events_verified"], whole["checkpoints_verified"]) == (30, 3)
    superuser.execute("DELETE FROM audit_tiles WHERE org_id = %s", [organization.org_id])
    assert await asyncio.to_thread(verify) == whole


def test_the_points_are_what_was_signed(kept: Kept) -> None:
    points: list[Checkpoint] = [parse_checkpoint(parse_note(one)) for one in kept.notes]
    assert [one.size for one in points] == [10, 20, 30]


def _make_up_erasure(superuser: Superuser, org_id: str, seq: int, action_id: str) -> None:
    """As the record would say it, in a row that the chain does not lead to."""
    now, salt = datetime.now(UTC), b"s" * 16
    payload = '{"actor":{"type":"system"},"data":{"depth":"everything","reason":"asked for"}}'
    text = header_text(
        org_id=org_id, seq=abs(seq), event_id="evt_made_up", event_type="body.erased", action_id=action_id,
        agent_id=None, created_at=now, sealed_at=now, payload_digest=payload_digest(salt, payload),
        prev_hash=genesis(org_id),
    )  # fmt: skip
    digest = hashlib.sha256(text.encode()).digest()
    superuser.execute("INSERT INTO audit_chain VALUES (%s, %s, %s, %s, %s)", [org_id, seq, text, digest, now])
    superuser.execute(
        "INSERT INTO audit_events (org_id, seq, event_id, event_type, action_id, created_at, sealed_at, salt, payload)"
        " VALUES (%s, %s, 'evt_made_up', 'body.erased', %s, %s, %s, %s, %s)",
        [org_id, seq, action_id, now, now, salt, payload],
    )


@pytest.mark.parametrize(
    ("made_up_at", "reason", "seq"), [(-5, FaultReason.PAYLOAD_MISSING, 2), (1_000_000, FaultReason.MISSING, 4)]
)
async def test_an_erasure_that_was_made_up_where_the_chain_does_not_lead_explains_nothing(
    api_database: Database, superuser: Superuser, organization, made_up_at: int, reason: FaultReason, seq: int
) -> None:
    org_id, now = organization.org_id, datetime.now(UTC)
    events = [Event(EventType.DECISION_MADE, now, SYSTEM, {"n": one}, action_id="act_1") for one in range(3)]
    async with api_database.transaction(org_id) as connection:
        await store.append(connection, org_id, events)
    await apply_before_reading(api_database, org_id)
    end = datetime.now(UTC)
    superuser.execute("UPDATE audit_events SET salt = NULL, payload = NULL WHERE org_id = %s AND seq = 2", [org_id])
    _make_up_erasure(superuser, org_id, made_up_at, "act_1")
    nothing = Kept([], [])
    for start, until in ((None, None), (now, end)):
        found = await _verify(api_database, org_id, nothing, start, until)
        assert found.chain.fault is not None
        assert (found.chain.fault.reason, found.chain.fault.seq) == (reason, seq)


async def test_an_erasure_that_was_recorded_behind_the_range_explains_it(
    api_database: Database, superuser: Superuser, organization, record
) -> None:
    org_id, now = organization.org_id, datetime.now(UTC)
    event = Event(EventType.DECISION_MADE, now, SYSTEM, {"n": 1}, action_id="act_1")
    erased = Event(
        EventType.BODY_ERASED, now, SYSTEM, {"depth": "everything", "reason": "asked for"}, action_id="act_1"
    )
    async with api_database.transaction(org_id) as connection:
        await store.append(connection, org_id, [event])
    await apply_before_reading(api_database, org_id)
    end = datetime.now(UTC)
    await record(5)
    async with api_database.transaction(org_id) as connection:
        await store.append(connection, org_id, [erased])
    await apply_before_reading(api_database, org_id)
    superuser.execute("UPDATE audit_events SET salt = NULL, payload = NULL WHERE org_id = %s AND seq = 1", [org_id])
    found = await _verify(api_database, org_id, Kept([], []), now, end)
    assert (found.chain.fault, found.chain.events_verified, found.chain.payloads_erased) == (None, 1, 1)
    # What lies between is part of the explanation.
    superuser.execute("UPDATE audit_events SET payload = '{}' WHERE org_id = %s AND seq = 4", [org_id])
    found = await _verify(api_database, org_id, Kept([], []), now, end)
    assert found.chain.fault is not None
    assert (found.chain.fault.reason, found.chain.fault.seq) == (FaultReason.PAYLOAD_CHANGED, 4)
