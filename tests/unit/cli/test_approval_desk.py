"""``headgate approvals watch`` on a terminal: what is shown, and what each key does."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from headgate.cli.approval_desk import Desk
from tests.answering_api import answering_api

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def _approval(number: int, held_until: str | None, status: str = "pending") -> dict[str, Any]:
    return {
        "id": f"apr_{number}", "status": status, "created_at": "2026-11-23T11:00:00Z", "held_until": held_until,
        "expires_at": "2026-11-24T12:00:00Z", "summary": f"Robot wants {number}\x1b[2K", "agent_name": "Robot",
        "agent_id": "agt_1", "action": {"tool": "bank", "operation": "pay", "params": {"to": "a\u202eb"}},
        "decision": {"risk_level": "high", "reason": "writes", "policy_id": None}, "current_approvals": 0,
        "required_approvals": 1, "risk_is_stated": number == 2, "digest": f"sha256:{number}", "context": None,
    }  # fmt: skip


@dataclass
class Api:
    """Open requests; each vote decides. ``refuses``: what is answered to votes."""

    approvals: dict[str, dict[str, Any]]
    refuses: str | None = None
    votes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        parts = request.url.path.split("/")[3:]
        if not parts:
            data = [one for one in self.approvals.values() if one["status"] == "pending"]
            return httpx.Response(200, json={"data": data, "pagination": {"next_cursor": None}})
        one = self.approvals[parts[0]]
        if len(parts) == 1:
            return httpx.Response(200, json=one)
        if self.refuses is not None:
            return httpx.Response(409, json={"error": {"code": "CONFLICT", "message": self.refuses}})
        self.votes.append((f"{parts[1]} {parts[0]}", json.loads(request.content)))
        one["status"] = {"approve": "approved", "deny": "denied"}[parts[1]]
        return httpx.Response(200, json=one)


@dataclass
class Screen:
    keys: Iterator[str | None]
    reasons: list[str | None]
    said: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    forgotten: int = 0

    def say(self, text: str) -> None:
        self.said.append(text)

    def status(self, text: str) -> None:
        self.statuses.append(text)

    def key(self) -> str | None:
        return next(self.keys)

    def forget(self) -> None:
        self.forgotten += 1

    def ask(self, question: str) -> str | None:
        return self.reasons.pop(0)


def _sit(api: Api, *keys: str | None, reasons: tuple[str | None, ...] = (), changed: bool = False) -> Screen:
    screen = Screen(iter([*keys, "q"]), [*reasons])
    with answering_api(api) as client:
        Desk(client, screen, lambda: NOW, lambda: changed).sit()
    return screen


@pytest.fixture
def api() -> Api:
    two = [_approval(1, None), _approval(2, "2026-11-23T12:00:42Z")]
    return Api({one["id"]: one for one in two})


def test_the_one_whose_agent_waits_is_first_and_nothing_speaks_to_the_terminal(api: Api) -> None:
    screen = _sit(api)
    shown = "\n".join(screen.said)
    assert "Robot wants 2\\u{1b}[2K" in shown
    assert all(text in shown for text in ("2 waiting", "bank.pay", "high", "writes", '"to": "a\\u202eb"'))
    assert screen.statuses == ["[a] approve  [d] deny  [s] skip  [q] quit    agent waits, 42 s left"]
    assert shown.isprintable() or "\x1b" not in shown
    assert "\u202e" not in shown


def test_a_risk_that_no_policy_states_is_not_named(api: Api) -> None:
    assert "risk     high" in "\n".join(_sit(api).said)
    del api.approvals["apr_2"]
    shown = "\n".join(_sit(api).said)
    assert "risk     not stated" in shown
    assert "high" not in shown


def test_keys_decide_one_after_the_other(api: Api) -> None:
    screen = _sit(api, None, "x", "a", "d", reasons=("not today",))
    assert api.votes == [
        ("approve apr_2", {"digest": "sha256:2"}),
        ("deny apr_1", {"reason": "not today"}),
    ]
    assert screen.forgotten == 2
    assert "No open requests" in screen.statuses[-1]


def test_who_changes_their_mind_denies_nothing(api: Api) -> None:
    _sit(api, "d", reasons=(None,))
    assert api.votes == []


def test_an_empty_reason_is_asked_for_again_and_no_letter_of_it_decides(api: Api) -> None:
    screen = _sit(api, "d", reasons=("", " ", "because"))
    assert api.votes == [("deny apr_2", {"reason": "because"})]
    assert screen.said.count("A denial needs a reason. Enter one, or press Ctrl-D to go back.") == 2


def test_a_skipped_one_does_not_come_again(api: Api) -> None:
    screen = _sit(api, "s", "s")
    assert api.votes == []
    assert "No open requests" in screen.statuses[-1]


def test_what_was_decided_elsewhere_is_told(api: Api) -> None:
    listed = api.approvals["apr_2"]
    first = iter([listed, {**listed, "status": "denied"}])
    api.approvals = {"apr_2": listed}
    real = api.__call__

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("apr_2"):
            api.approvals["apr_2"] = next(first)
        return real(request)

    screen = Screen(iter([None, "q"]), [])
    changes = iter([True, False])
    with answering_api(answer) as client:
        Desk(client, screen, lambda: NOW, lambda: next(changes)).sit()
    assert "apr_2 is denied, decided elsewhere." in screen.said


def test_a_refused_vote_is_told_and_the_next_one_comes(api: Api) -> None:
    api.refuses = "it changed"
    screen = _sit(api, "a")
    assert any("it changed" in line for line in screen.said)
    assert screen.said.count("─" * 40 + " 1 waiting") == 1
