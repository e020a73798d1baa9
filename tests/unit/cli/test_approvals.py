"""What a person is shown of an approval."""

from typing import Any

import click
import pytest

from headgate.cli.actor_text import People
from headgate.cli.api_client import ApiClient
from headgate.cli.approvals import asked, told
from headgate.cli.grant_options import bounds_body, conditions_body
from headgate.cli.target import Target
from headgate.kernel.secrets import Secret

NO_API = ApiClient(Target("http://127.0.0.1:1", Secret("t")))
AT = "2026-11-21T12:50:05Z"


@pytest.mark.parametrize(
    ("by", "reason", "text"),
    [
        ({"id": "usr_1", "email": "ann@example.com"}, "too much", f"{AT} by ann@example.com: too much"),
        ({"id": "usr_1", "email": None}, None, f"{AT} by usr_1"),
        (None, None, AT),
    ],
)
def test_history_says_when_by_whom_and_what(by: Any, reason: str | None, text: str) -> None:
    entry = {"event": "denied", "at": AT, "by": by, "reason": reason, "on_behalf_of": None}
    assert told(entry, People(NO_API)) == text


def test_history_says_in_whose_place() -> None:
    by = {"id": "usr_1", "email": "ann@example.com"}
    entry = {"event": "approved", "at": AT, "by": by, "reason": "fine", "on_behalf_of": "usr_2"}
    assert told(entry, People(NO_API)) == f"{AT} by ann@example.com on behalf of usr_2: fine"


@pytest.mark.parametrize(
    ("requirement", "text"),
    [
        ({}, ""),
        ({"roles": {"finance": 1, "security": 2}}, "1 of group:finance, 2 of group:security"),
        ({"roles": {"finance": 1}, "assignees": ["usr_1"]}, "1 of group:finance; any other of usr_1"),
        (
            {"assignees": ["group:a", "usr_1"], "separation_of_duties": ["agent_owner"]},
            "only group:a, usr_1; not the agent owner",
        ),
    ],
)
def test_whose_approvals_are_wanted(requirement: dict[str, Any], text: str) -> None:
    assert asked({"roles": {}, "assignees": [], "separation_of_duties": []} | requirement) == text


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("path^=/repos/acme/", {"param": "path", "prefix": "/repos/acme/"}),
        ("amount<=10.5", {"param": "amount", "at_most": 10.5}),
        ("amount>=3", {"param": "amount", "at_least": 3}),
        ("draft=true", {"param": "draft", "equals": True}),
        ("name=acme", {"param": "name", "equals": "acme"}),
        ('number="3"', {"param": "number", "equals": "3"}),
        ("query=a=b", {"param": "query", "equals": "a=b"}),
        ("/a/0~=[a-z]+", {"param": "/a/0", "matches": "[a-z]+"}),
    ],
)
def test_a_condition_on_a_command_line(text: str, body: dict[str, object]) -> None:
    assert conditions_body([text]) == [body]


@pytest.mark.parametrize("text", ["path", "=x", "amount<=many", "amount>=true"])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(click.UsageError):
        conditions_body([text])


def test_the_bounds_of_a_grant() -> None:
    assert bounds_body(3, "8h", "why", "amount<=100") == {
        "max_uses": 3, "expires_in_seconds": 28_800, "reason": "why", "sum": {"param": "amount", "at_most": 100},
    }  # fmt: skip
    for duration in ("", "0h", "8 h", "8w", "-1h"):
        with pytest.raises(click.UsageError):
            bounds_body(1, duration, "why", None)
    with pytest.raises(click.UsageError):
        bounds_body(1, "1h", "why", "amount>=1")
