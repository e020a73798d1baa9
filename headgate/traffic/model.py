"""What passed the gate, as it is captured and as it is kept.

A captured exchange is in memory and, encrypted, in the spool; a kept one has been masked. Frozen types without I/O.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct, field


class CaptureLevel(StrEnum):
    """How much of an exchange is kept."""

    OFF = "off"
    HEADS = "heads"
    BODIES = "bodies"


_ORDER: Final = {level: rank for rank, level in enumerate(CaptureLevel)}


def least(levels: Sequence[CaptureLevel]) -> CaptureLevel | None:
    """The one that keeps the least; None of nothing."""
    return min(levels, key=_ORDER.__getitem__, default=None)


class Loss(StrEnum):
    """Why an exchange that was to be captured was not."""

    QUEUE_FULL = "queue_full"  # more came than could be written
    SPOOL_FULL = "spool_full"  # more was written than could be masked
    SPOOL_GONE = "spool_gone"  # the spool's disk is full, or its files were taken away
    KEY_MISSING = "key_missing"  # nothing is written where it cannot be encrypted
    PROCESS_ENDED = "process_ended"  # the gate's process ended while it was under way
    DAMAGED = "damaged"  # what was written does not open
    NOT_MASKED = "not_masked"  # masking failed, and unmasked bytes are not kept
    REFUSED = "refused"  # the database does not take it


type HeaderFields = tuple[tuple[bytes, bytes], ...]


class Message(Struct, frozen=True):
    """A request or an answer as it was on the wire. ``body`` is its beginning, None where none of it was kept;
    ``size_bytes`` of all of it."""

    headers: HeaderFields
    body: bytes | None
    size_bytes: int
    version: str
    started_at: float | None = None
    ended_at: float | None = None


class Captured(Struct, frozen=True):
    """One exchange, unmasked: never written in clear. ``status`` None: there was no answer."""

    exchange_id: str
    org_id: str
    agent_id: str
    action_id: str | None
    tool: str
    operation: str
    decision: str
    level: CaptureLevel
    created_at: datetime
    method: str
    scheme: str
    host: str
    port: int
    path: str
    request: Message
    status: int | None
    reason: str
    response: Message | None
    error: str | None


class Lost(Struct, frozen=True):
    """So many exchanges of an organization were not captured. ``loss_id`` is the same each time it is told."""

    org_id: str
    loss_id: str
    cause: Loss
    exchanges: int
    since: datetime
    until: datetime


class Kept(Struct, frozen=True):
    """One exchange as the database holds it. ``target``: path and query, masked; None, with the rest, once erased.

    ``masking`` and ``omitted`` are canonical JSON: what was masked where, and what was not kept and why.
    ``content`` is sealed (``headgate.traffic.sealed_exchange``). ``note`` and ``tags`` are reviewers'.
    """

    exchange_id: str
    org_id: str
    agent_id: str
    action_id: str | None
    tool: str
    operation: str
    decision: str
    level: CaptureLevel
    created_at: datetime
    method: str
    scheme: str
    host: str
    port: int
    target: str | None
    status: int | None
    duration_ms: float | None
    request_bytes: int
    response_bytes: int
    masking: str
    omitted: str
    error: str | None
    key_id: str | None
    wrapped_key: bytes | None
    content: bytes | None
    erased_at: datetime | None = None
    note: str | None = None
    tags: Sequence[str] = field(default_factory=list)
