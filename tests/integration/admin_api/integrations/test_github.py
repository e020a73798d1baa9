"""GitHub: deployments and pull requests that wait for approval, answered with an installation's token."""

import asyncio
import time
from typing import Any

import pytest

from headgate.deliveries.model import DeliveryStatus
from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_github import (
    INSTALLATION,
    REPOSITORY,
    FakeGitHub,
    pem,
    sent,
)
from tests.integration.admin_api.links.test_routes import Asked
from tests.integration.movable_clock import MovableClock
from tests.integration.outgoing.fake_platform import Answered, start

REGO = """package gate

require_approval if input.params.environment == "production"

require_approval if input.operation == "pull_request"

allow if input.params.environment == "prod-canary"

deny if input.params.environment == "prod-frozen"
"""


@pytest.fixture
async def board(new_gate, worker_database) -> Board:
    gate = await new_gate(REGO)
    allowed = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
    assert (await gate.person().put("/admin/settings/allowlist", json=allowed)).status_code == 200
    return Board(gate, worker_database, MovableClock())


@pytest.fixture
async def github(world, board: Board) -> FakeGitHub:
    made = await start(world, FakeGitHub)
    await board.set("github", made.document(board.gate.agent_id))
    return made


async def _asked(board: Board) -> Asked:
    listed = (await board.gate.person().get("/v1/approvals", params={"status": "pending"})).json()["data"]
    (approval,) = listed
    return Asked(board.gate, approval["id"])


async def test_a_deployment_waits_and_is_let_through(board: Board, github: FakeGitHub) -> None:
    answer = await board.send(*sent("deployment_protection_rule", github.deployment()))
    assert (answer.status_code, answer.json()) == (200, {"outcome": "requested"}), answer.text
    assert await board.work() == []
    (waiting,) = github.reviews
    assert "state" not in waiting
    assert waiting["comment"].startswith("Waiting for approval")
    asked = await _asked(board)
    shown = (await board.gate.person().get(f"/v1/approvals/{asked.approval_id}")).json()
    assert shown["action"]["params"]["environment"] == "production"
    await board.decide(asked, comment="go")
    assert await board.work() == []
    decided = github.reviews[-1]
    assert (decided["state"], decided["environment_name"]) == ("approved", "production")
    assert "decider@example.com" in decided["comment"]
    assert decided["path"].endswith("/actions/runs/42/deployment_protection_rule")
    assert github.tokens["ghs_0"] == {"repositories": ["shop"], "permissions": {"deployments": "write"}}


async def test_a_denial_rejects_it(board: Board, github: FakeGitHub) -> None:
    await board.send(*sent("deployment_protection_rule", github.deployment()))
    await board.decide(await _asked(board), "deny", reason="frozen until Monday")
    await board.work()
    assert github.reviews[-1]["state"] == "rejected"
    assert "frozen until Monday" in github.reviews[-1]["comment"]


@pytest.mark.parametrize(("environment", "state"), [("prod-canary", "approved"), ("prod-frozen", "rejected")])
async def test_what_policies_decide_at_once_is_told_at_once(
    board: Board, github: FakeGitHub, environment: str, state: str
) -> None:
    await board.send(*sent("deployment_protection_rule", github.deployment(environment=environment)))
    assert await board.work() == []
    assert [one["state"] for one in github.reviews] == [state]


async def test_a_pull_request_gets_a_check_for_each_commit(board: Board, github: FakeGitHub) -> None:
    assert (await board.send(*sent("pull_request", github.pull_request()))).json() == {"outcome": "requested"}
    await board.work()
    (check,) = github.checks.values()
    assert (check["status"], check["head_sha"], check["name"]) == ("in_progress", "b" * 40, "Headgate (main)")
    asked = await _asked(board)
    github.others = 2
    await board.decide(asked)
    await board.work()
    assert (check["status"], check["conclusion"], len(github.checks)) == ("completed", "success", 1)
    assert check["output"]["summary"].startswith("```\n")
    pushed = github.pull_request("synchronize", "c" * 40)
    assert (await board.send(*sent("pull_request", pushed))).json() == {"outcome": "requested"}
    await board.work()
    assert [one["status"] for one in github.checks.values()] == ["completed", "in_progress"]


async def test_the_same_again_asks_nothing_twice(board: Board, github: FakeGitHub) -> None:
    body, headers = sent("pull_request", github.pull_request())
    both = await asyncio.gather(board.send(body, headers), board.send(body, headers))
    assert {one.status_code for one in both} == {200}
    assert (await board.send(body, headers)).json() == {"outcome": "repeated"}
    reopened = await board.send(*sent("pull_request", github.pull_request("reopened")))
    assert reopened.json() == {"outcome": "requested"}
    await board.work()
    assert len(github.checks) == 1
    await _asked(board)


