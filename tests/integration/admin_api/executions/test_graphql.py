"""An explicit action whose call is GraphQL: one document with variables, failed where its answer says so with 200."""

import json

import pytest

REFUND = {"tool": "shop", "operation": "refund_order", "params": {"id": "ord_1", "note": 'a "note"'}}


@pytest.fixture
async def free(new_gate, reach):
    """An organization in which refunds are allowed, by what the document's arguments say."""
    gate = await new_gate(
        'package gate\n\nallow if {\n\tinput.operation == "refund_order"\n\tinput.params.id == "ord_1"\n}\n'
    )
    await reach(gate)
    return gate


async def _refunded(free, working, service, ended, content: object):
    service.answers.append((200, {}, content))
    answer = await free.as_agent.post("/v1/actions", json=REFUND)
    assert answer.status_code == 201, answer.text
    async with working():
        return await ended(free.as_agent, answer.json()["id"])


async def test_it_is_sent_as_one_document_with_variables(free, working, service, ended) -> None:
    content = {"data": {"orderRefund": {"success": True}}}
    action = await _refunded(free, working, service, ended, content)
    assert action["status"] == "completed" and action["execution"]["result"]["body"] == content
    assert action["request"]["params"] == REFUND["params"]
    [(method, path, _, body)] = service.requests
    assert (method, path) == ("POST", "/graphql")
    assert json.loads(body) == {
        "query": "mutation($id: ID!, $note: String) {orderRefund(id: $id, note: $note) {success}}",
        "variables": REFUND["params"],
    }


@pytest.mark.parametrize(
    "content",
    [
        {"data": None, "errors": [{"message": "no such order"}]},
        {"data": {"orderRefund": {"success": False}}},
        "a text",
    ],
)
async def test_what_its_answer_says_counts(free, working, service, ended, content: object) -> None:
    action = await _refunded(free, working, service, ended, content)
    assert action["status"] == "failed" and action["execution"]["attempts"] == 1
    assert len(service.requests) == 1
    assert ("in its body" in action["execution"]["error"]) is isinstance(content, dict)
    assert action["execution"]["result"]["body"] == content
