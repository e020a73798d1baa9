"""The run of events that a report is about, read once and checked while it is read.

The worker verifies the run against its checkpoint before it sends it. What arrives is checked here once more, hash by
hash, because it was read a second time: nothing that a report says was read between the two.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from msgspec import Struct

from headgate.audit.chain import Header, parse_header, unquoted
from headgate.audit.chain_verifier import instant_of
from headgate.audit.payload import NO_PAYLOAD, Payload, read_payload
from headgate.reports.frames import ChainRow


class RunEvent(Struct, frozen=True):
    """One event. ``actor_*`` are None and ``data`` is empty where the payload was erased."""

    seq: int
    event_id: str
    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime
    sealed_at: datetime
    hash: str
    is_erased: bool
    actor_type: str | None
    actor_id: str | None
    actor_name: str | None
    data: Mapping[str, Any]

    @property
    def who(self) -> str:
        return self.actor_name or self.actor_id or ""

    def text(self, name: str) -> str:
        """A member of the data as text; empty where it is not there."""
        value = self.data.get(name)
        return value if isinstance(value, str) else "" if value is None else json.dumps(value, sort_keys=True)


@dataclass(slots=True)
class RunReader:
    """``prev_hash`` (hexadecimal): of the event before the first. ``fault``: the first that does not follow. What is
    not as it was sealed is no event of the report."""

    prev_hash: str
    next_seq: int
    fault: str | None = field(default=None, init=False)
    first_hash: str | None = field(default=None, init=False)
    last_hash: str | None = field(default=None, init=False)

    def read(self, rows: Iterable[ChainRow]) -> Iterator[RunEvent]:
        for row in rows:
            event = self._event(row)
            if isinstance(event, str):
                self.fault = self.fault or event
                continue
            self.first_hash = self.first_hash or event.hash
            self.prev_hash = self.last_hash = event.hash
            self.next_seq = event.seq + 1
            yield event

    def _event(self, row: ChainRow) -> RunEvent | str:
        """The event that a row is of; a text: why it is of none."""
        digest = sha256(row.header).hexdigest()
        header = parse_header(row.header.decode())
        payload = NO_PAYLOAD if row.payload is None else read_payload(row.payload.decode())
        not_sealed = f"event {self.next_seq} is not the one that was sealed"
        if header is None or payload is None or digest != row.hash.hex():
            return not_sealed
        if digest == self.last_hash:
            return f"event {header.seq} is there twice"
        if row.payload is not None and (row.salt is None or not _is_payload(header, row.salt, row.payload)):
            return f"the payload of event {header.seq} is not the one that was sealed"
        event = _event(header, digest, payload, is_erased=row.payload is None)
        if event is None:
            return not_sealed
        if event.seq != self.next_seq:
            self.fault = self.fault or f"event {self.next_seq} is missing"
        elif header.prev_hash != self.prev_hash:
            self.fault = self.fault or not_sealed
        return event


def _is_payload(header: Header, salt: bytes, payload: bytes) -> bool:
    return header.payload_digest == sha256(salt + payload).hexdigest()


def _event(header: Header, digest: str, payload: Payload, *, is_erased: bool) -> RunEvent | None:
    """None where the header's times are none."""
    created_at, sealed_at = instant_of(header.created_at), instant_of(header.sealed_at)
    if created_at is None or sealed_at is None:
        return None
    actor = payload.actor
    return RunEvent(
        seq=int(header.seq),
        event_id=header.id[1:-1],
        event_type=header.type[1:-1],
        action_id=unquoted(header.action),
        agent_id=unquoted(header.agent),
        created_at=created_at,
        sealed_at=sealed_at,
        hash=digest,
        is_erased=is_erased,
        actor_type=None if actor is None else actor.type.value,
        actor_id=None if actor is None else actor.id,
        actor_name=None if actor is None else actor.name,
        data=payload.data,
    )
