"""What a minute's event names of refused calls, and that a loop of them stays small."""

import itertools
from typing import Any

import pytest

from headgate.audit import count_refusals
from headgate.audit.count_refusals import (
    ALL_CALLS_MAX,
    CALLS_MAX,
    LOOKED_AT_MAX,
    RefusalCounts,
    RefusedCall,
    RefusedRequest,
)
from headgate.db.database import Database
from headgate.kernel.canonical_json import parse_strict
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret

BLOCKED = RefusedRequest("org", "agt", "Robot", "DESTINATION_BLOCKED")


def _call(number: int) -> RefusedCall:
    return RefusedCall("GET", f"h{number}.example", 443, "/", (), "not allowed")


class _Connection:
    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *of: object) -> None:
        return None


class _Away:
    async def __aenter__(self) -> None:
        raise UnavailableError("away")

    async def __aexit__(self, *of: object) -> None:
        return None


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []

    async def record(connection: object, refusals: Any, at: object) -> None:
        found.extend(parse_strict(payload.encode()) for _, _, payload in refusals)

    monkeypatch.setattr(count_refusals, "record_refusals", record)
    monkeypatch.setattr(Database, "across_organizations", lambda self: _Connection())
    return found


@pytest.fixture
def counts() -> RefusalCounts:
    return RefusalCounts(Database(Secret("postgresql://nowhere")), system_clock)


async def test_all_are_counted_and_the_first_are_named(counts: RefusalCounts, written: list[Any]) -> None:
    for number in range(1000):
        counts.add(BLOCKED, lambda: _call(number))  # noqa: B023 - asked at once, or never
    await counts.write()
    [event] = written
    assert event["data"]["count"] == 1000
    assert [call["host"] for call in event["data"]["calls"]] == [f"h{number}.example" for number in range(CALLS_MAX)]
    counts.add(BLOCKED, lambda: _call(7))
    await counts.write()
    assert [call["host"] for call in written[1]["data"]["calls"]] == ["h7.example"], "the next minute begins anew"


async def test_the_same_call_is_named_once_and_not_looked_at_for_ever(
    counts: RefusalCounts, written: list[Any]
) -> None:
    looked = itertools.count()

    def call() -> RefusedCall:
        next(looked)
        return _call(1)

    for _ in range(1000):
        counts.add(BLOCKED, call)
    await counts.write()
    assert len(written[0]["data"]["calls"]) == 1
    assert next(looked) == LOOKED_AT_MAX


async def test_causes_and_agents_share_the_bounds(counts: RefusalCounts, written: list[Any]) -> None:
    for number in range(400):
        for code in ("DESTINATION_BLOCKED", "REQUEST_AMBIGUOUS"):
            for one in range(CALLS_MAX):
                refused = RefusedRequest("org", f"agt{number}", None, code)
                counts.add(refused, lambda: _call(one))  # noqa: B023 - asked at once, or never
    await counts.write()
    assert len(written) == 800
    assert sum(event["data"]["count"] for event in written) == 800 * CALLS_MAX
    assert sum(len(event["data"]["calls"]) for event in written) == ALL_CALLS_MAX


async def test_what_could_not_be_written_is_kept(
    counts: RefusalCounts, written: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setattr(Database, "across_organizations", lambda self: _Away())
        counts.add(BLOCKED, lambda: _call(1))
        with pytest.raises(UnavailableError):
            await counts.write()
    counts.add(BLOCKED, lambda: _call(2))
    await counts.write()
    assert written[0]["data"]["count"] == 2
    assert [call["host"] for call in written[0]["data"]["calls"]] == ["h1.example", "h2.example"]
