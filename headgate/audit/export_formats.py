"""Events as lines of a file.

A cell that a spreadsheet would take for a formula begins with an apostrophe instead. Line ends and quotes: RFC 4180.
"""

import csv
import io
from collections.abc import Iterable
from typing import Final

from headgate.audit.model import SealedEvent
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.clock import rfc3339
from headgate.kernel.spreadsheet import is_formula

COLUMNS: Final = (
    "seq", "id", "event_type", "created_at", "sealed_at", "actor_type", "actor_id", "actor_name", "actor_address",
    "agent_id", "action_id", "data", "hash", "prev_hash", "problem",
)  # fmt: skip


def csv_head() -> bytes:
    return _line(COLUMNS)


def csv_lines(events: Iterable[SealedEvent]) -> bytes:
    return b"".join(_line(_cells(event)) for event in events)


def _cells(event: SealedEvent) -> list[str]:
    actor = event.actor
    values = (
        str(event.seq),
        event.event_id,
        event.event_type,
        None if event.created_at is None else rfc3339(event.created_at),
        None if event.sealed_at is None else rfc3339(event.sealed_at),
        None if actor is None else actor.type.value,
        None if actor is None else actor.id,
        None if actor is None else actor.name,
        None if actor is None else actor.address,
        event.agent_id,
        event.action_id,
        canonical_bytes(event.data).decode(),
        f"sha256:{event.hash.hex()}",
        f"sha256:{event.prev_hash.hex()}",
        event.problem,
    )
    return [_cell(value or "") for value in values]


def _cell(text: str) -> str:
    return f"'{text}" if is_formula(text) else text


def _line(cells: Iterable[str]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(cells)
    return written.getvalue().encode()
