"""The quick check says yes exactly where a header is what ``header_text`` writes of its row, and does not know else."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from regorus import check_window

from headgate.audit.chain import genesis, header_hash, header_text, payload_digest
from headgate.audit.window_check import WindowCheck, WindowRow

_ORG = "org_019a0000-0000-7000-8000-000000000000"
_SERVER_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_SEALED = datetime(2026, 11, 21, 20, 15, 7, 4, tzinfo=UTC)
_INFINITY = 2**63 - 1


@dataclass(frozen=True)
class _Event:
    event_id: str
    event_type: str
    action_id: str | None
    agent_id: str | None
    created_at: datetime
    sealed_at: datetime
    salt: bytes
    payload: str


_EVENTS = [
    _Event("evt_1", "decision.made", "act_1", None, _SEALED - timedelta(days=9), _SEALED, b"s" * 16, '{"n":"ä"}'),
    _Event("evt_2", "user.created", None, "agt_2", _SEALED, _SEALED, b"t" * 16, "{}"),
    _Event("evt_3", "agent.stopped", "act_3", "agt_3", _SEALED, _SEALED + timedelta(microseconds=1), b"", ""),
]


def _micros(time: datetime) -> int:
    return (time - _SERVER_EPOCH) // timedelta(microseconds=1)


def _rows(events: list[_Event]) -> list[WindowRow]:
    previous, rows = genesis(_ORG), []
    for seq, event in enumerate(events, 1):
        header = header_text(
            org_id=_ORG, seq=seq, event_id=event.event_id, event_type=event.event_type, action_id=event.action_id,
            agent_id=event.agent_id, created_at=event.created_at, sealed_at=event.sealed_at,
            payload_digest=payload_digest(event.salt, event.payload), prev_hash=previous,
        )  # fmt: skip
        previous = header_hash(header)
        rows.append(_row(seq, header, previous, event))
    return rows


def _row(seq: int, header: str, digest: bytes, event: _Event) -> WindowRow:
    action, agent = (None if one is None else one.encode() for one in (event.action_id, event.agent_id))
    return (
        seq, header.encode(), digest, _micros(event.sealed_at), event.event_id.encode(), event.event_type.encode(),
        action, agent, _micros(event.created_at), _micros(event.sealed_at), event.salt, event.payload.encode(),
    )  # fmt: skip


def _check(rows: list[WindowRow]) -> list[bytes]:
    return WindowCheck(_ORG, 1, genesis(_ORG)).check(rows)


def test_what_was_sealed() -> None:
    rows = _rows(_EVENTS)

    assert _check(rows) == [row[2] for row in rows]


def test_windows_one_after_the_other() -> None:
    rows = _rows(_EVENTS)
    check = WindowCheck(_ORG, 1, genesis(_ORG))

    assert [check.check([row]) for row in rows] == [[row[2]] for row in rows]
    assert (check.seq, check.prev_hash) == (4, rows[-1][2])


def test_what_was_erased() -> None:
    rows = [(*row[:10], None, None) for row in _rows(_EVENTS)]

    assert len(_check(rows)) == 3


@pytest.mark.parametrize("column", range(12))
def test_every_column(column: int) -> None:
    rows = _rows(_EVENTS)
    row = list(rows[1])
    value = row[column]
    changes = [None, value + 1] if isinstance(value, int) else [None, (value or b"") + b"x", b""]
    for changed in changes[0 if column > 3 else 1 :]:  # what the chain's row holds is never null
        if changed == value:
            continue
        row[column] = changed

        assert len(_check([rows[0], tuple(row), rows[2]])) == 1  # type: ignore[list-item, arg-type]


@pytest.mark.parametrize("changed", ["seq", "link", "time"])
def test_what_lies_before(changed: str) -> None:
    rows = _rows(_EVENTS)
    check = WindowCheck(_ORG, 2 if changed == "link" else 3, rows[0 if changed == "time" else 1][2])

    assert check.check(rows[2:] if changed != "seq" else rows[1:]) == []


def test_another_organization() -> None:
    rows = _rows(_EVENTS)

    assert WindowCheck("org_2", 1, genesis(_ORG)).check(rows) == []


def test_time_does_not_go_back() -> None:
    earlier = replace(_EVENTS[2], sealed_at=_SEALED - timedelta(microseconds=1))
    rows = _rows([*_EVENTS[:2], earlier])
    hashes, sealed = check_window(_ORG.encode(), 1, genesis(_ORG), None, rows)

    assert hashes == [row[2] for row in rows[:2]]
    assert check_window(_ORG.encode(), 3, hashes[-1], sealed, rows[2:])[0] == []
    assert len(check_window(_ORG.encode(), 3, hashes[-1], None, rows[2:])[0]) == 1


@pytest.mark.parametrize("time", [_INFINITY, -_INFINITY - 1, _micros(_SERVER_EPOCH) - 10**18, 10**18])
def test_times_that_no_header_holds(time: int) -> None:
    row = _rows(_EVENTS)[0]

    assert _check([(*row[:8], time, *row[9:])]) == []  # type: ignore[list-item]
    assert _check([(*row[:3], time, *row[4:9], time, *row[10:])]) == []  # type: ignore[list-item]


_FIRST, _LAST = (_micros(datetime(year, 1, 1, tzinfo=UTC)) for year in (1, 9999))
_TIMES = st.integers(_FIRST, _LAST).map(lambda micros: _SERVER_EPOCH + timedelta(microseconds=micros))
_NAMES = st.text("abcXYZ019_-", min_size=1, max_size=12)
_MADE = st.builds(
    _Event, _NAMES, _NAMES, st.none() | _NAMES, st.none() | _NAMES, _TIMES, _TIMES, st.binary(max_size=20), st.text()
)


@given(st.lists(_MADE, max_size=5))
def test_any_events(events: list[_Event]) -> None:
    sound = next(
        (at for at, (one, other) in enumerate(pairwise(events), 1) if other.sealed_at < one.sealed_at), len(events)
    )

    assert len(_check(_rows(events))) == sound
