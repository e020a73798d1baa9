"""Commands name the risk of a request where a policy states it, and nowhere else."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from headgate.cli.main import headgate
from tests.http_server import any_server

_LISTED = {
    "status": "pending", "held_until": None, "expires_at": "2026-11-24T12:00:00Z", "identical_pending": 1,
    "agent_name": "Robot", "agent_id": "agt_1", "action": {"tool": "bank", "operation": "pay", "params": {}},
    "decision": {"risk_level": "high", "reason": "writes", "policy_id": None},
}  # fmt: skip
_DETAILS = {
    "action_id": "act_1", "current_approvals": 0, "required_approvals": 1, "requirements": [], "repeats": None,
    "history": [], "context": None, "edit": None,
}  # fmt: skip


_STATED, _SILENT = [f"apr_01a20aca-580f-7b4c-a709-d32fa3c114a{number}" for number in (1, 2)]
_APPROVALS = {one: {**_LISTED, **_DETAILS, "id": one, "risk_is_stated": one == _STATED} for one in (_STATED, _SILENT)}


def _answer(method: str, target: str, body: bytes) -> tuple[int, str, bytes]:
    one = _APPROVALS.get(target.partition("?")[0].rpartition("/")[2])
    found = one or {"data": list(_APPROVALS.values()), "pagination": {"next_cursor": None}}
    return 200, "application/json", json.dumps(found).encode()


@pytest.fixture(autouse=True)
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with any_server(_answer) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        yield


def _lines(*words: str) -> list[str]:
    ended = CliRunner().invoke(headgate, ["approvals", *words])
    assert ended.exit_code == 0, ended.output
    return ended.output.splitlines()


def test_a_list() -> None:
    _, stated, silent = _lines("list")
    assert ("high" in stated, "high" in silent) == (True, False)


@pytest.mark.parametrize(
    ("approval_id", "risk"), [(_STATED, "high"), (_SILENT, "not stated")], ids=["stated", "silent"]
)
def test_one(approval_id: str, risk: str) -> None:
    assert [line.split(maxsplit=1)[1] for line in _lines("show", approval_id) if line.startswith("risk")] == [risk]
