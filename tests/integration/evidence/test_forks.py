"""Two events that follow the same one, put there by a superuser: the chain shows it, and says that it is a fork.

A file, and so a database, of its own: two rows of one number need the table without its primary key.
"""

import hashlib
from datetime import datetime

import psycopg
import pytest

from headgate.audit import verification
from headgate.audit.chain import genesis, header_text, parse_header
from headgate.audit.chain_verifier import FaultReason
from headgate.audit.model import EventType
from headgate.db.database import Database
from headgate.evidence.verify_record import RecordVerification, verify_record
from headgate.kernel.ids import IdPrefix, new_id

type Superuser = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def keyless(superuser: Superuser) -> Superuser:
    superuser.execute("ALTER TABLE audit_chain DROP CONSTRAINT IF EXISTS audit_chain_pkey")
    return superuser


def _add(superuser: Superuser, org_id: str, *, number: int, after: int) -> str:
    """One more event, with everything in it that makes a good one, which names event ``after`` as the one before."""
    found = superuser.execute(
        "SELECT header, sealed_at FROM audit_chain WHERE org_id = %s AND seq = %s", [org_id, min(number, 30)]
    ).fetchone()
    before = superuser.execute(
        "SELECT hash FROM audit_chain WHERE org_id = %s AND seq = %s", [org_id, after]
    ).fetchone()
    assert found is not None
    header = parse_header(str(found[0]))
    assert header is not None
    event_id = new_id(IdPrefix.EVENT)
    text = header_text(
        org_id=org_id, seq=number, event_id=event_id, event_type=EventType.DECISION_MADE.value, action_id=None,
        agent_id=None, created_at=datetime.fromisoformat(header.created_at.strip('"')),
        sealed_at=datetime.fromisoformat(header.sealed_at.strip('"')),
        payload_digest=bytes.fromhex(header.payload_digest),
        prev_hash=genesis(org_id) if before is None else bytes(before[0]),  # type: ignore[arg-type] - a bytea
    )  # fmt: skip
    superuser.execute(
        "INSERT INTO audit_chain (org_id, seq, header, hash, sealed_at) VALUES (%s, %s, %s, %s, %s)",
        [org_id, number, text, hashlib.sha256(text.encode()).digest(), found[1]],
    )
    superuser.execute(
        "INSERT INTO audit_events SELECT org_id, %s, %s, event_type, action_id, agent_id, created_at, sealed_at, salt,"
        " payload FROM audit_events WHERE org_id = %s AND seq = %s LIMIT 1",
        [number, event_id, org_id, min(number, 30)],
    )
    return event_id


async def _verify(database: Database, org_id: str) -> RecordVerification:
    async with database.transaction(org_id) as connection:
        return await verify_record(connection, org_id, [])


FORKS = {
    "two of one number": (14, 13),
    "two of the first number": (1, 0),
    "two of the last number": (30, 29),
    "the last two": (31, 29),
    "the last and one far before": (31, 13),
    "the last and the first": (31, 0),
}


@pytest.mark.parametrize("fork", list(FORKS))
async def test_two_events_that_follow_one_are_a_fork(
    api_database: Database, keyless: Superuser, organization, record, fork: str
) -> None:
    number, after = FORKS[fork]
    await record(30)
    assert (await _verify(api_database, organization.org_id)).chain.valid
    event_id = _add(keyless, organization.org_id, number=number, after=after)
    fault = (await _verify(api_database, organization.org_id)).chain.fault
    assert fault is not None
    assert (fault.reason, fault.seq) == (FaultReason.FORKED, number), fault
    assert event_id in fault.message
    assert f"follow event {after}" in fault.message if after else "both are the first" in fault.message


@pytest.mark.parametrize("number", [10, 20])
async def test_a_second_event_is_seen_at_the_end_of_a_window_too(
    api_database: Database, keyless: Superuser, organization, record, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The quick check takes as many rows as it expects: the one too many must not pass for that."""
    monkeypatch.setattr(verification, "WINDOW_EVENTS", 10)
    await record(30)
    _add(keyless, organization.org_id, number=number, after=number - 1)
    fault = (await _verify(api_database, organization.org_id)).chain.fault
    assert fault is not None
    assert (fault.reason, fault.seq) == (FaultReason.FORKED, number)


async def test_one_event_twice_is_no_fork(api_database: Database, superuser: Superuser, organization, record) -> None:
    await record(30)
    superuser.execute(
        "UPDATE audit_chain c SET header = o.header, hash = o.hash FROM audit_chain o"
        " WHERE c.org_id = %s AND c.seq = 15 AND o.org_id = c.org_id AND o.seq = 14", [organization.org_id],
    )  # fmt: skip
    fault = (await _verify(api_database, organization.org_id)).chain.fault
    assert fault is not None
    assert (fault.reason, fault.seq) == (FaultReason.OUT_OF_ORDER, 15)
