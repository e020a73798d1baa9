"""MCP clients hide the body of an HTTP error: a held or refused call is answered as JSON-RPC says."""

import json
import time
from contextlib import closing

import pytest

from tests.e2e.clients import Agent

ALLOWED = """package e2e.tools

allow if input.http.path == "{path}"
"""
MCP_HEADERS = {"accept": "application/json, text/event-stream"}


def message(path: str, number: int) -> dict[str, object]:
    params = {"name": "send_mail", "arguments": {"path": path}, "_meta": {"progressToken": number}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_held_then_approved(administrator, agent, upstream, patient_path) -> None:
    options = {"json": message(patient_path, 1), "headers": MCP_HEADERS}
    call = agent.call_later("POST", upstream.url + patient_path, **options)
    approval = administrator.pending(patient_path)
    assert approval["action"]["operation"] == "send_mail"
    administrator.approve(approval["id"])
    assert call.result().status_code == 200
    assert len(upstream.of(patient_path)) == 1


def test_denied(administrator, agent, upstream, patient_path) -> None:
    options = {"json": message(patient_path, 7), "headers": MCP_HEADERS}
    call = agent.call_later("POST", upstream.url + patient_path, **options)
    administrator.deny(administrator.pending(patient_path)["id"], "no mail today")
    answer = call.result().json()
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
    assert "result" not in answer
    assert "no mail today" in answer["error"]["message"]
    assert answer["error"]["data"]["error"]["code"] == "APPROVAL_DENIED"


def test_a_retry_with_another_id_is_the_same_call(administrator, agent, upstream, path) -> None:
    url, errors = upstream.url + path, []
    for number in (1, 2):
        options = {"json": message(path, number), "headers": MCP_HEADERS}
        answer = agent.call("POST", url, **options).json()
        assert answer["id"] == number
        errors.append(answer["error"]["data"]["error"])
    assert [error["code"] for error in errors] == ["APPROVAL_PENDING"] * 2
    assert errors[0]["details"]["approval_id"] == errors[1]["details"]["approval_id"]
    administrator.approve(errors[0]["details"]["approval_id"])
    options = {"json": message(path, 3), "headers": MCP_HEADERS}
    assert agent.call("POST", url, **options).json()["path"] == path


def cancellation(number: int) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


@pytest.mark.parametrize("session_id", [None, "of-this-client"])
def test_a_cancelled_call_is_never_sent(administrator, agent, upstream, patient_path, session_id) -> None:
    headers = MCP_HEADERS if session_id is None else {**MCP_HEADERS, "mcp-session-id": session_id}
    call = agent.call_later("POST", upstream.url + patient_path, json=message(patient_path, 5), headers=headers)
    approval = administrator.pending(patient_path)
    # Each of its own connection: four meet both processes of the proxy. Cancelling waits for no decision.
    for _ in range(4):
        agent.call("POST", upstream.url + "/impatient" + patient_path, json=cancellation(5), headers=headers)
    answer = call.result()
    error = answer.json()["error"]
    assert (answer.json()["id"], error["data"]["error"]["code"]) == (5, "APPROVAL_PENDING")
    assert "the client cancelled this call; nothing was forwarded" in error["message"]
    administrator.approve(approval["id"])
    assert "tools/call" not in "".join(one.body.decode() for one in upstream.of(patient_path))
    [action] = administrator.actions_of(patient_path)
    assert action["status"] == "approved"


@pytest.mark.parametrize(
    ("other", "session_id"),
    [(cancellation(6), "another"), (cancellation(7), None), ({**cancellation(6), "method": "notifications/x"}, None)],
)
def test_what_cancels_another_call_ends_no_hold(
    administrator, agent, upstream, patient_path, other, session_id
) -> None:
    call = agent.call_later("POST", upstream.url + patient_path, json=message(patient_path, 6), headers=MCP_HEADERS)
    approval = administrator.pending(patient_path)
    headers = MCP_HEADERS if session_id is None else {**MCP_HEADERS, "mcp-session-id": session_id}
    agent.call("POST", upstream.url + "/impatient" + patient_path, json=other, headers=headers)
    administrator.approve(approval["id"])
    assert call.result().json()["path"] == patient_path


def test_another_agent_cancels_nothing(administrator, instance, agent, upstream, patient_path) -> None:
    call = agent.call_later("POST", upstream.url + patient_path, json=message(patient_path, 8), headers=MCP_HEADERS)
    approval = administrator.pending(patient_path)
    with closing(Agent(instance, key=administrator.new_agent("another-client")["api_key"]["key"])) as other:
        other.call("POST", upstream.url + "/impatient" + patient_path, json=cancellation(8), headers=MCP_HEADERS)
    administrator.approve(approval["id"])
    assert call.result().json()["path"] == patient_path


FAILED = b'{"jsonrpc": "2.0", "id": 9, "result": {"content": [], "isError": true}}'


@pytest.mark.parametrize(
    ("media_type", "body"), [("application/json", FAILED), ("text/event-stream", b"data: " + FAILED + b"\n\n")]
)
def test_a_tool_that_fails_is_recorded_as_failed(administrator, agent, upstream, path, media_type, body) -> None:
    upstream.pages[path] = (body, {"content-type": media_type})
    with administrator.policy(ALLOWED.format(path=path), priority=1):
        answer = agent.call("POST", upstream.url + path, json=message(path, 9), headers=MCP_HEADERS)
    assert answer.content == body
    [action] = administrator.actions_of(path)
    settled = administrator.settled(action["id"])
    assert settled["status"] == "failed"
    assert settled["execution"]["error"] == "the tool says that it failed (isError)"


@pytest.mark.parametrize("token", [None, "of-the-client"])
@pytest.mark.parametrize("decision", ["approve", "deny", "failed", "events"])
def test_a_client_is_kept_waiting(administrator, agent, upstream, patient_path, token, decision) -> None:
    if decision == "failed":
        upstream.pages[patient_path] = (b"<html>", {"content-type": "text/html"})
    if decision == "events":
        upstream.pages[patient_path] = (b'data: {"id": 4, "result": 1}\n\n', {"content-type": "text/event-stream"})
    body = message(patient_path, 4)
    body["params"]["_meta"] = {} if token is None else {"progressToken": token}
    with (
        agent.client() as client,
        client.stream("POST", upstream.url + patient_path, json=body, headers=MCP_HEADERS, timeout=60) as answer,
    ):
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
        lines = answer.iter_lines()
        first = [next(lines), next(lines)]
        if token is None:
            assert first[0] == ": waiting for a decision"
        else:
            told = json.loads(first[1].removeprefix("data: "))
            assert told["params"] == {"progressToken": token, "progress": 1, "message": "waiting for a decision"}
        assert not upstream.of(patient_path)
        approval = administrator.pending(patient_path)
        if decision == "deny":
            administrator.deny(approval["id"], "no mail today")
        else:
            administrator.approve(approval["id"])
        [last] = [
            json.loads(line.removeprefix("data: "))
            for line in lines
            if line.startswith("data: {") and "progress" not in line
        ]
    if decision == "approve":
        assert last["path"] == patient_path
    elif decision == "events":
        assert last == {"id": 4, "result": 1}
    elif decision == "deny":
        assert (last["id"], last["error"]["data"]["error"]["code"]) == (4, "APPROVAL_DENIED")
    else:
        assert (last["id"], last["error"]["message"]) == (4, "the server answered 200, and not with a message")
    assert len(upstream.of(patient_path)) == (0 if decision == "deny" else 1)


def test_a_client_that_leaves_while_it_is_kept_waiting(administrator, agent, upstream, patient_path) -> None:
    with (
        agent.client() as client,
        client.stream(
            "POST", upstream.url + patient_path, json=message(patient_path, 4), headers=MCP_HEADERS, timeout=60
        ) as answer,
    ):
        next(answer.iter_lines())
        approval = administrator.pending(patient_path)
    [action] = administrator.actions_of(patient_path)
    time.sleep(1)  # the connection's end has to arrive; nothing tells of it but the absence of what follows
    administrator.approve(approval["id"])
    assert administrator.action(action["id"])["status"] == "approved"
    assert not upstream.of(patient_path)
