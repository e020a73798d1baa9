"""The entries of the journal: a decided action, how an execution ended, or which events of its own a process has
written, in the bytes that are appended.

In the journal each stands behind a prefix that says who wrote it and what that writer had written before
(``entry_lane``). An entry is its kind, its length and its fields as an LZ4 block: an action has most values twice, in
the row that lists show and in the events that are hashed. A field is as PostgreSQL's binary array format writes an
element (a length of four bytes and the value; a length of -1 for null), so that the applier puts fields into arrays
without decoding them. ``headgate.journal`` reads what this module writes.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from regorus import from_lz4_block, lz4_block

from headgate.audit.written_events import ATTESTED_AT_ONCE_MAX, AttestedEvent
from headgate.db.arrays import NULL, TEXTS, Column, Utf8, columns_of

INDEXED_TEXT_BYTES_MAX: Final = 1_000
"""Of a tool, and of an operation. They are indexed, and a B-tree refuses rows of more than 2,704 bytes."""

ENTRY_BYTES_MAX: Final = 256 << 20
"""Of an entry's fields after decompression. A block that states more is refused. The largest call has a twentieth."""

_HEAD: Final = struct.Struct(">cI")
_LENGTH: Final = struct.Struct(">i")
_BLOCK_LENGTH_BYTES: Final = 4
_ACTION: Final = b"A"
_OUTCOME: Final = b"O"
_EVENTS: Final = b"E"
_ATTESTATION: Final = b"W"
ATTESTATION: Final = _HEAD.pack(_ATTESTATION, 0)
"""Says nothing but its prefix: nothing is missing until here."""


class ActionRow(NamedTuple):
    """One decided action. ``request`` and ``decision`` are canonical JSON; the last three are events' payloads."""

    org_id: str
    generation: int
    action_id: str
    agent_id: str
    key_id: str | None
    source: str
    tool: str
    operation: str
    status: str
    digest: bytes
    request: Utf8
    decision: Utf8
    risk_level: str
    parent_action_id: str | None
    created_at: datetime
    execution_id: str | None
    instance_id: str | None
    idempotency_key: str | None
    request_digest: bytes | None
    submitted: str
    decided: str
    started: str | None


class OutcomeRow(NamedTuple):
    """How one execution ended. ``give_back``: the approval, grant or break-glass pass whose use is given back, because
    nothing was sent. ``withheld``: the payload of the event that the agent did not get the response."""

    org_id: str
    execution_id: str
    action_id: str
    agent_id: str
    succeeded: bool
    completed_at: datetime
    error: str | None
    result: Utf8 | None
    payload: str
    give_back: str | None
    withheld: str | None = None


class ActionEntry(NamedTuple):
    """An action as it stands in the journal: the encoded fields of an ``ActionRow`` behind its generation."""

    action_id: bytes
    agent_id: bytes
    key_id: bytes
    source: bytes
    tool: bytes
    operation: bytes
    status: bytes
    digest: bytes
    request: bytes
    decision: bytes
    risk_level: bytes
    parent_action_id: bytes
    created_at: bytes
    execution_id: bytes
    instance_id: bytes
    idempotency_key: bytes
    request_digest: bytes
    submitted: bytes
    decided: bytes
    started: bytes


class OutcomeEntry(NamedTuple):
    """An outcome as it stands in the journal: the encoded fields of an ``OutcomeRow`` behind its organization."""

    execution_id: bytes
    action_id: bytes
    agent_id: bytes
    succeeded: bytes
    completed_at: bytes
    error: bytes
    result: bytes
    payload: bytes
    give_back: bytes
    withheld: bytes


class EventsEntry(NamedTuple):
    """Events that the transactions of a process have written, each in a row of the journal of its own."""

    events: tuple[AttestedEvent, ...]


type Recorded = ActionEntry | OutcomeEntry | EventsEntry

_ACTION_COLUMNS: Final = columns_of(ActionRow)[2:]
_OUTCOME_COLUMNS: Final = columns_of(OutcomeRow)[1:]


