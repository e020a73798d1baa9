"""The chain's verification: every way to tamper with a stored run is found, at the event where it begins."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.audit.chain import StoredEvent, genesis, header_hash, header_text, payload_digest, prev_hash_of
from headgate.audit.chain_verifier import FaultReason, verify

_ORG = "org_one"
_START = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def _chain(
    length: int, org_id: str = _ORG, payload: str = '{"actor":{"id":"a","type":"agent"},"data":{"n":%d}}'
) -> list[StoredEvent]:
    events: list[StoredEvent] = []
    prev = genesis(org_id)
    for seq in range(1, length + 1):
        salt, text = bytes([seq % 256]) * 16, payload % seq
        created_at, sealed_at = _START + timedelta(seconds=seq), _START + timedelta(seconds=seq, milliseconds=13)
        header = header_text(
            org_id=org_id,
            seq=seq,
            event_id=f"evt_{seq}",
            event_type="decision.made",
            action_id=f"act_{seq}" if seq % 2 else None,
            agent_id="agt_1",
            created_at=created_at,
            sealed_at=sealed_at,
            payload_digest=payload_digest(salt, text),
            prev_hash=prev,
        )
        prev = header_hash(header)
        events.append(
            StoredEvent(
                seq, header, prev, sealed_at, f"evt_{seq}", "decision.made", f"act_{seq}" if seq % 2 else None,
                "agt_1", created_at, sealed_at, salt, text,
            )
        )  # fmt: skip
    return events


def _rehashed(event: StoredEvent, header: str) -> StoredEvent:
    return event._replace(header=header, hash=header_hash(header))


def test_an_untouched_chain_is_valid_and_says_what_it_covers() -> None:
    events = _chain(5)
    result = verify(_ORG, events, 1, 5)
    assert result.valid
    assert (result.events_verified, result.first_event, result.last_event) == (5, "evt_1", "evt_5")
    assert (result.chain_start_hash, result.chain_end_hash) == (events[0].hash, events[4].hash)
    assert prev_hash_of(events[0].header) == genesis(_ORG)
    assert prev_hash_of(events[4].header) == events[3].hash


def test_a_run_in_the_middle_counts_itself_and_not_its_neighbours() -> None:
    result = verify(_ORG, _chain(9)[2:7], 4, 6)
    assert result.valid
    assert (result.events_verified, result.first_event, result.last_event) == (3, "evt_4", "evt_6")


type _Tampering = Callable[[list[StoredEvent]], list[StoredEvent]]


def _set(index: int, **changes: object) -> _Tampering:
    return lambda events: [*events[:index], events[index]._replace(**changes), *events[index + 1 :]]


def _rewrite(index: int, old: str, new: str) -> _Tampering:
    return lambda events: [
        *events[:index],
        _rehashed(events[index], events[index].header.replace(old, new)),
        *events[index + 1 :],
    ]


def _swap(events: list[StoredEvent]) -> list[StoredEvent]:
    return [*events[:3], events[4], events[3], *events[5:]]


def _swap_content(events: list[StoredEvent]) -> list[StoredEvent]:
    return [*events[:3], events[4]._replace(seq=4), events[3]._replace(seq=5), *events[5:]]


def _foreign(events: list[StoredEvent]) -> list[StoredEvent]:
    return _chain(6, org_id="org_two")


@pytest.mark.parametrize(
    ("tampering", "reason", "seq"),
    [
        pytest.param(_set(2, header="{}"), FaultReason.HEADER_CHANGED, 3, id="header rewritten"),
        pytest.param(_rewrite(2, "decision.made", "decision.lost"), FaultReason.COLUMN_CHANGED, 3, id="header, hash"),
        pytest.param(_rewrite(2, '"v":1', '"v":2'), FaultReason.HEADER_MALFORMED, 3, id="unknown version"),
        pytest.param(_rewrite(2, '"v":1}', '"v":1,"x":2}'), FaultReason.HEADER_MALFORMED, 3, id="more in the header"),
        pytest.param(_set(2, hash=bytes(32)), FaultReason.HEADER_CHANGED, 3, id="hash"),
        pytest.param(lambda events: events[:2] + events[3:], FaultReason.MISSING, 3, id="one deleted"),
        pytest.param(lambda events: events[1:], FaultReason.MISSING, 1, id="first deleted"),
        pytest.param(lambda events: events[:-1], FaultReason.MISSING, 6, id="last deleted"),
        pytest.param(lambda events: [], FaultReason.MISSING, 1, id="all deleted"),
        pytest.param(_swap, FaultReason.MISSING, 4, id="two swapped"),
        pytest.param(_swap_content, FaultReason.OUT_OF_ORDER, 4, id="two renumbered"),
        pytest.param(_foreign, FaultReason.WRONG_ORGANIZATION, 1, id="another organization's"),
        pytest.param(_set(2, event_id="evt_x"), FaultReason.COLUMN_CHANGED, 3, id="event_id"),
        pytest.param(_set(2, event_type="key.created"), FaultReason.COLUMN_CHANGED, 3, id="event_type"),
        pytest.param(_set(2, action_id=None), FaultReason.COLUMN_CHANGED, 3, id="action_id removed"),
        pytest.param(_set(3, action_id="act_9"), FaultReason.COLUMN_CHANGED, 4, id="action_id added"),
        pytest.param(_set(2, agent_id="agt_2"), FaultReason.COLUMN_CHANGED, 3, id="agent_id"),
        pytest.param(_set(2, created_at=_START), FaultReason.COLUMN_CHANGED, 3, id="created_at"),
        pytest.param(_set(2, sealed_at=_START), FaultReason.COLUMN_CHANGED, 3, id="the chain's sealed_at"),
        pytest.param(_set(2, event_sealed_at=_START), FaultReason.COLUMN_CHANGED, 3, id="the month's sealed_at"),
        pytest.param(_set(2, payload='{"n":4}'), FaultReason.PAYLOAD_CHANGED, 3, id="payload"),
        pytest.param(_set(2, salt=bytes(16)), FaultReason.PAYLOAD_CHANGED, 3, id="salt"),
        pytest.param(_set(2, payload=None), FaultReason.PAYLOAD_CHANGED, 3, id="payload without its salt"),
    ],
)  # fmt: skip
def test_tampering_is_found_where_it_begins(tampering: _Tampering, reason: FaultReason, seq: int) -> None:
    result = verify(_ORG, tampering(_chain(6)), 1, 6)
    assert not result.valid
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (reason, seq)
    assert result.events_verified == seq - 1


def test_an_event_inserted_again_is_out_of_order() -> None:
    events = _chain(6)
    result = verify(_ORG, [*events[:4], events[3], *events[4:]], 1, 6)
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq, result.events_verified) == (FaultReason.OUT_OF_ORDER, 4, 4)


def test_a_header_rewritten_with_its_hash_and_columns_breaks_the_next_link() -> None:
    events = _chain(6)
    changed = _rehashed(events[2], events[2].header.replace("decision.made", "decision.lost"))
    result = verify(_ORG, [*events[:2], changed._replace(event_type="decision.lost"), *events[3:]], 1, 6)
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (FaultReason.LINK_BROKEN, 4)


def test_the_event_after_a_run_shows_that_its_end_was_rewritten() -> None:
    events = _chain(6)
    changed = _rehashed(events[3], events[3].header.replace("decision.made", "decision.lost"))
    run = [*events[:3], changed._replace(event_type="decision.lost"), events[4]]
    result = verify(_ORG, run, 1, 4)
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (FaultReason.LINK_BROKEN, 5)


def test_a_run_whose_predecessor_is_gone_is_not_valid() -> None:
    result = verify(_ORG, _chain(6)[3:], 4, 6)
    assert result.fault is not None
    assert (result.fault.reason, result.fault.seq) == (FaultReason.MISSING, 3)


def test_sealing_time_never_runs_backwards() -> None:
    events = _chain(2)
    early = _START - timedelta(days=1)
    header = events[1].header.replace(events[1].sealed_at.strftime("%H:%M:%S.%f"), early.strftime("%H:%M:%S.%f"))
    header = header.replace('"sealed_at":"2026-11-21', '"sealed_at":"2026-11-20')
    result = verify(_ORG, [events[0], _rehashed(events[1], header)._replace(sealed_at=early)], 1, 2)
    assert result.fault is not None
    assert result.fault.reason is FaultReason.TIME_REVERSED


@pytest.mark.parametrize(
    "erased",
    [
        {"salt": None, "payload": None},
        dict.fromkeys(
            ("event_id", "event_type", "action_id", "agent_id", "created_at", "event_sealed_at", "salt", "payload")
        ),
    ],
)
def test_erased_payloads_leave_the_chain_valid_and_are_counted(erased: dict[str, None]) -> None:
    events = _chain(4)
    result = verify(_ORG, [events[0], events[1]._replace(**erased), *events[2:]], 1, 4)
    assert result.valid
    assert (result.events_verified, result.payloads_erased) == (4, 1)


@given(
    seq=st.integers(0, 5),
    offset=st.integers(0, 10_000),
    bit=st.integers(0, 6),
    field=st.sampled_from(["header", "payload"]),
)
def test_no_flipped_bit_passes(seq: int, offset: int, bit: int, field: str) -> None:
    events = _chain(6)
    text = bytearray(getattr(events[seq], field).encode())
    text[offset % len(text)] ^= 1 << bit
    events[seq] = events[seq]._replace(**{field: text.decode("latin-1")})
    result = verify(_ORG, events, 1, 6)
    assert result.fault is not None
    assert result.fault.seq == seq + 1


@given(first=st.integers(1, 8), length=st.integers(0, 7))
def test_every_run_of_a_valid_chain_is_valid(first: int, length: int) -> None:
    events, last = _chain(8), min(first + length, 8)
    result = verify(_ORG, events[max(first - 2, 0) : last + 1], first, last)
    assert result.valid
    assert result.events_verified == last - first + 1


@given(order=st.permutations(range(5)))
def test_no_other_order_passes(order: list[int]) -> None:
    events = _chain(5)
    assert verify(_ORG, [events[index] for index in order], 1, 5).valid is (order == sorted(order))
