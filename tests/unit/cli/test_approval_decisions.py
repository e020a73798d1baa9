"""Deciding several at once: which were not decided, and why, is said apart from what was."""

import httpx
import pytest
from click.testing import CliRunner

from headgate.cli import client_option
from headgate.cli.api_client import ApiClient
from headgate.cli.main import headgate
from headgate.cli.target import Target
from headgate.kernel.secrets import Secret

RESULTS = [
    {"id": "apr_1", "result": "voted", "status": "denied", "error": None},
    {"id": "apr_2", "result": "error", "status": None, "error": {"code": "CONFLICT", "message": "it is decided"}},
]


def test_what_was_not_decided_is_said_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = httpx.Response(200, json={"voted": 1, "failed": 1, "results": RESULTS})
    client = ApiClient(Target("http://api", Secret("t")), httpx.MockTransport(lambda request: answer))
    monkeypatch.setattr(client_option, "find_target", lambda runtime_file: None)
    monkeypatch.setattr(client_option, "ApiClient", lambda target: client)
    ended = CliRunner().invoke(headgate, ["approvals", "deny", "apr_1", "apr_2", "--reason", "no"])
    assert (ended.exit_code, ended.stdout) == (1, "apr_1 is denied\n")
    assert ended.stderr == "apr_2 was not decided: it is decided\n"
