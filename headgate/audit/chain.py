"""The hash chain of one organization's events: how a header is written, and read.

A header holds what must never change about an event, its predecessor's hash, and a salted digest of its
payload, so that the payload can be erased and the chain stays valid. ``regorus-py/src/record/seal.rs``
writes the headers; this module writes the same bytes, which a test compares.
``chain_verifier`` verifies a run of them.
"""

import hashlib
import re
from datetime import datetime
from typing import Final, NamedTuple

from headgate.kernel.clock import rfc3339

SALT_BYTES: Final = 16

_VALUE: Final = r'null|"[\x20\x21\x23-\x5b\x5d-\x7e]*"'
_DIGEST: Final = r'"sha256:([0-9a-f]{64})"'
_HEADER: Final = re.compile(
    rf'\{{"action":({_VALUE}),"agent":({_VALUE}),"created_at":({_VALUE}),"id":({_VALUE}),"org":({_VALUE}),'
    rf'"payload_digest":{_DIGEST},"prev_hash":{_DIGEST},"sealed_at":({_VALUE}),'
    rf'"seq":([1-9][0-9]*),"type":({_VALUE}),"v":1\}}',
    re.ASCII,
)
_EVENT_ID: Final = re.compile(
    r"evt_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{4}([0-9a-f]{8})", re.ASCII
)
_NUMBERS_IN_AN_ID: Final = 1 << 32


class StoredEvent(NamedTuple):
    """One event as the database holds it: the chain's row first, then the monthly one's columns.

    All of the latter are None where the row is gone; ``salt`` and ``payload`` are None where they were erased. A time
    is a text where it is one that the server can hold and no calendar of ours: nothing was sealed then.
    """

    seq: int
    header: str
    hash: bytes
    sealed_at: datetime | str
    event_id: str | None
    event_type: str | None
    action_id: str | None
    agent_id: str | None
    created_at: datetime | str | None
    event_sealed_at: datetime | str | None
    salt: bytes | None
    payload: str | None


class Header(NamedTuple):
    """A header's values: JSON texts (quoted, or null), but for the digests and the sequence number."""

    action: str
    agent: str
    created_at: str
    id: str
    org: str
    payload_digest: str
    prev_hash: str
    sealed_at: str
    seq: str
    type: str


def numbers_of(event_id: str, newest_seq: int) -> list[int]:
    """The sequence numbers that the event can have in a chain whose newest event is ``newest_seq``. Empty: it is no
    identifier of an event.

    The identifier ends with the last 32 bits of the number (``regorus-py/src/record/seal.rs``), so the database needs
    no index of identifiers.
    """
    found = _EVENT_ID.fullmatch(event_id)
    return [] if found is None else list(range(int(found[1], 16), newest_seq + 1, _NUMBERS_IN_AN_ID))


def genesis(org_id: str) -> bytes:
    """The ``prev_hash`` of an organization's first event: different for each, so that chains cannot be swapped."""
    return hashlib.sha256(f"headgate audit genesis v1 {org_id}".encode()).digest()


def payload_digest(salt: bytes, payload: str) -> bytes:
    """SHA-256(salt ‖ payload bytes): says nothing about a payload once the salt is erased."""
    return hashlib.sha256(salt + payload.encode()).digest()


def header_hash(header: str) -> bytes:
    """What the next event's header names as ``prev_hash``."""
    return hashlib.sha256(header.encode()).digest()


def parse_header(header: str) -> Header | None:
    """A header's values; None where it is not of the form that ``header_text`` writes."""
    parsed = _HEADER.fullmatch(header)
    return None if parsed is None else Header(*parsed.groups())


def prev_hash_of(header: str) -> bytes:
    """The predecessor's hash as a header names it; empty where the header is malformed (verification tells)."""
    parsed = parse_header(header)
    return b"" if parsed is None else bytes.fromhex(parsed.prev_hash)


def header_text(
    *,
    org_id: str,
    seq: int,
    event_id: str,
    event_type: str,
    action_id: str | None,
    agent_id: str | None,
    created_at: datetime,
    sealed_at: datetime,
    payload_digest: bytes,
    prev_hash: bytes,
) -> str:
    """A header's exact text. Its values are ASCII without quotes and backslashes, so this is RFC 8785's form."""
    return (
        f'{{"action":{quoted(action_id)},"agent":{quoted(agent_id)},"created_at":"{rfc3339(created_at)}"'
        f',"id":"{event_id}","org":"{org_id}","payload_digest":"sha256:{payload_digest.hex()}"'
        f',"prev_hash":"sha256:{prev_hash.hex()}","sealed_at":"{rfc3339(sealed_at)}"'
        f',"seq":{seq},"type":"{event_type}","v":1}}'
    )


def quoted(value: str | None) -> str:
    """A column's value as a header holds it."""
    return "null" if value is None else f'"{value}"'


def unquoted(value: str) -> str | None:
    """The column's value again, of a header that ``parse_header`` has read."""
    return None if value == "null" else value[1:-1]