async def test_a_lost_answer_makes_no_second_check(board: Board, github: FakeGitHub) -> None:
    await board.send(*sent("pull_request", github.pull_request()))
    await board.relay()
    github.lost = 0
    answer = github.respond

    def lose(asked: Any) -> Answered:
        if asked.path.endswith("/check-runs") and asked.method == "POST":
            github.lost = 1
        return answer(asked)

    github.respond = lose  # type: ignore[method-assign]
    assert len(await board.work()) == 1
    assert len(github.checks) == 1
    github.respond = answer  # type: ignore[method-assign]
    assert await board.work() == []
    assert len(github.checks) == 1


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("deployment_protection_rule", {"environment": "staging"}),
        ("deployment_protection_rule", {"repository": {"full_name": "elsewhere/shop"}}),
        ("deployment_protection_rule", {"action": "other"}),
        ("pull_request", {"action": "closed"}),
        ("pull_request", {"action": "edited", "changes": {"title": {"from": "Fixes"}, "body": {"from": "."}}}),
        ("push", {}),
        ("ping", {}),
    ],
)
async def test_what_nobody_asked_about_is_left_alone(
    board: Board, github: FakeGitHub, event: str, change: dict[str, Any]
) -> None:
    payload = github.pull_request(**change) if event == "pull_request" else github.deployment(**change)
    assert (await board.send(*sent(event, payload))).json() == {"outcome": "ignored"}
    assert (await board.gate.person().get("/v1/approvals")).json()["data"] == []


async def test_forged_old_and_misdirected_deliveries_are_refused(board: Board, github: FakeGitHub) -> None:
    event = "deployment_protection_rule"
    assert (await board.send(*sent(event, github.deployment(), secret="x"))).status_code == 401
    body, headers = sent(event, github.deployment())
    assert (await board.send(body.replace(b"production", b"prod-canary"), headers)).status_code == 401
    assert (await board.send(body, {"X-GitHub-Event": event})).status_code == 401
    old = github.deployment()
    old["deployment"]["updated_at"] = "2026-01-01T00:00:00Z"
    assert (await board.send(*sent(event, old))).status_code == 401
    callbacks = [
        "https://evil.example/repos/example/shop/actions/runs/42/deployment_protection_rule",
        f"{github.base_url}/repos/example/other/actions/runs/42/deployment_protection_rule",
        f"{github.base_url}/repos/{REPOSITORY}/actions/runs/../../x/deployment_protection_rule",
        "42",
    ]
    for callback in callbacks:
        elsewhere = github.deployment(deployment_callback_url=callback)
        assert (await board.send(*sent(event, elsewhere))).status_code == 401
    assert github.asked == []
    assert (await board.gate.person().get("/v1/approvals")).json()["data"] == []


async def test_an_agent_that_is_suspended_asks_for_nothing(board: Board, github: FakeGitHub) -> None:
    await board.gate.person().post(f"/admin/agents/{board.gate.agent_id}/suspend", json={"reason": "leak"})
    answer = await board.send(*sent("deployment_protection_rule", github.deployment()))
    assert answer.status_code == 409
    assert await board.receipts() == []


async def test_limits_are_kept_and_a_foreign_installation_ends_it(board: Board, github: FakeGitHub) -> None:
    await board.send(*sent("deployment_protection_rule", github.deployment()))
    reset = int(time.time()) + 77
    github.scripted = [
        Answered(403, {"message": "rate limit"}, ("X-RateLimit-Remaining: 0", f"X-RateLimit-Reset: {reset}"))
    ]
    (later,) = await board.work()
    assert later.after_seconds == pytest.approx(77, abs=3)
    assert await board.work() == []
    payload = github.deployment(installation={"id": INSTALLATION + 1})
    payload["deployment"]["id"] = 10
    await board.send(*sent("deployment_protection_rule", payload))
    assert await board.work() == []
    assert (await board.deliveries())[-1].status is DeliveryStatus.PARKED


async def test_the_connection_is_tested(board: Board, github: FakeGitHub) -> None:
    admin = board.gate.person()
    assert (await admin.post("/admin/settings/github/test")).json()["account"] == "headgate-gate"
    await board.set("github", github.document(board.gate.agent_id, private_key=pem("another")))
    tested = (await admin.post("/admin/settings/github/test")).json()
    assert (tested["ok"], tested["status_code"]) == (False, 401)
    await board.set("github", github.document(board.gate.agent_id, private_key="no key"))
    tested = (await admin.post("/admin/settings/github/test")).json()
    assert (tested["ok"], tested["error"]) == (False, "private_key")
