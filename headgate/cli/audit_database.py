"""Verifying the record straight from the database, with keys of the caller's: nobody else's word counts.

A progress bar on stderr; several processes, each a stretch of the record at a time, where that is asked for.
"""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from admin_api.audit.schemas import verification_answer
from admin_api.instants import range_of_time
from headgate.audit.chain_store import range_of
from headgate.audit.chain_verifier import FaultReason, Verification
from headgate.audit.insertion_check import inserted_event
from headgate.cli.progress import Progress, progress_bar
from headgate.db.database import Connection, Database
from headgate.evidence.checkpoint import Checkpoint
from headgate.evidence.explain_rollback import with_restores
from headgate.evidence.note import KeyKind, VerifierKey
from headgate.evidence.pack_verifier import InvalidError, RefusedError, read_keys
from headgate.evidence.tree_store import chain_length, sample_checkpoints
from headgate.evidence.verify_record import RecordVerification, read_points, verify_numbers, verify_record
from headgate.evidence.verify_tables import with_tables
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID
from headgate.reconciliation.window_store import count_actions

_SEGMENTS_EACH: Final = 8
_STORED_CHECKPOINTS: Final = 200
_STATEMENT_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 5.0
_SEALED_WITHIN_SECONDS: Final = 3.0


class _Task(Struct, frozen=True):
    """What one process needs to know; ``dsn`` is a secret, which is why this stays between processes."""

    dsn: str
    org_id: str
    points: tuple[Checkpoint, ...]
    last_seq: int


def verify_database(
    dsn: Secret,
    organization: str | None,
    texts: Sequence[str],
    keys: Iterable[str],
    start_date: str | None,
    end_date: str | None,
    *,
    segments: int = 1,
) -> dict[str, Any]:
    """The answer of POST /admin/audit/verify. Raises ValidationError, UnavailableError."""
    start, end = range_of_time(start_date, end_date)
    org_id = organization or DEFAULT_ORGANIZATION_ID
    trusted = _trusted(keys)
    if texts and not trusted:
        raise ValidationError("--key is required to verify the signatures of the checkpoints")
    found = asyncio.run(_settled(partial(_verify, dsn, org_id, texts, trusted, start, end, segments)))
    return verification_answer(found).model_dump(mode="json")


def _trusted(keys: Iterable[str]) -> list[VerifierKey]:
    try:
        return [VerifierKey(one.name, one.public_key, KeyKind(one.kind)) for one in read_keys(keys)]
    except (InvalidError, RefusedError) as error:
        raise ValidationError(str(error)) from error


async def _settled(verify: Callable[[], Awaitable[RecordVerification]]) -> RecordVerification:
    """What an erasure took away is gone up to a second before its event is sealed: then the second look counts."""
    found = await verify()
    if found.chain.fault is None or found.chain.fault.reason is not FaultReason.PAYLOAD_MISSING:
        return found
    await asyncio.sleep(_SEALED_WITHIN_SECONDS)
    return await verify()


async def _verify(
    dsn: Secret,
    org_id: str,
    texts: Sequence[str],
    keys: Sequence[VerifierKey],
    start: datetime | None,
    end: datetime | None,
    segments: int,
) -> RecordVerification:
    async with _database(dsn) as database, database.transaction(org_id) as connection:
        found = await _explained(dsn, connection, org_id, texts, keys, start, end, segments)
        with progress_bar(await count_actions(connection), "actions") as progress:
            return await with_tables(connection, org_id, found, start=start, end=end, progress=progress)


async def _explained(
    dsn: Secret,
    connection: Connection,
    org_id: str,
    texts: Sequence[str],
    keys: Sequence[VerifierKey],
    start: datetime | None,
    end: datetime | None,
    segments: int,
) -> RecordVerification:
    found = await _events(dsn, connection, org_id, texts, keys, start, end, segments)
    points, _ = read_points(texts, keys, org_id)
    return await with_restores(connection, org_id, found, points)


