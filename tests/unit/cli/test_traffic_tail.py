"""Following traffic: what comes at once is all shown, and a filter is asked only about what is new."""

from collections.abc import Callable
from typing import Any

from headgate.cli.traffic_tail import Follower
from headgate.client.operations import list_exchanges


class Gate:
    """Answers as ``GET /admin/traffic`` does, of the exchanges that it was given; counts what is recorded."""

    def __init__(self) -> None:
        self.exchanges: list[dict[str, Any]] = []
        self.looks_into_bodies = 0

    def capture(self, *names: str) -> None:
        for name in names:
            number = len(self.exchanges)
            at = f"2026-11-21T10:{number // 60:02}:{number % 60:02}.000000Z"
            self.exchanges.append({"id": f"exc_{number:05}", "created_at": at, "name": name})

    def send(self, operation: Callable[..., Any], /, **parameters: Any) -> dict[str, Any]:
        assert operation is list_exchanges
        found = self.exchanges[::-1]
        if (cursor := parameters.get("cursor")) is not None:
            found = [one for one in found if one["id"] < cursor]
        if (since := parameters.get("start_date")) is not None:
            found = [one for one in found if one["created_at"] >= since]
        if (expression := parameters.get("filter")) is not None:
            self.looks_into_bodies += 1
            found = [one for one in found if expression in one["name"]]
        page, rest = found[: parameters["limit"]], found[parameters["limit"] :]
        return {"data": page, "pagination": {"next_cursor": page[-1]["id"] if rest else None}, "not_captured": []}


def follow(gate: Gate, **filters: str | None) -> Follower:
    return Follower(gate, filters)  # type: ignore[arg-type] # the one method that is used


def names(follower: Follower) -> list[str]:
    return [one["name"] for one in follower.look()[0]]


def test_only_what_has_come_since_is_shown_oldest_first() -> None:
    gate = Gate()
    gate.capture("before")
    follower = follow(gate)
    assert names(follower) == []
    gate.capture("a", "b")
    assert names(follower) == ["a", "b"]
    assert names(follower) == []


def test_more_than_a_page_that_comes_at_once_is_shown_whole() -> None:
    gate = Gate()
    gate.capture("before")
    follower = follow(gate)
    burst = [f"call {number}" for number in range(450)]
    gate.capture(*burst)
    assert names(follower) == burst
    assert names(follower) == []


def test_a_filter_is_asked_about_what_is_new_only() -> None:
    gate = Gate()
    gate.capture("old error")
    follower = follow(gate, filter="error", tool=None)
    asked_at_the_start = gate.looks_into_bodies
    for _ in range(10):
        assert names(follower) == []
    assert gate.looks_into_bodies == asked_at_the_start, "each look into bodies is an event of the record"
    gate.capture("fine", "an error", *["fine"] * 300, "another error")
    assert names(follower) == ["an error", "another error"]
    assert names(follower) == []
