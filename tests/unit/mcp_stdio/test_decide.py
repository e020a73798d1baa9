"""What the API answers becomes of a message; whatever it does not answer is a refusal."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from headgate.client.asynchronous import AsyncClient
from headgate.client.call import Patience
from headgate.kernel.errors import HeadgateError
from headgate.mcp_stdio.decide import Decisions, DeniedError, NotApprovedError, Passed, StillHeldError, Waiting
from headgate.mcp_stdio.message import NotDecidedError
from headgate.mcp_stdio.proposal import Proposal

PROPOSAL = Proposal("mcp_files", "save", {"path": "a"}, {"mcp": {"method": "tools/call", "name": "save"}})
DECISION = {"decision": "x", "reason": "a reviewer decides", "risk_level": "high", "policy_id": "pol_1"}


def action(status: str, **members: object) -> dict[str, Any]:
    decided_at = "2026-11-27T12:00:00Z" if status == "approved" else None
    approval = {"id": "apr_1", "status": "pending", "expires_at": "2026-11-27T12:10:00Z", "comment": None}
    approval["decided_at"] = decided_at
    made = {"id": "act_1", "status": status, "decision": DECISION, "approval_id": "apr_1", "execution": None}
    return {**made, "approval": approval, **members}


TAKEN = {"id": "act_1", "execution_id": "exe_1", "approved_params": None}
TAKE = "POST /v1/actions/act_1/take"


def denied(expires_at: str) -> dict[str, Any]:
    approval = {"id": "apr_1", "status": "denied", "expires_at": expires_at, "comment": "not today"}
    return action("denied", approval=approval)


def decisions(
    *answers: dict[str, Any] | int | Exception, hold_seconds: float = 0, minutes: int = 5
) -> tuple[Decisions, list[str]]:
    """One that gets these answers of the API, in order, and what it asked. ``minutes``: after the approval."""
    asked: list[str] = []
    left = list(answers)

    async def answer(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0)  # others ask meanwhile
        asked.append(f"{request.method} {request.url.path}")
        following = left.pop(0)
        if isinstance(following, Exception):
            raise following
        if isinstance(following, int):
            code = "ACTION_DENIED" if following == 403 and request.url.path.endswith("/take") else "X"
            error = {"code": code, "message": "the API says no", "timestamp": "x"}
            return httpx.Response(following, json={"error": error})
        return httpx.Response(200, content=json.dumps(following))

    client = AsyncClient("http://api", agent_key="hg_x", patience=Patience(0, 0), transport=httpx.MockTransport(answer))
    now = datetime(2026, 11, 27, 12, minutes, tzinfo=UTC)
    return Decisions(client, "http://api/", hold_seconds=hold_seconds, now=lambda: now), asked


async def test_what_is_allowed_passes() -> None:
    made, asked = decisions(action("allowed"))
    assert await made.decide(PROPOSAL) == Passed("act_1")
    assert asked == ["POST /v1/actions"]


@pytest.mark.parametrize(("risk_level", "stated"), [("high", {}), ("critical", {"risk_level": "critical"})])
async def test_what_is_denied_does_not(risk_level: str, stated: dict[str, str]) -> None:
    made, _ = decisions(action("denied", decision={**DECISION, "risk_level": risk_level}))
    with pytest.raises(DeniedError, match="a reviewer decides") as denied:
        await made.decide(PROPOSAL)
    assert denied.value.details == {"action_id": "act_1", "policy_id": "pol_1", **stated}


@pytest.mark.parametrize("answer", [401, 403, 409, 413, 429, 500, 503, httpx.ConnectError("gone")])
async def test_without_a_decision_nothing_passes(answer: int | Exception) -> None:
    made, _ = decisions(answer)
    with pytest.raises(NotDecidedError, match="nothing was passed on"):
        await made.decide(PROPOSAL)


@pytest.mark.parametrize("status", ["executing", "completed", "failed", "something new"])
async def test_another_status_is_no_permission(status: str) -> None:
    made, _ = decisions(action(status))
    with pytest.raises(HeadgateError):
        await made.decide(PROPOSAL)


async def test_what_headgate_carries_out_is_not_done_twice() -> None:
    made, asked = decisions(action("allowed", execution={"id": "exe_1"}), action("failed"))
    with pytest.raises(NotDecidedError, match="give the server another name"):
        await made.decide(PROPOSAL)
    assert asked == ["POST /v1/actions", "POST /v1/actions/act_1/cancel"]


async def test_a_held_call_is_waited_for() -> None:
    pending = action("pending_approval")
    made, asked = decisions(pending, pending, action("approved"), TAKEN, hold_seconds=60)
    waiting = await made.decide(PROPOSAL)
    assert waiting == Waiting("act_1", "apr_1", "a reviewer decides")
    assert isinstance(waiting, Waiting)
    assert await made.settle(PROPOSAL, waiting) == Passed("act_1", taken=True)
    assert asked[-1] == TAKE, "the current policies decide again, and the use is claimed"


async def test_what_a_reviewer_edited_is_passed_on() -> None:
    edited = {**TAKEN, "approved_params": {"path": "b"}}
    made, _ = decisions(action("pending_approval"), action("approved"), edited)
    await made.decide(PROPOSAL)
    assert await made.decide(PROPOSAL) == Passed("act_1", {"path": "b"}, taken=True)


async def test_what_the_policies_of_now_deny_does_not_pass_and_keeps_its_approval() -> None:
    approved = action("approved")
    made, asked = decisions(action("pending_approval"), approved, 403, approved, TAKEN, hold_seconds=60)
    waiting = await made.decide(PROPOSAL)
    assert isinstance(waiting, Waiting)
    with pytest.raises(DeniedError, match="the API says no"):
        await made.settle(PROPOSAL, waiting)
    assert await made.decide(PROPOSAL) == Passed("act_1", taken=True), "they were changed back"
    assert asked.count("POST /v1/actions") == 1


async def test_an_approval_that_another_has_used_passes_nothing() -> None:
    made, asked = decisions(action("pending_approval"), action("approved"), 409, action("allowed"), hold_seconds=60)
    waiting = await made.decide(PROPOSAL)
    assert isinstance(waiting, Waiting)
    with pytest.raises(NotApprovedError, match="serves this call no more"):
        await made.settle(PROPOSAL, waiting)
    assert await made.decide(PROPOSAL) == Passed("act_1")
    assert asked[-1] == "POST /v1/actions", "it asks anew"


async def test_a_use_without_an_answer_passes_nothing() -> None:
    made, _ = decisions(action("pending_approval"), action("approved"), httpx.ReadError("gone"), hold_seconds=60)
    waiting = await made.decide(PROPOSAL)
    assert isinstance(waiting, Waiting)
    with pytest.raises(NotDecidedError, match="nothing was passed on"):
        await made.settle(PROPOSAL, waiting)


async def test_a_call_that_is_cancelled_after_its_approval_is_reported() -> None:
    made, asked = decisions(action("pending_approval"), 409, action("failed"))
    await made.decide(PROPOSAL)
    await made.cancel("act_1", PROPOSAL)
    assert asked[-2:] == ["POST /v1/actions/act_1/cancel", "POST /v1/actions/act_1/outcome"]


async def test_a_call_that_nobody_decided_goes_on_waiting_when_it_comes_again() -> None:
    made, asked = decisions(*[action("pending_approval")] * 3, action("approved"), TAKEN, action("allowed"))
    waiting = await made.decide(PROPOSAL)
    assert isinstance(waiting, Waiting)
    with pytest.raises(StillHeldError, match="held for approval apr_1") as held:
        await made.settle(PROPOSAL, waiting)
    assert (held.value.details or {})["status_url"] == "http://api/v1/actions/act_1?wait=30"
    assert isinstance(await made.decide(PROPOSAL), Waiting)
    assert await made.decide(PROPOSAL) == Passed("act_1", taken=True)
    await made.decide(PROPOSAL)
    assert asked[-2:] == [TAKE, "POST /v1/actions"], "an approval is used once"


async def test_an_approval_that_nobody_used_in_time_asks_anew() -> None:
    made, asked = decisions(action("pending_approval"), action("approved"), 409, action("allowed"))
    await made.decide(PROPOSAL)
    await made.decide(PROPOSAL)
    assert asked[-1] == "POST /v1/actions"


async def test_one_approval_is_not_for_two_calls_that_wait_for_it() -> None:
    made, _ = decisions(*[action("pending_approval")] * 2, *[action("approved")] * 2, TAKEN, hold_seconds=60)
    first, second = await made.decide(PROPOSAL), await made.decide(PROPOSAL)
    assert isinstance(first, Waiting)
    assert isinstance(second, Waiting)
    with pytest.raises(NotApprovedError, match="took the place of this one"):
        await made.settle(PROPOSAL, first)
    assert await made.settle(PROPOSAL, second) == Passed("act_1", taken=True)


async def test_one_approval_is_not_for_a_call_that_waits_and_for_one_that_comes_after_it() -> None:
    made, _ = decisions(action("pending_approval"), action("approved"), TAKEN, action("approved"), hold_seconds=60)
    first = await made.decide(PROPOSAL)
    assert isinstance(first, Waiting)
    assert await made.decide(PROPOSAL) == Passed("act_1", taken=True)
    with pytest.raises(NotApprovedError, match="took the place of this one"):
        await made.settle(PROPOSAL, first)


async def test_an_approval_that_is_taken_while_the_same_call_asks_for_it() -> None:
    pending, approved = action("pending_approval"), action("approved")
    made, asked = decisions(pending, approved, approved, TAKEN, action("allowed"), hold_seconds=60)
    first = await made.decide(PROPOSAL)
    assert isinstance(first, Waiting)
    results = await asyncio.gather(made.settle(PROPOSAL, first), made.decide(PROPOSAL))
    assert [*results] == [Passed("act_1", taken=True), Passed("act_1")]
    assert asked[-1] == "POST /v1/actions", "decided anew"


async def test_a_denial_stands_until_the_approval_expires() -> None:
    until = "2026-11-27T12:10:00Z"
    made, asked = decisions(action("pending_approval"), *[denied(until)] * 3, hold_seconds=60)
    waiting = await made.decide(PROPOSAL)
    assert isinstance(waiting, Waiting)
    with pytest.raises(NotApprovedError, match="a reviewer denied this call: not today") as refused:
        await made.settle(PROPOSAL, waiting)
    assert (refused.value.details or {})["denied_until"] == until
    for _ in range(2):
        with pytest.raises(NotApprovedError, match="a reviewer denied this call: not today"):
            await made.decide(PROPOSAL)
    assert asked.count("POST /v1/actions") == 1


async def test_a_denial_whose_time_is_over_asks_anew() -> None:
    made, asked = decisions(action("pending_approval"), denied("2026-11-27T12:04:00Z"), action("allowed"))
    await made.decide(PROPOSAL)
    assert await made.decide(PROPOSAL) == Passed("act_1")
    assert asked[-1] == "POST /v1/actions"


async def test_an_approval_that_expired_asks_anew() -> None:
    expired = {"id": "apr_1", "status": "expired", "expires_at": "x", "comment": None}
    made, asked = decisions(action("pending_approval"), action("denied", approval=expired), action("allowed"))
    await made.decide(PROPOSAL)
    assert await made.decide(PROPOSAL) == Passed("act_1")
    assert asked[-1] == "POST /v1/actions"


async def test_the_api_goes_away_while_a_call_is_held() -> None:
    made, _ = decisions(action("pending_approval"), httpx.ReadError("gone"))
    waiting = await made.decide(PROPOSAL)
    assert isinstance(waiting, Waiting)
    with pytest.raises(NotDecidedError):
        await made.settle(PROPOSAL, waiting)


async def test_an_outcome_that_is_not_recorded_says_so() -> None:
    made, _ = decisions(503)
    with pytest.raises(NotDecidedError):
        await made.report("act_1", result={}, error=None)
