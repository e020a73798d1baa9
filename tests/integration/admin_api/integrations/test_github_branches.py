"""GitHub: what one pull request, base branch or run was allowed serves no other at the same commit.

GitHub keeps checks by commit and name, and answers to protection rules by run and environment, so that several requests
share one. ``FakeGitHub.shown`` is what a branch rule reads.
"""

from typing import Any

import pytest

from tests.integration.admin_api.integrations.conftest import Board
from tests.integration.admin_api.integrations.fake_github import FakeGitHub, sent
from tests.integration.admin_api.links.test_routes import Asked
from tests.integration.movable_clock import MovableClock
from tests.integration.outgoing.fake_platform import Answered, start

REGO = """package gate

asks if input.params.base == "main"

asks if input.params.creator == "robot"

require_approval if asks

allow if not asks
"""
ONE_NAME, NAME_OF_BASE = "Headgate", "Headgate ({base})"
SHA = "d" * 40
RULE, PULL = "deployment_protection_rule", "pull_request"


@pytest.fixture
async def board(new_gate, worker_database) -> Board:
    gate = await new_gate(REGO)
    allowed = {"destinations": [{"host": "127.0.0.1", "private": True}], "tools": []}
    assert (await gate.person().put("/admin/settings/allowlist", json=allowed)).status_code == 200
    return Board(gate, worker_database, MovableClock())


@pytest.fixture(params=[ONE_NAME, NAME_OF_BASE])
def check_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def github(world, board: Board, check_name: str) -> FakeGitHub:
    made = await start(world, FakeGitHub)
    await board.set("github", made.document(board.gate.agent_id, check_name=check_name))
    return made


def at(check_name: str, base: str) -> str:
    return check_name.replace("{base}", base)


async def tell(board: Board, payload: dict[str, Any], event: str = PULL) -> None:
    answer = await board.send(*sent(event, payload))
    assert (answer.status_code, answer.json()) == (200, {"outcome": "requested"}), answer.text
    assert await board.work() == []


async def waiting(board: Board, **params: Any) -> Asked:
    """The one pending request with these params."""
    listed = (await board.gate.person().get("/v1/approvals", params={"status": "pending"})).json()["data"]
    (found,) = [one for one in listed if params.items() <= one["action"]["params"].items()]
    return Asked(board.gate, found["id"])


async def decided(board: Board, asked: Asked, decision: str = "approve", **more: Any) -> None:
    await board.decide(asked, decision, **more)
    assert await board.work() == []


RETARGETED = {"base": {"ref": {"from": "scratch"}, "sha": {"from": "a" * 40}}}


@pytest.mark.parametrize("events", [["edited"], ["closed", "reopened"], ["closed", "reopened", "ready_for_review"]])
async def test_an_allow_for_one_base_does_not_serve_another(
    board: Board, github: FakeGitHub, check_name: str, events: list[str]
) -> None:
    await tell(board, github.pull_request(sha=SHA, base="scratch"))
    assert github.shown(SHA, at(check_name, "scratch")) == "success"
    for event in events:
        changes = {"changes": RETARGETED} if event == "edited" else {}
        answer = await board.send(*sent(PULL, github.pull_request(event, SHA, base="main", **changes)))
        assert answer.json() == {"outcome": "ignored" if event == "closed" else "requested"}
    assert await board.work() == []
    assert github.shown(SHA, at(check_name, "main")) == "in_progress"
    await decided(board, await waiting(board, base="main"))
    assert github.shown(SHA, at(check_name, "main")) == "success"


async def test_an_approval_for_one_base_does_not_serve_another(
    board: Board, github: FakeGitHub, check_name: str
) -> None:
    """A retargeted request keeps what it was told for its first base, and no more."""
    await tell(board, github.pull_request(sha=SHA, base="main"))
    back = {"changes": {"base": {"ref": {"from": "main"}, "sha": {"from": "a" * 40}}}}
    await tell(board, github.pull_request("edited", SHA, base="scratch", **back))
    await tell(board, github.pull_request("edited", SHA, base="main", changes=RETARGETED))
    assert github.shown(SHA, at(check_name, "main")) == "in_progress"
    await decided(board, await waiting(board, base="main"), "deny", reason="not into main")
    await tell(board, github.pull_request("edited", SHA, base="release", changes=RETARGETED))
    assert github.shown(SHA, at(check_name, "main")) == "failure"


