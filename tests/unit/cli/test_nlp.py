"""``headgate nlp eval``: the embedded models here, a policy by the API, patient with its limits."""

import json
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from headgate.cli import nlp_eval as command
from headgate.cli.main import headgate
from tests.answering_api import answering_api

POLICY = "nlp_01a20ae4-509f-7a8c-84c1-d954549c6e85"
_LINES = [
    {"content": "mail maria.keller@example.com", "expected": "match"},
    {"content": "call me on +49 30 901820", "expected": "match"},
    {"content": "nothing of interest", "expected": "clear"},
    {"content": "what nobody can find: my name is Maria", "expected": "match"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "contents.jsonl"
    path.write_text("\n".join(map(json.dumps, _LINES)))
    return path


def test_an_embedded_model_needs_no_instance(file: Path) -> None:
    done = CliRunner().invoke(headgate, ["nlp", "eval", str(file), "--model", "pii", "--json"])

    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    assert (report["contents"], report["precision"], report["recall"]) == (4, 1.0, 2 / 3)
    assert report["cost_usd"] == 0
    table = CliRunner().invoke(headgate, ["nlp", "eval", str(file), "--model", "pii"]).output
    assert "recall     0.667" in table
    assert "match     2      1      0" in table


@pytest.mark.parametrize("options", [[], ["--model", "pii", "--policy", "nlp_1"], ["--model", "other"]])
def test_one_thing_is_asked(file: Path, options: list[str]) -> None:
    assert CliRunner().invoke(headgate, ["nlp", "eval", str(file), *options]).exit_code == 2


def test_a_policy_is_asked_by_the_api_and_its_limit_is_kept_to(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[httpx.Request] = []
    waited: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if len(asked) == 2:
            return httpx.Response(429, headers={"retry-after": "7"}, json={"error": {"message": "slowly"}})
        found = "@" in json.loads(request.content)["content"]
        details = {"outcome": "match" if found else "clear", "provider": "local", "usage": {"cost_usd": 0.25}}
        return httpx.Response(200, json={"details": details, "latency_ms": 5.0})

    monkeypatch.setattr(command, "find_target", lambda runtime_file: None)
    monkeypatch.setattr(command.time, "sleep", waited.append)
    with answering_api(answer) as client:
        monkeypatch.setattr(command, "ApiClient", lambda target: client)
        done = CliRunner().invoke(headgate, ["nlp", "eval", str(file), "--policy", POLICY, "--json"])

    assert done.exit_code == 0, done.output
    assert waited == [7]
    report = json.loads(done.output)
    assert (report["recall"], report["cost_usd"], len(asked)) == (1 / 3, 1.0, 5)
    assert asked[0].url.path == f"/admin/nlp-policies/{POLICY}/test"
