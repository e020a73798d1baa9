"""An agent or a policy is named by its name wherever a command takes its id: the API is asked about the id."""

import io
import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from headgate.cli.main import headgate
from headgate.kernel.errors import NotFoundError, ValidationError
from tests.http_server import any_server

AGENTS = [("agt_17", "Courier")]
POLICIES = [("pol_17", "Payments"), ("pol_18", "Twin"), ("pol_19", "Twin")]
CALL = ("--tool", "bank", "--operation", "pay")


class Asked(NamedTuple):
    method: str
    path: str
    body: str


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Asked]]:
    """An API that knows agents, policies and capture rules, and has nothing else; what it was asked besides."""
    found: list[Asked] = []

    def answer(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
        path = target.partition("?")[0]
        if path == "/admin/agents":
            document: object = {
                "data": [{"id": one, "name": name, "status": "active"} for one, name in AGENTS],
                "pagination": {"next_cursor": None},
            }
        elif path == "/admin/policies":
            document = {"data": [{"id": one, "name": name} for one, name in POLICIES]}
        elif (method, path) == ("GET", "/admin/settings/captures"):
            document = {"rules": []}
        else:
            found.append(Asked(method, target, body.decode()))
            refusal = {"error": {"code": "NOT_FOUND", "message": "the API was asked"}}
            return 404, "application/json", json.dumps(refusal).encode()
        return 200, "application/json", json.dumps(document).encode()

    with any_server(answer) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
        yield found


def _call(*words: str) -> None:
    headgate.main(list(words), prog_name="headgate", standalone_mode=False)


@pytest.mark.parametrize(
    ("words", "method", "path"),
    [
        (("show", "Payments"), "GET", "/admin/policies/pol_17"),
        (("update", "Payments", "--disable"), "PATCH", "/admin/policies/pol_17"),
        (("delete", "Payments", "--yes"), "DELETE", "/admin/policies/pol_17"),
        (("versions", "Payments"), "GET", "/admin/policies/pol_17/versions?limit=50"),
        (("diff", "Payments", "--from", "1", "--to", "2"), "GET", "/admin/policies/pol_17/diff?from=1&to=2"),
        (("index", "Payments"), "GET", "/admin/policies/pol_17/index"),
        (("restore", "Payments", "1"), "POST", "/admin/policies/pol_17/restore"),
        (("simulate", "Payments", *CALL), "POST", "/admin/policies/pol_17/simulate"),
        (("replay", "Payments"), "POST", "/admin/policies/replay"),
        (("show", "pol_404"), "GET", "/admin/policies/pol_404"),
    ],
)
def test_a_policy_by_its_name(asked: list[Asked], words: tuple[str, ...], method: str, path: str) -> None:
    with pytest.raises(NotFoundError, match="the API was asked"):
        _call("policy", *words)
    ((asked_method, asked_path, body),) = asked
    assert (asked_method, asked_path) == (method, path)
    if words[0] == "replay":
        assert json.loads(body)["policy_id"] == "pol_17"


@pytest.mark.parametrize("verb", ["delete", "replay"])
def test_nothing_is_done_to_one_of_two_policies_that_have_a_name(asked: list[Asked], verb: str) -> None:
    with pytest.raises(ValidationError, match="2 policies have the name Twin"):
        _call("policy", verb, "Twin")
    assert asked == []


AGENTS_COMMANDS = [
    ("policy", "dry-run", *CALL),
    ("policy", "simulate", "Payments", *CALL),
    ("policy", "suggest"),
    ("policy", "replay", "Payments"),
    ("traffic", "list"),
    ("traffic", "tail"),
    ("traffic", "export"),
    ("traffic", "capture", "bodies"),
    ("connections", "add", "svc", "--kind", "bearer", "--host", "api.example.com"),
    ("retention", "hold", "--reason", "a court asks"),
]


@pytest.mark.parametrize("words", AGENTS_COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_an_agent_by_its_name(asked: list[Asked], words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("secret=s3cr3t-of-a-command\n"))
    with pytest.raises(NotFoundError, match="the API was asked"):
        _call(*words, "--agent", "Courier")
    ((_, path, body),) = asked
    assert "agt_17" in path + body
    assert "Courier" not in path + body
    if words[0] == "policy":
        assert json.loads(body)["agent_id"] == "agt_17"


@pytest.mark.parametrize("words", AGENTS_COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_an_agent_whom_nobody_knows(asked: list[Asked], words: tuple[str, ...]) -> None:
    with pytest.raises(NotFoundError, match=r"no agent nobody\. headgate agents list shows all agents"):
        _call(*words, "--agent", "nobody")
    assert asked == []


def test_every_agent_is_no_name(asked: list[Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("secret=s3cr3t-of-a-command\n"))
    with pytest.raises(NotFoundError, match="the API was asked"):
        _call(*AGENTS_COMMANDS[-2], "--agent", "*")
    assert json.loads(asked[0].body)["agents"] == ["*"]
