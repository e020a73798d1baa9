"""What commands send that decide nothing: reassign, escalate, and notes about captured traffic."""

import json

import httpx
import pytest
from click.testing import CliRunner

from headgate.cli import client_option
from headgate.cli.main import headgate
from tests.answering_api import answering_api

APPROVAL = "apr_01a20aca-580f-7b4c-a709-d32fa3c114a9"
EXCHANGE = "exc_01a20aca-580f-7b4c-a709-d32fa3c114a9"
PEOPLE = [{"id": None, "email": "ana@example.com"}, {"id": "group:\x1bops", "email": None}]


@pytest.mark.parametrize(
    ("words", "sent", "said"),
    [
        (
            ["approvals", "reassign", APPROVAL, "ana@example.com", "group:ops", "--reason", "on call"],
            (
                "POST",
                f"/v1/approvals/{APPROVAL}/reassign",
                {"assignees": ["ana@example.com", "group:ops"], "reason": "on call"},
            ),
            f"{APPROVAL} waits for ana@example.com, group:\\u{{1b}}ops\n",
        ),
        (
            ["approvals", "escalate", APPROVAL],
            ("POST", f"/v1/approvals/{APPROVAL}/escalate", {}),
            f"{APPROVAL} waits for ana@example.com, group:\\u{{1b}}ops\n",
        ),
        (
            ["traffic", "note", EXCHANGE, "see INC-7", "--tag", "odd", "--tag", "inc-7"],
            ("PUT", f"/admin/traffic/{EXCHANGE}/annotation", {"note": "see INC-7", "tags": ["odd", "inc-7"]}),
            f"{EXCHANGE} has a note, tags: odd, inc-7\n",
        ),
        (
            ["traffic", "note", EXCHANGE],
            ("PUT", f"/admin/traffic/{EXCHANGE}/annotation", {"note": "", "tags": []}),
            f"{EXCHANGE} has no note, tags: none\n",
        ),
    ],
)
def test_it_is_sent_and_the_answer_is_shown(
    monkeypatch: pytest.MonkeyPatch, words: list[str], sent: tuple[object, ...], said: str
) -> None:
    seen: list[tuple[object, ...]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, request.url.path, json.loads(request.content)))
        return httpx.Response(200, json={"id": words[2], "assignees": PEOPLE})

    monkeypatch.setattr(client_option, "find_target", lambda runtime_file: None)
    with answering_api(answer) as client:
        monkeypatch.setattr(client_option, "ApiClient", lambda target: client)
        ended = CliRunner().invoke(headgate, words, catch_exceptions=False)
    assert (seen, ended.stdout) == ([sent], said), ended.stderr
