"""Commands about policies take an agent by the name that people gave it."""

import json
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from headgate.cli import policy_dry_run, policy_replay, policy_suggest
from headgate.cli.api_client import ApiClient
from headgate.cli.main import headgate
from headgate.cli.target import Target
from headgate.kernel.secrets import Secret

ASKED = {
    "dry-run": (policy_dry_run, ["--tool", "notes", "--operation", "read"]),
    "simulate": (policy_dry_run, ["pol_1", "--tool", "notes", "--operation", "read"]),
    "replay": (policy_replay, ["pol_1"]),
    "suggest": (policy_suggest, []),
}


@pytest.mark.parametrize("command", list(ASKED))
def test_an_agent_is_named(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, arguments = ASKED[command]
    sent: list[dict[str, object]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/admin/agents":
            found = [{"id": "agt_1", "name": "Mail bot", "status": "active"}]
            return httpx.Response(200, json={"data": found, "pagination": {"next_cursor": None}})
        sent.append(json.loads(request.content))
        return httpx.Response(409, json={"error": {"code": "CONFLICT", "message": "seen"}})

    client = ApiClient(Target("http://api", Secret("t")), httpx.MockTransport(answer))
    monkeypatch.setattr(module, "find_target", lambda runtime_file: None)
    monkeypatch.setattr(module, "ApiClient", lambda target: client)
    CliRunner().invoke(headgate, ["policy", command, *arguments, "--agent", "Mail bot"])
    assert [one["agent_id"] for one in sent] == ["agt_1"]