async def _events(
    dsn: Secret,
    connection: Connection,
    org_id: str,
    texts: Sequence[str],
    keys: Sequence[VerifierKey],
    start: datetime | None,
    end: datetime | None,
    segments: int,
) -> RecordVerification:
    length = await chain_length(connection, org_id)
    stored = await sample_checkpoints(connection, org_id, 1, max(length, 1), _STORED_CHECKPOINTS) if keys else []
    points, fault = read_points([*texts, *(one.note for one in stored)], keys, org_id)
    if fault is not None:
        return RecordVerification(Verification(fault, 0))
    run = await range_of(connection, org_id, start, end)
    with progress_bar(0 if run is None else run[1] - run[0] + 1, "events") as progress:
        if segments == 1 or run is None:
            return await verify_record(connection, org_id, points, start=start, end=end, progress=progress)
        first = 1 if start is None and end is None else run[0]
        task = _Task(dsn.reveal(), org_id, tuple(points), run[1])
        found = await asyncio.to_thread(_in_processes, task, first, run[1], segments, progress)
        if found is None:
            return await verify_record(connection, org_id, points, start=start, end=end)
        if found.chain.valid and start is None and end is None and points and points[-1].size > run[1]:
            return await verify_record(connection, org_id, points)  # says what is missing at the end
        fault = found.chain.fault or await inserted_event(connection, org_id, start, end)
        return replace(found, chain=replace(found.chain, fault=fault))


def _in_processes(task: _Task, first: int, last: int, processes: int, progress: Progress) -> RecordVerification | None:
    """Stretch by stretch; the first fault in the record's order is the one that is told. None: the stored tree, which
    a stretch begins with, is damaged; one process has to go through all of it."""
    step = max((last - first + 1) // (processes * _SEGMENTS_EACH), 1)
    bounds = [(at, min(at + step - 1, last)) for at in range(first, last + 1, step)]
    whole: RecordVerification | None = None
    # Not forked: this process has a connection and an event loop that children must not share.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        for found in pool.map(partial(_stretch, task), bounds):
            if found.from_the_first:
                pool.shutdown(cancel_futures=True)
                return None
            progress(found.chain.events_verified)
            whole = found if whole is None else _joined(whole, found)
            if not whole.chain.valid:
                pool.shutdown(cancel_futures=True)
                break
    return whole or RecordVerification(Verification(None, 0))


def _stretch(task: _Task, bounds: tuple[int, int]) -> RecordVerification:
    async def verify() -> RecordVerification:
        async with _database(Secret(task.dsn)) as database, database.transaction(task.org_id) as connection:
            return await verify_numbers(connection, task.org_id, task.points, *bounds, verified_until=task.last_seq)

    return asyncio.run(verify())


def _joined(before: RecordVerification, after: RecordVerification) -> RecordVerification:
    chain = replace(
        after.chain,
        events_verified=before.chain.events_verified + after.chain.events_verified,
        payloads_erased=before.chain.payloads_erased + after.chain.payloads_erased,
        first_event=before.chain.first_event,
        chain_start_hash=before.chain.chain_start_hash,
        last_event=after.chain.last_event or before.chain.last_event,
        chain_end_hash=after.chain.chain_end_hash or before.chain.chain_end_hash,
    )
    sizes = [one.signed_up_to for one in (before, after) if one.signed_up_to is not None]
    return RecordVerification(chain, before.agreed | after.agreed, max(sizes, default=None))


@asynccontextmanager
async def _database(dsn: Secret) -> AsyncIterator[Database]:
    """A pool for one command; its statements may take longer than a service's."""
    database = Database(dsn, max_connections=1, timeout_seconds=_STATEMENT_SECONDS, connect_seconds=_CONNECT_SECONDS)
    await database.open()
    try:
        yield database
    finally:
        await database.close()
