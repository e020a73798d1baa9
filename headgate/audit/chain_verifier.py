"""Verifies that a run of events is what was sealed: every header, link, column and payload. Trusts no stored value.

A plain hash chain cannot show that its *end* was cut off, or that *all* of it was rewritten (Crosby & Wallach 2009,
section 2). Signed checkpoints show both.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from headgate.audit.chain import Header, StoredEvent, genesis, header_hash, parse_header, payload_digest, quoted
from headgate.kernel.clock import rfc3339


class FaultReason(StrEnum):
    """Why an event is not what was sealed."""

    HEADER_CHANGED = "header_changed"
    HEADER_MALFORMED = "header_malformed"
    WRONG_ORGANIZATION = "wrong_organization"
    MISSING = "missing"
    OUT_OF_ORDER = "out_of_order"
    LINK_BROKEN = "link_broken"
    TIME_REVERSED = "time_reversed"
    COLUMN_CHANGED = "column_changed"
    PAYLOAD_CHANGED = "payload_changed"
    PAYLOAD_MISSING = "payload_missing"
    INSERTED = "inserted"
    # Seen against signed checkpoints only (``headgate.evidence.verify_record``).
    NOT_AS_SIGNED = "not_as_signed"
    FORKED = "forked"
    CHECKPOINT_INVALID = "checkpoint_invalid"
    # As NOT_AS_SIGNED or MISSING, where the log itself tells of a restore from a backup (``explain_rollback``).
    ROLLED_BACK = "rolled_back"
    # Of the tables that lists show, which the events tell of (``headgate.reconciliation``).
    TABLES_DIFFER = "tables_differ"


class ChainFault(Struct, frozen=True):
    """The first event that differs from the sealed one. ``event_id`` is what its row says, where there is one."""

    seq: int
    event_id: str | None
    reason: FaultReason
    message: str


class Verification(Struct, frozen=True):
    """What a verified run holds. Hashes are those of its first and last event; None where it is empty.

    ``payloads_erased`` counts events whose payload is gone, which the chain allows: their headers still hold. Whether
    the record says who erased them is ``erasure_check``'s matter; events that say so are there up to
    ``explained_until``, which may lie behind the run.
    """

    fault: ChainFault | None
    events_verified: int
    first_event: str | None = None
    last_event: str | None = None
    chain_start_hash: bytes | None = None
    chain_end_hash: bytes | None = None
    payloads_erased: int = 0
    explained_until: int = 0

    @property
    def valid(self) -> bool:
        return self.fault is None


class ChainVerifier:
    """Verifies the run ``first_seq`` … ``last_seq``, event by event, in constant memory.

    Give it the run's neighbours too, where there are any: the event before anchors the first link, and the
    one after shows that the run's end was not rewritten. They are not counted. After the first fault it
    looks no further. ``is_alone``: it is given no neighbours, and the first link is held against nothing.
    """

    def __init__(self, org_id: str, first_seq: int, last_seq: int, *, is_alone: bool = False) -> None:
        self._org = quoted(org_id)
        self._first_seq = first_seq
        self._last_seq = last_seq
        self._expected_seq = first_seq if is_alone else max(first_seq - 1, 1)
        self._expected_prev: str | None = genesis(org_id).hex() if self._expected_seq == 1 else None
        self._sealed_at: datetime | None = None
        self._fault: ChainFault | None = None
        self._first: tuple[str, bytes] | None = None
        self._last: tuple[str, bytes] | None = None
        self._verified = 0
        self._erased = 0

    def add(self, event: StoredEvent) -> bool:
        """Take the next event, in the order of ``seq``; False once a fault was found."""
        if self._fault is None:
            found = self._examine(event)
            if isinstance(found, ChainFault):
                self._fault = found
        return self._fault is None

    def result(self) -> Verification:
        """What was verified so far; a run that ended early counts as a fault."""
        if self._fault is None and self._expected_seq <= self._last_seq:
            self._fault = self._missing(self._expected_seq)
        return Verification(
            fault=self._fault,
            events_verified=self._verified,
            first_event=self._first[0] if self._first else None,
            last_event=self._last[0] if self._last else None,
            chain_start_hash=self._first[1] if self._first else None,
            chain_end_hash=self._last[1] if self._last else None,
            payloads_erased=self._erased,
        )

    def _examine(self, event: StoredEvent) -> Header | ChainFault:
        if event.seq > self._expected_seq:
            return self._missing(self._expected_seq)
        if event.seq < self._expected_seq:
            return _fault(event, FaultReason.OUT_OF_ORDER, f"expected seq {self._expected_seq}, got {event.seq}")
        if header_hash(event.header) != event.hash:
            return _fault(event, FaultReason.HEADER_CHANGED, "the header is not the one that was hashed")
        header = parse_header(event.header)
        if header is None:
            return _fault(event, FaultReason.HEADER_MALFORMED, "the header is not of a form that this version knows")
        if fault := self._examine_header(event, header):
            return fault
        inside = self._first_seq <= event.seq <= self._last_seq
        if inside and (fault := self._examine_body(event, header)):
            return fault

        self._expected_seq += 1
        self._expected_prev = event.hash.hex()
        self._sealed_at = instant_of(header.sealed_at)
        if inside:
            self._verified += 1
            self._last = (header.id[1:-1], event.hash)
            self._first = self._first or self._last
            self._erased += event.payload is None
        return header

    def _examine_header(self, event: StoredEvent, header: Header) -> ChainFault | None:
        if header.org != self._org:
            return _fault(event, FaultReason.WRONG_ORGANIZATION, f"the header is of {header.org}, not {self._org}")
        if int(header.seq) != event.seq:
            return _fault(event, FaultReason.OUT_OF_ORDER, f"sealed as seq {header.seq}, stored as {event.seq}")
        if self._expected_prev is not None and header.prev_hash != self._expected_prev:
            return _fault(
                event,
                FaultReason.LINK_BROKEN,
                f"prev_hash is sha256:{header.prev_hash}, the event before has sha256:{self._expected_prev}",
            )
        sealed_at = instant_of(header.sealed_at)
        if sealed_at is None or sealed_at != event.sealed_at:
            return _changed(event, "sealed_at", header.sealed_at, _written(event.sealed_at))
        if self._sealed_at is not None and sealed_at < self._sealed_at:
            return _fault(event, FaultReason.TIME_REVERSED, "sealed before the event that precedes it")
        return None

    def _examine_body(self, event: StoredEvent, header: Header) -> ChainFault | None:
        if event.created_at is None or event.event_sealed_at is None:
            return None  # the month's row is gone: erased, and counted as such
        for name, sealed, stored in (
            ("event_id", header.id, event.event_id),
            ("event_type", header.type, event.event_type),
            ("action_id", header.action, event.action_id),
            ("agent_id", header.agent, event.agent_id),
        ):
            if sealed != quoted(stored):
                return _changed(event, name, sealed, stored)
        if instant_of(header.created_at) != event.created_at:
            return _changed(event, "created_at", header.created_at, _written(event.created_at))
        if event.event_sealed_at != event.sealed_at:  # the chain's own was compared with the header
            return _changed(event, "sealed_at", header.sealed_at, _written(event.event_sealed_at))
        if event.payload is None and event.salt is None:
            return None
        if (
            event.payload is None
            or event.salt is None
            or payload_digest(event.salt, event.payload).hex() != header.payload_digest
        ):
            return _fault(event, FaultReason.PAYLOAD_CHANGED, "the payload is not the one that was sealed")
        return None

    def _missing(self, seq: int) -> ChainFault:
        return ChainFault(seq, None, FaultReason.MISSING, f"no event with seq {seq}")


def _written(time: datetime | str) -> str:
    return time if isinstance(time, str) else rfc3339(time)


def _fault(event: StoredEvent, reason: FaultReason, message: str) -> ChainFault:
    return ChainFault(event.seq, event.event_id, reason, message)


def _changed(event: StoredEvent, column: str, sealed: str, stored: str | None) -> ChainFault:
    return _fault(event, FaultReason.COLUMN_CHANGED, f"{column} was sealed as {sealed}, and now is {quoted(stored)}")


def checked_header(org_id: str, event: StoredEvent) -> Header | ChainFault:
    """One event's header where its rows are as that says, whatever stands around it; else what is wrong with it."""
    return ChainVerifier(org_id, event.seq, event.seq, is_alone=True)._examine(event)


def instant_of(quoted: str) -> datetime | None:
    """A header's time; None, which equals no column, where it is none. Parsing is a fifth of formatting's cost."""
    try:
        return datetime.fromisoformat(quoted[1:-1])
    except ValueError:
        return None


def verify(org_id: str, events: Iterable[StoredEvent], first_seq: int, last_seq: int) -> Verification:
    """The run ``first_seq`` … ``last_seq``, with its neighbours, in order; see ChainVerifier."""
    verifier = ChainVerifier(org_id, first_seq, last_seq)
    for event in events:
        if not verifier.add(event):
            break
    return verifier.result()
