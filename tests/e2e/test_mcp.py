"""MCP clients hide the body of an HTTP error: a held or refused call is answered as JSON-RPC says."""

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
