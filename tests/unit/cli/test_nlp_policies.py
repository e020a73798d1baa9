"""``headgate nlp list``, ``create`` and ``test``: what is sent, and a policy by its name or a part of its id."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from click.testing import CliRunner

from headgate.cli.main import headgate
from headgate.cli.nlp_policies import TYPES
from headgate.client.types import NlpPolicyType
from tests.http_server import any_server

ONE = "nlp_01a20ae4-509f-7a8c-84c1-d954549c6e85"
TWO = "nlp_01a20ae5-509f-7a8c-84c1-d954549c7777"
POLICIES = [
    {"id": one, "name": name, "type": "pii_detection", "model": "pii", "threshold": 0.5, "on_match": "deny",
     "enabled": True, "warnings": ["no names"]}
    for one, name in ((ONE, "Mail"), (TWO, "Twin"), (TWO[:-1] + "8", "Twin"))
]  # fmt: skip
TEMPLATE = {
    "id": "pii_hold", "name": "x", "type": "pii_detection", "description": "asks", "provider": "embedded",
    "model": "pii", "prompt": None, "threshold": 0.5, "on_match": "require_approval", "cases": [],
    "on_error": "deny", "on_unscannable": None, "scope": {"except_tools": ["llm"]}, "profiles": ["balanced"],
}  # fmt: skip
RESULT = {
    "decision": "deny", "risk_score": 0.95, "reasoning": "1 found\x1b[2K", "latency_ms": 3.0,
    "details": {
        "outcome": "match", "detected_issues": ["email"], "error": "not_inspected", "provider": "embedded",
        "model": "pii",
        "findings": [
            {"type": "email", "path": "$.to", "offset": 4, "steps": ["base64"], "sample": "ada… (15 characters)\x1b"},
            {"type": "email", "path": "$", "offset": None, "steps": [], "sample": "…"},
        ],
    },
}  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, Any]]]:
    """What was sent to be made or asked."""
    found: list[tuple[str, Any]] = []

    def answer(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
        path = target.partition("?")[0]
        document: object = {"data": [TEMPLATE]} if path.endswith("/templates") else {"data": POLICIES}
        if method == "POST":
            found.append((path, json.loads(body)))
            document = RESULT if path.endswith("/test") else POLICIES[0]
        return 200, "application/json", json.dumps(document).encode()

    with any_server(answer) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
        yield found


def test_a_template_is_the_beginning(asked: list[tuple[str, Any]]) -> None:
    words = ["nlp", "create", "Mail", "--template", "pii_hold", "--threshold", "0.9", "--tool", "mail", "--disabled"]
    done = CliRunner().invoke(headgate, words)
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"{ONE} is enabled\n", "warning: no names\n")
    assert asked == [
        (
            "/admin/nlp-policies",
            {
                "name": "Mail", "type": "pii_detection", "description": "asks", "provider": "embedded", "model": "pii",
                "threshold": 0.9, "on_match": "require_approval", "on_error": "deny", "enabled": False,
                "scope": {"except_tools": ["llm"], "tools": ["mail"]},
            },
        )
    ]  # fmt: skip


@pytest.mark.parametrize("words", [(), ("--template", "pii_hold", "--type", "custom")])
def test_one_beginning_is_named(asked: list[tuple[str, Any]], words: tuple[str, ...]) -> None:
    assert CliRunner().invoke(headgate, ["nlp", "create", "Mail", *words]).exit_code == 2
    assert asked == []


@pytest.mark.parametrize("policy", [ONE, "Mail", "01a20ae4", "nlp_01a2…6e85"])
def test_a_policy_is_asked_by_its_name_or_its_id(asked: list[tuple[str, Any]], policy: str) -> None:
    done = CliRunner().invoke(headgate, ["nlp", "test", policy], input="text")
    assert done.exit_code == 0, done.output
    assert asked == [(f"/admin/nlp-policies/{ONE}/test", {"content": "text"})]
    assert done.output.startswith("deny\n")
    assert "1 found\\u{1b}[2K" in done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert ["email", "$.to:4", "(base64)", "ada…", "(15", "characters)\\u{1b}"] in lines
    assert "not inspected" in done.output and "issues" not in done.output


@pytest.mark.parametrize(("policy", "said"), [("Twin", "matches 2"), ("None", "no content policy")])
def test_which_one_is_not_guessed(asked: list[tuple[str, Any]], policy: str, said: str) -> None:
    done = CliRunner().invoke(headgate, ["nlp", "test", policy], input="text")
    assert said in str(done.exception)
    assert asked == []


def test_the_list(asked: list[tuple[str, Any]]) -> None:
    shown = CliRunner().invoke(headgate, ["nlp", "list"]).stdout
    assert [line.split()[-1] for line in shown.splitlines()] == ["NAME", "Mail", "Twin", "Twin"]
    assert len(json.loads(CliRunner().invoke(headgate, ["nlp", "list", "--json"]).stdout)["data"]) == 3


def test_the_types_are_those_of_the_api() -> None:
    assert get_args(NlpPolicyType.__value__) == TYPES
