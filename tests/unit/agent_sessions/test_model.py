"""What policies read of an agent's session."""

from typing import Any

import pytest

from headgate.agent_sessions import memory as memory_module
from headgate.agent_sessions.memory import SESSIONS_MAX, SessionMemory
from headgate.agent_sessions.model import (
    DESTINATIONS_MAX,
    OPERATIONS_MAX,
    PAUSE_SECONDS,
    RECENT_MAX,
    LastMinute,
    Session,
    SessionCall,
    reads_sessions,
)
from headgate.kernel.canonical_json import canonical_bytes

_START = 1_790_000_000.0


def _call(at: float = 0.0, host: str = "a.example", decision: str = "allow", **members: Any) -> SessionCall:
    given = {"tool": "http", "operation": "get", "effect": "read", "bytes_out": 10} | members
    return SessionCall(at=_START + at, host=host, decision=decision, **given)


class _Clock:
    now = _START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def memory(clock: _Clock) -> SessionMemory:
    return SessionMemory(clock=clock)


def _summary(memory: SessionMemory, host: str | None = "a.example", agent: str = "agt", org: str = "org") -> Any:
    return memory.summary(org, agent, host)


def test_a_first_call_finds_nothing(memory: SessionMemory) -> None:
    summary = _summary(memory)
    assert (summary["allowed"], summary["destinations"], summary["recent"]) == (0, 0, [])
    assert summary["destination"] == {"calls": 0, "bytes_out": 0, "first_seconds_ago": 0.0}
    assert _summary(memory, None)["destination"] is None


def test_what_is_counted(memory: SessionMemory, clock: _Clock) -> None:
    for call in (
        _call(0),
        _call(1, decision="deny", host="b.example", operation="post"),
        _call(2, decision="require_approval", host="c.example", detectors=("iban",)),
        _call(70, decision="approved", host="c.example"),
    ):
        memory.note("org", "agt", call)
    clock.now = _START + 100
    summary = _summary(memory, "c.example")
    assert {name: summary[name] for name in ("allowed", "denied", "held", "bytes_out", "destinations")} == {
        "allowed": 2, "denied": 1, "held": 1, "bytes_out": 20, "destinations": 2,
    }  # fmt: skip
    assert summary["operations"] == {"http.post": 1, "http.get": 3}
    assert summary["detectors"] == {"iban": 1}
    assert summary["destination"] == {"calls": 1, "bytes_out": 10, "first_seconds_ago": 30.0}
    assert summary["last_minute"] == {"allowed": 1, "denied": 0, "held": 0}
    assert [one["seconds_ago"] for one in summary["recent"]] == [30.0, 98.0, 99.0, 100.0]
    assert summary["recent"][2]["decision"] == "deny"


def test_a_denied_or_held_call_makes_no_destination_known(memory: SessionMemory) -> None:
    memory.note("org", "agt", _call(decision="deny"))
    memory.note("org", "agt", _call(decision="require_approval"))
    assert _summary(memory)["destination"]["calls"] == 0


def test_sessions_are_of_one_agent_of_one_organization(memory: SessionMemory) -> None:
    memory.note("org", "agt", _call())
    assert _summary(memory, agent="other")["allowed"] == 0
    assert _summary(memory, org="other")["allowed"] == 0
    assert _summary(memory)["allowed"] == 1


def test_a_pause_ends_a_session(memory: SessionMemory, clock: _Clock) -> None:
    memory.note("org", "agt", _call())
    clock.now = _START + PAUSE_SECONDS
    assert _summary(memory)["allowed"] == 1
    clock.now += 1
    assert _summary(memory)["allowed"] == 0
    memory.note("org", "agt", _call(PAUSE_SECONDS + 1))
    assert _summary(memory)["allowed"] == 1


def test_another_process_knows_the_same(clock: _Clock) -> None:
    told: list[Any] = []
    here, there = SessionMemory(share=told.append, clock=clock), SessionMemory(clock=clock)
    for call in (_call(), _call(1, effect=None, detectors=("iban", "email")), _call(2, decision="deny")):
        here.note("org", "agt", call)
    for row in told:
        there.absorb(row)
    assert _summary(there) == _summary(here)


@pytest.mark.parametrize("row", [None, [], ["org", "agt", "no time", "", "", None, None, "allow", 0, []], {"a": 1}])
def test_a_row_of_another_version_is_refused(memory: SessionMemory, row: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        memory.absorb(row)


def test_memory_is_bounded(memory: SessionMemory) -> None:
    session = Session(_START)
    for number in range(DESTINATIONS_MAX + 10):
        session.add(_call(0, host=f"h{number}.example", operation=f"o{number}"))
    summary = session.summary(_START, "h0.example")
    assert summary["destinations"] == DESTINATIONS_MAX
    assert len(summary["operations"]) == OPERATIONS_MAX  # type: ignore[arg-type] # an object
    assert len(summary["recent"]) == RECENT_MAX  # type: ignore[arg-type] # a list
    assert len(canonical_bytes(summary)) < 10_000
    for number in range(SESSIONS_MAX + 10):
        memory.note("org", f"agt{number}", _call())
    assert _summary(memory, agent="agt0")["allowed"] == 0
    assert _summary(memory, agent=f"agt{SESSIONS_MAX}")["allowed"] == 1


def test_an_organization_pushes_out_its_own_sessions_only(memory: SessionMemory) -> None:
    memory.note("small", "agt", _call())
    for number in range(SESSIONS_MAX + 10):
        memory.note("large", f"agt{number}", _call())
    assert memory.summary("small", "agt", None)["allowed"] == 1
    assert memory.summary("large", "agt10", None)["allowed"] == 0
    assert memory.summary("large", f"agt{SESSIONS_MAX}", None)["allowed"] == 1


def test_an_organization_that_lost_its_only_session_gets_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "SESSIONS_MAX", 3)
    memory = SessionMemory(clock=lambda: _START)
    for name in ("a", "b", "c", "d", "a"):
        memory.note(name, "agt", _call())
    assert memory.summary("a", "agt", None)["allowed"] == 1


def test_the_last_minute_forgets_what_is_older_and_what_is_too_much() -> None:
    minute = LastMinute()
    for number in range(1_010):
        minute.add(_START + number / 100, "allowed")
    minute.add(_START + 11, "denied")
    assert minute.counted(_START + 11) == {"allowed": 999, "denied": 1, "held": 0}
    assert minute.counted(_START + 70) == {"allowed": 10, "denied": 1, "held": 0}
    assert minute.counted(_START + 72) == {"allowed": 0, "denied": 0, "held": 0}


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("allow if input.session.denied < 3", True),
        ("input.action.session.held", True),
        ('input["session"]', True),
        ("input[`session`]", True),
        ("# a session", False),
        ("input.sessions", False),
        ("allow if input.tool", False),
    ],
)
def test_nothing_is_kept_that_no_policy_reads(source: str, reads: bool) -> None:
    assert reads_sessions(["package a", source]) is reads