def action_entry(row: ActionRow) -> bytes:
    """Raises ValueError for what could not be applied: a text with a NUL or not in UTF-8, or a tool or operation that
    is too long. Later it would be set aside, and its call was sent already."""
    for name in (row.tool, row.operation):
        if len(name.encode()) > INDEXED_TEXT_BYTES_MAX:
            raise ValueError(f"a tool or operation has more than {INDEXED_TEXT_BYTES_MAX} bytes")
    return _entry(_ACTION, _ACTION_COLUMNS, row[2:])


def outcome_entry(row: OutcomeRow) -> bytes:
    """Raises ValueError for a text with a NUL or not in UTF-8."""
    return _entry(_OUTCOME, _OUTCOME_COLUMNS, row[1:])


def events_entry(events: Sequence[AttestedEvent]) -> bytes:
    """Of one event at least."""
    return _packed(_EVENTS, b"".join(field for event in events for field in event))


def _entry(kind: bytes, columns: Sequence[Column], values: Sequence[object]) -> bytes:
    fields = [NULL if value is None else _field(column, value) for column, value in zip(columns, values, strict=True)]
    return _packed(kind, b"".join(fields))


def _packed(kind: bytes, fields: bytes) -> bytes:
    block = lz4_block(fields)
    return _HEAD.pack(kind, len(block)) + block


def _field(column: Column, value: object) -> bytes:
    field = column.element(value)
    if column.element_type == TEXTS.element_type:
        if isinstance(value, bytes):
            value.decode()  # raises UnicodeDecodeError
        if field.find(0, _LENGTH.size) != -1:
            raise ValueError("a text has a NUL character, which PostgreSQL does not store")
    return field


class UnreadableEntryError(ValueError):
    """The bytes are not an entry. ``rest`` is all of the row from there on."""

    def __init__(self, rest: bytes) -> None:
        super().__init__(f"{len(rest)} bytes of a journal row are not an entry")
        self.rest = rest


def read_entry(entry: bytes) -> Recorded | None:
    """None: an attestation. Raises UnreadableEntryError."""
    if entry == ATTESTATION:
        return None
    try:
        read, fields_max = _KINDS[entry[:1]]
        return read(_fields(from_lz4_block(entry[_HEAD.size :], ENTRY_BYTES_MAX), fields_max))
    except (struct.error, ValueError, TypeError, KeyError) as error:
        raise UnreadableEntryError(entry) from error


def is_events_entry(entry: bytes) -> bool:
    """By its kind alone."""
    return entry[:1] == _EVENTS


def entry_end(entries: bytes, at: int) -> int:
    """Where the entry ends that begins at ``at``. Raises struct.error if none does."""
    kind, length = _HEAD.unpack_from(entries, at)
    end: int = at + _HEAD.size + length
    if end > len(entries) or (kind not in _KINDS and entries[at:end] != ATTESTATION):
        raise struct.error
    return end


def decompressed_bytes(entry: bytes) -> int:
    """The size of an entry's fields after decompression, as its block states it. Decompresses nothing."""
    return 0 if entry == ATTESTATION else int.from_bytes(entry[_HEAD.size : _HEAD.size + _BLOCK_LENGTH_BYTES], "big")


def _fields(content: bytes, fields_max: int) -> list[bytes]:
    fields: list[bytes] = []
    at = 0
    while at < len(content):
        if len(fields) == fields_max:
            raise struct.error
        (size,) = _LENGTH.unpack_from(content, at)
        after = at + _LENGTH.size + max(size, 0)
        fields.append(content[at:after])
        at = after
    if at != len(content):
        raise struct.error
    return fields


def _events(fields: Sequence[bytes]) -> EventsEntry:
    """Raises TypeError for another number of fields."""
    each = len(AttestedEvent._fields)
    if not fields:
        raise TypeError
    return EventsEntry(tuple(AttestedEvent(*fields[at : at + each]) for at in range(0, len(fields), each)))


_KINDS: Final[dict[bytes, tuple[Callable[[Sequence[bytes]], Recorded], int]]] = {
    _ACTION: (lambda fields: ActionEntry(*fields), len(ActionEntry._fields)),
    _OUTCOME: (lambda fields: OutcomeEntry(*fields), len(OutcomeEntry._fields)),
    _EVENTS: (_events, ATTESTED_AT_ONCE_MAX * len(AttestedEvent._fields)),
}
"""What reads the fields, and how many there may be: a short block can hold millions of empty ones."""
