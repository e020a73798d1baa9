"""Deciding several at once: which were not decided, and why, is said apart from what was."""

import httpx
import pytest
from click.testing import CliRunner

from headgate.cli import client_option
from headgate.cli.main import headgate
from tests.answering_api import answering_api

ONE = "apr_01a20aca-580f-7b4c-a709-d32fa3c114a9"
TWO = "apr_01a20aca-5857-7382-8cbd-316c21d23cdf"
RESULTS = [
    {"id": ONE, "result": "voted", "status": "denied", "error": None},
    {"id": TWO, "result": "error", "status": None, "error": {"code": "CONFLICT", "message": "it is decided"}},
]


def test_what_was_not_decided_is_said_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = httpx.Response(200, json={"voted": 1, "failed": 1, "results": RESULTS})
    monkeypatch.setattr(client_option, "find_target", lambda runtime_file: None)
    with answering_api(lambda request: answer) as client:
        monkeypatch.setattr(client_option, "ApiClient", lambda target: client)
        ended = CliRunner().invoke(headgate, ["approvals", "deny", ONE, TWO, "--reason", "no"])
    assert (ended.exit_code, ended.stdout) == (1, f"{ONE} is denied\n")
    assert ended.stderr == f"{TWO} was not decided: it is decided\n"
