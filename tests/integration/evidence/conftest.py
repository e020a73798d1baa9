"""A record to make checkpoints of, and what makes them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headgate.audit import store
from headgate.audit.model import SYSTEM, Event, EventType
from headgate.db.database import Database
from headgate.evidence.checkpointer import Checkpointer
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeySource
from headgate.journal.apply import apply_before_reading


@pytest.fixture
def checkpointer(worker_database: Database, tmp_path: Path, organization) -> Checkpointer:
    """Signs whenever it is told to."""
    keys = SigningKeySource(tmp_path / "signing-keys")
    keys.create("log.example")
    return Checkpointer(worker_database, keys, SignedMemory(tmp_path / "signed"), timedelta(0), 1)


type Record = Callable[[int], Awaitable[None]]


@pytest.fixture
def record(api_database: Database, organization) -> Record:
    """Records and seals so many events."""

    async def record_events(count: int) -> None:
        now = datetime.now(UTC)
        events = [Event(EventType.DECISION_MADE, now, SYSTEM, {"n": number}) for number in range(count)]
        async with api_database.transaction(organization.org_id) as connection:
            await store.append(connection, organization.org_id, events)
        await apply_before_reading(api_database, organization.org_id)

    return record_events
