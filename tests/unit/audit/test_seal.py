"""Events are sealed with the headers that ``headgate.audit.chain`` describes, and the chain check accepts them."""

import struct
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from regorus import seal_events

from headgate.audit.chain import SALT_BYTES, genesis, header_hash, header_text, numbers_of, payload_digest
from headgate.db.arrays import NULL, element

_ORG = "org_019a0000-0000-7000-8000-000000000000"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_SEALED = datetime(2026, 11, 23, 20, 15, 7, 4, tzinfo=UTC)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _time(moment: datetime) -> bytes:
    return element(struct.pack(">q", _micros(moment)))


def _elements(array: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(array):
        (length,) = struct.unpack_from(">i", array, at)
        found.append(array[at + 4 : at + 4 + length])
        at += 4 + length
    return found


_NAMES = st.none() | st.from_regex(r"\A[A-Za-z0-9_-]{1,40}\Z")
_TIMES = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds it


@given(st.lists(st.tuples(st.sampled_from(["decision.made", "user.created"]), _NAMES, _NAMES, _TIMES, st.text())))
def test_headers_are_those_of_the_chain(events: list[tuple[str, str | None, str | None, datetime, str]]) -> None:
    given_events = [
        (
            element(kind),
            NULL if action is None else element(action),
            NULL if agent is None else element(agent),
            _time(created),
            element(payload.encode("utf-8", "surrogatepass")),
        )
        for kind, action, agent, created, payload in events
    ]
    arrays = seal_events(_ORG.encode(), 7, genesis(_ORG), _micros(_SEALED), bytes(32), given_events)
    ids, headers, hashes, salts = map(_elements, arrays)
    assert len(ids) == len(headers) == len(hashes) == len(salts) == len(events)
    previous = genesis(_ORG)
    for position, (kind, action, agent, created, payload) in enumerate(events):
        assert len(salts[position]) == SALT_BYTES
        assert headers[position].decode() == header_text(
            org_id=_ORG, seq=7 + position, event_id=ids[position].decode(), event_type=kind, action_id=action,
            agent_id=agent, created_at=created, sealed_at=_SEALED,
            payload_digest=payload_digest(salts[position], payload), prev_hash=previous,
        )  # fmt: skip
        previous = header_hash(headers[position].decode())
        assert hashes[position] == previous
        uuid = UUID(ids[position].decode().removeprefix("evt_"))
        assert (uuid.version, uuid.int >> 80) == (7, int(_SEALED.timestamp() * 1000))
        assert numbers_of(ids[position].decode(), 7 + len(events)) == [7 + position]
    assert len(set(ids)) == len(set(salts)) == len(events)


def test_an_identifier_says_which_numbers_its_event_can_have() -> None:
    first = (1 << 32) + 5
    event = (element("a.b"), NULL, NULL, _time(_SEALED), element("{}"))
    ids, *_ = seal_events(_ORG.encode(), first, genesis(_ORG), _micros(_SEALED), bytes(32), [event])
    [event_id] = (one.decode() for one in _elements(ids))
    assert numbers_of(event_id, first) == [5, first]
    assert numbers_of(event_id, first - 1) == [5]
    assert numbers_of(event_id, 4) == []
    for wrong in ("evt_forged", event_id.upper(), event_id + "0", "act" + event_id[3:], ""):
        assert numbers_of(wrong, first) == []


@pytest.mark.parametrize(
    "bad",
    [
        (element('x","v":1}'), NULL, NULL, _time(_SEALED), element("{}")),
        (NULL, NULL, NULL, _time(_SEALED), element("{}")),
        (element("a.b"), element('a"'), NULL, _time(_SEALED), element("{}")),
        (element("a.b"), NULL, element("a\\"), _time(_SEALED), element("{}")),
        (element("a.b"), NULL, NULL, element(struct.pack(">q", 2**63 - 1)), element("{}")),
        (element("a.b"), NULL, NULL, NULL, element("{}")),
        (element("a.b"), NULL, NULL, _time(_SEALED), NULL),
        (element("a.b"), NULL, NULL, _time(_SEALED), element("{}")[:-1]),
        (b"", b"", b"", b"", b""),
    ],
)
def test_an_event_that_a_header_cannot_describe_is_named(bad: tuple[bytes, bytes, bytes, bytes, bytes]) -> None:
    good = (element("a.b"), NULL, NULL, _time(_SEALED), element("{}"))
    with pytest.raises(ValueError, match="event 1 of the round"):
        seal_events(_ORG.encode(), 1, genesis(_ORG), _micros(_SEALED), bytes(32), [good, bad])