@pytest.mark.parametrize("bases", [("main", "scratch"), ("scratch", "main")])
async def test_two_pull_requests_with_one_commit(
    board: Board, github: FakeGitHub, check_name: str, bases: tuple[str, str]
) -> None:
    for number, base in enumerate(bases, 8):
        await tell(board, github.pull_request(sha=SHA, number=number, base=base))
    assert github.shown(SHA, at(check_name, "main")) == "in_progress"
    if (check_name, bases[0]) == (ONE_NAME, "main"):
        (shared,) = github.checks.values()
        assert shared["output"]["title"] == "Waiting for approval"
        assert "example/shop#8 into main: waiting for approval" in shared["output"]["summary"]
    await decided(board, await waiting(board, base="main"), "deny", reason="no")
    assert github.shown(SHA, at(check_name, "main")) == "failure"
    await tell(board, github.pull_request(sha=SHA, number=10, base="scratch"))
    assert github.shown(SHA, at(check_name, "main")) == "failure"
    assert github.shown(SHA, at(check_name, "scratch")) == ("failure" if check_name == ONE_NAME else "success")


async def test_each_pull_request_of_a_commit_needs_its_own_approval(
    board: Board, github: FakeGitHub, check_name: str
) -> None:
    name = at(check_name, "main")
    await tell(board, github.pull_request(sha=SHA, number=8))
    await decided(board, await waiting(board, number=8))
    assert github.shown(SHA, name) == "success"
    await tell(board, github.pull_request(sha=SHA, number=9))
    assert github.shown(SHA, name) == "in_progress"
    newest = max(github.checks)
    await decided(board, await waiting(board, number=9))
    assert (github.shown(SHA, name), max(github.checks)) == ("success", newest)
    await tell(board, github.pull_request("synchronize", "e" * 40, number=9))
    assert (github.shown("e" * 40, name), github.shown(SHA, name)) == ("in_progress", "success")


async def test_another_sender_is_another_request(board: Board, github: FakeGitHub, check_name: str) -> None:
    """Policies read who sent it (``input.context.github.sender``)."""
    name = at(check_name, "main")
    await tell(board, github.pull_request(sha=SHA))
    await decided(board, await waiting(board, number=7))
    await tell(board, github.pull_request("reopened", SHA))
    assert github.shown(SHA, name) == "success"
    await tell(board, github.pull_request("reopened", SHA, sender={"login": "eve"}))
    assert github.shown(SHA, name) == "in_progress"
    await waiting(board, number=7)


async def test_an_edited_approval_is_for_another_request(board: Board, github: FakeGitHub, check_name: str) -> None:
    """A reviewer who changes the params approves something that GitHub does not ask about."""
    await tell(board, github.pull_request(sha=SHA))
    asked = await waiting(board, number=7)
    shown = (await board.gate.person().get(f"/v1/approvals/{asked.approval_id}")).json()
    await decided(board, asked, params={**shown["action"]["params"], "sha": "f" * 40})
    assert github.shown(SHA, at(check_name, "main")) == "failure"


@pytest.mark.parametrize("check_name", [ONE_NAME], indirect=True)
async def test_a_lost_answer_leaves_no_success(board: Board, github: FakeGitHub, check_name: str) -> None:
    """The worker is stopped between the withdrawal of the old run and the new one, or after it."""
    await tell(board, github.pull_request(sha=SHA, base="scratch"))
    assert (await board.send(*sent(PULL, github.pull_request(sha=SHA, number=8)))).status_code == 200
    answer = github.respond

    def lose(asked: Any) -> Answered:
        github.lost = int(asked.method in methods and "/check-runs" in asked.path)
        return answer(asked)

    github.respond = lose  # type: ignore[method-assign]
    methods = {"PATCH"}
    assert len(await board.work()) == 1
    assert github.shown(SHA, check_name) == "cancelled"
    methods = {"POST"}
    assert len(await board.work()) == 1
    assert github.shown(SHA, check_name) == "in_progress"
    methods = set()
    assert await board.work() == []
    assert (github.shown(SHA, check_name), len(github.checks)) == ("in_progress", 2)


