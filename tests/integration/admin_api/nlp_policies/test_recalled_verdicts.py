"""An approved call when it comes: what a judge said when the approval was opened holds, in every process."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headgate.approvals.decide import DecideApproval
from headgate.approvals.model import VoteDecision
from headgate.approvals.voting import Voter
from headgate.db.database import Database
from headgate.gate.admitted import Admitted
from headgate.gate.refusals import ApprovalPendingError
from headgate.kernel.clock import system_clock
from headgate.protocols.draft import Source, make_draft
from tests.integration.admin_api.conftest import Gate
from tests.integration.admin_api.nlp_policies.test_decisions import _provider
from tests.integration.admin_api.nlp_policies.test_dry_run import _CLEAR, _JUDGED, _MATCH
from tests.integration.decision_process import decision_process
from tests.integration.judges.model_server import ModelServer

type Send = Callable[..., Awaitable[Admitted]]


@pytest.fixture
def send(gate: Gate, cluster: Any, proxy_database: Database) -> Send:
    """The same call, each time through a process that has seen nothing before."""

    async def call(note: str = "hello") -> Admitted:
        dsn, vault = cluster.dsn("headgate_proxy"), gate.api.dependencies.vault
        async with decision_process(dsn, proxy_database, vault=vault) as process:
            draft = make_draft(tool="write", operation="go", params={"note": note}, source=Source.PROXY)
            return await process.admit(gate.agent_key, draft)

    return call


async def _approve(gate: Gate, approval_id: str) -> None:
    decide = DecideApproval(gate.api.dependencies.database, None, system_clock)
    await decide.decide(gate.org_id, approval_id, Voter("usr_ann", None), VoteDecision.APPROVE, None)


async def _held(send: Send) -> str:
    with pytest.raises(ApprovalPendingError) as pending:
        await send()
    return str((pending.value.details or {})["approval_id"])


async def _judge(gate: Gate, model_server: ModelServer, said: str, **fields: Any) -> str:
    await _provider(gate, model_server)
    await model_server.answers(said)
    answer = await gate.person().post("/admin/nlp-policies", json=_JUDGED | fields)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_a_judge_that_is_gone_does_not_ask_people_twice(
    gate: Gate, model_server: ModelServer, send: Send
) -> None:
    policy_id = await _judge(gate, model_server, _CLEAR)
    approval_id = await _held(send)
    await model_server.behaves(dropRate=1.0)
    asked = len(await model_server.journal())
    assert await _held(send) == approval_id  # nor does it while the call waits
    await _approve(gate, approval_id)

    admitted = await send()
    assert admitted.approval_id == approval_id
    assert len(await model_server.journal()) == asked
    events = (await gate.person().get("/admin/audit", params={"action_id": admitted.action_id})).json()["data"]
    [use] = [one["data"] for one in events if one["data"].get("evaluated_for") == "use"]
    [entry] = use["nlp"]
    assert (entry["policy_id"], entry["outcome"], entry["cached"]) == (policy_id, "clear", True)


async def test_a_judge_that_says_otherwise_now_does_not_either(
    gate: Gate, model_server: ModelServer, send: Send
) -> None:
    await _judge(gate, model_server, _CLEAR, on_match="deny")
    approval_id = await _held(send)
    await _approve(gate, approval_id)
    await model_server.reset()
    await model_server.answers(_MATCH)

    assert (await send()).approval_id == approval_id


async def test_a_changed_policy_is_asked_anew(gate: Gate, model_server: ModelServer, send: Send) -> None:
    policy_id = await _judge(gate, model_server, _CLEAR)
    approval_id = await _held(send)
    await _approve(gate, approval_id)
    changed = await gate.person().patch(f"/admin/nlp-policies/{policy_id}", json={"prompt": "y"})
    assert changed.status_code == 200, changed.text
    await model_server.behaves(dropRate=1.0)

    assert await _held(send) != approval_id


async def test_another_call_is_asked_about(gate: Gate, model_server: ModelServer, send: Send) -> None:
    await _judge(gate, model_server, _CLEAR)
    approval_id = await _held(send)
    await _approve(gate, approval_id)
    asked = len(await model_server.journal())

    with pytest.raises(ApprovalPendingError):
        await send("something else")
    assert len(await model_server.journal()) == asked + 1


async def test_an_error_when_it_was_opened_is_no_verdict(gate: Gate, model_server: ModelServer, send: Send) -> None:
    """The judge is asked again; what it failed to say is what a person has approved, and it may fail again."""
    await _judge(gate, model_server, _CLEAR)
    await model_server.behaves(dropRate=1.0)
    approval_id = await _held(send)
    await _approve(gate, approval_id)
    asked = len(await model_server.journal())

    assert (await send()).approval_id == approval_id
    assert len(await model_server.journal()) > asked