@pytest.mark.parametrize("check_name", [ONE_NAME], indirect=True)
async def test_reports_to_one_check_are_made_one_after_the_other(
    board: Board, github: FakeGitHub, check_name: str, superuser
) -> None:
    """Otherwise a success that was read before another request came would be written after it."""
    for number, base in ((8, "scratch"), (9, "main")):
        await tell(board, github.pull_request(sha=SHA, number=number, base=base))
    await tell(board, github.pull_request(sha="e" * 40, number=9))
    await decided(board, await waiting(board, number=9, sha=SHA))
    (told,) = [one for one in await board.deliveries() if one.event == "approval.approved"]
    path = f"/admin/settings/github/deliveries/{told.delivery_id}/redeliver"
    assert (await board.gate.person().post(path)).status_code == 202
    rows = superuser.execute(
        "SELECT lock, count(*) AS jobs FROM queue.procrastinate_jobs WHERE task_name = 'integration.deliver'"
        " AND args ->> 'org_id' = %s GROUP BY lock ORDER BY jobs",
        [board.gate.org_id],
    ).fetchall()
    assert [jobs for _, jobs in rows] == [1, 4]


def deployment(github: FakeGitHub, deployment_id: int, creator: str, run: int = 42) -> dict[str, Any]:
    made = github.deployment()
    made["deployment"] |= {"id": deployment_id, "creator": {"login": creator}}
    made["deployment_callback_url"] = made["deployment_callback_url"].replace("/runs/42/", f"/runs/{run}/")
    return made


@pytest.mark.parametrize("check_name", [ONE_NAME], indirect=True)
async def test_a_deployment_in_another_run_is_another_request(
    board: Board, github: FakeGitHub, check_name: str
) -> None:
    await tell(board, deployment(github, 9, "ada"), RULE)
    await tell(board, deployment(github, 9, "ada", run=43), RULE)
    assert [(one["path"].split("/")[6], one["state"]) for one in github.reviews] == [
        ("42", "approved"),
        ("43", "approved"),
    ]
    await tell(board, deployment(github, 9, "robot", run=43), RULE)
    assert "state" not in github.reviews[-1]


@pytest.mark.parametrize("check_name", [ONE_NAME], indirect=True)
async def test_one_answer_for_a_run_waits_for_all_its_deployments(
    board: Board, github: FakeGitHub, check_name: str
) -> None:
    """GitHub applies an answer to all that waits in the run and environment."""
    await tell(board, deployment(github, 9, "robot"), RULE)
    await tell(board, deployment(github, 10, "ada"), RULE)
    assert all("state" not in one for one in github.reviews)
    assert "example/shop → production: waiting for approval" in github.reviews[-1]["comment"]
    await decided(board, await waiting(board, creator="robot"))
    assert [one["state"] for one in github.reviews if "state" in one] == ["approved"]


@pytest.mark.parametrize("check_name", [ONE_NAME], indirect=True)
async def test_a_run_that_was_rejected_can_be_run_again(board: Board, github: FakeGitHub, check_name: str) -> None:
    await tell(board, deployment(github, 9, "robot"), RULE)
    await decided(board, await waiting(board, creator="robot"), "deny", reason="not on Friday")
    assert github.reviews[-1]["state"] == "rejected"
    await tell(board, deployment(github, 10, "robot"), RULE)
    assert "state" not in github.reviews[-1]
    await decided(board, await waiting(board, creator="robot"))
    assert github.reviews[-1]["state"] == "approved"


async def test_a_merge_group_has_a_decision_of_its_own(board: Board, github: FakeGitHub, check_name: str) -> None:
    await tell(board, github.pull_request(sha=SHA, base="scratch"))
    assert github.shown(SHA, at(check_name, "scratch")) == "success"
    queued = "f" * 40
    await tell(board, github.merge_group(sha=queued, base="main"), "merge_group")
    assert github.shown(queued, at(check_name, "main")) == "in_progress"
    await decided(board, await waiting(board, sha=queued), "deny", reason="frozen until Monday")
    assert github.shown(queued, at(check_name, "main")) == "failure"
    assert github.shown(SHA, at(check_name, "scratch")) == "success"
