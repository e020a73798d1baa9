"""MCP messages: recognised strictly, and covered without what differs in every sending."""

import pytest

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.mcp import McpMessage, recognise, recognise_at_server

_HEADERS: JsonObject = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def _call(name: JsonValue = "create_issue", request_id: JsonValue = 1, **params: JsonValue) -> JsonObject:
    members: JsonObject = {"name": name, "arguments": {"title": "x"}, **params}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": members}


def _recognised(body: JsonValue) -> McpMessage:
    message = recognise(_HEADERS, body)
    assert message is not None
    return message


def test_a_tool_call() -> None:
    message = _recognised(_call())
    assert (message.operation, message.params, message.exchange.request_id) == ("create_issue", {"title": "x"}, 1)
    assert not message.is_read


@pytest.mark.parametrize(
    ("method", "operation"),
    [
        ("initialize", "mcp_initialize"),
        ("ping", "mcp_ping"),
        ("tools/list", "mcp_tools_list"),
        ("logging/setLevel", "mcp_logging_set_level"),
        ("resources/templates/list", "mcp_resources_templates_list"),
        ("notifications/initialized", "mcp_notifications_initialized"),
        ("server/discover", "mcp_server_discover"),
        ("subscriptions/listen", "mcp_subscriptions_listen"),
    ],
)
def test_other_methods(method: str, operation: str) -> None:
    message = _recognised({"jsonrpc": "2.0", "id": "a", "method": method, "params": {"cursor": "c"}})
    assert (message.operation, message.params, message.is_read) == (operation, {"cursor": "c"}, True)


def test_answering_what_a_task_asks_for_is_a_write() -> None:
    params: JsonObject = {"taskId": "t", "inputResponses": {"name": "a secret"}}
    message = _recognised({"jsonrpc": "2.0", "id": 1, "method": "tasks/update", "params": params})
    assert (message.operation, message.params, message.is_read) == ("mcp_tasks_update", params, False)


def test_what_a_call_says_beside_its_arguments() -> None:
    said: JsonObject = {"inputResponses": {"q": "yes"}, "requestState": "s", "_meta": {"a": 1, "progressToken": 5}}
    message = _recognised(_call("get-weather", **said))
    assert message.facts == {
        "method": "tools/call",
        "name": "get-weather",
        "params": {"inputResponses": {"q": "yes"}, "requestState": "s", "_meta": {"a": 1}},
        "tool_changed": False,
    }
    assert message.exchange.progress_token == 5
    assert message.exchange.has_outcome


@pytest.mark.parametrize(("request_id", "cancels"), [(7, 7), ("7", "7"), (True, None), (None, None), ([7], None)])
def test_what_a_notification_cancels(request_id: JsonValue, cancels: JsonValue) -> None:
    body: JsonObject = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    message = recognise({**_HEADERS, "mcp-session-id": "s"}, body)
    assert message is not None
    assert (message.exchange.cancels, message.exchange.session_id) == (cancels, "s")
    assert not message.exchange.has_outcome


def test_an_answer_to_the_server() -> None:
    message = _recognised({"jsonrpc": "2.0", "id": 1, "result": {"text": "a secret"}})
    assert (message.operation, message.params) == ("mcp_response", {"result": {"text": "a secret"}})


def test_id_and_progress_token_are_not_covered_and_everything_else_is() -> None:
    covered = _recognised(_call()).covered_sha256
    again = _recognised(_call(request_id="other", _meta={"progressToken": 7})).covered_sha256
    assert _recognised(_call(_meta={})).covered_sha256 == again
    assert _recognised(_call(_meta={"progressToken": 8})).covered_sha256 == again
    assert _recognised(_call(_meta={"progressToken": 8, "x": 1})).covered_sha256 != again
    assert _recognised(_call(name="other")).covered_sha256 != covered
    assert _recognised(_call(task={"ttl": 1})).covered_sha256 != covered


@pytest.mark.parametrize("token", ["x" * 129, {"message": "x"}, ["x"], True, 1.5, None])
def test_what_no_approval_covers_has_no_room_for_a_message(token: JsonValue) -> None:
    covered = _recognised(_call(_meta={"progressToken": "x" * 128})).covered_sha256
    assert _recognised(_call(_meta={"progressToken": token})).covered_sha256 != covered
    if token is not None:
        with pytest.raises(AmbiguousRequestError):
            recognise(_HEADERS, _call(request_id=token))
    assert recognise(_HEADERS, {"jsonrpc": "2.0", "id": token, "result": {}}) is None


def test_an_answer_is_covered_with_the_question_that_it_answers() -> None:
    accept: JsonObject = {"jsonrpc": "2.0", "result": {"action": "accept"}}
    first, second = accept | {"id": 1}, accept | {"id": 2}
    assert _recognised(first).covered_sha256 != _recognised(second).covered_sha256


@pytest.mark.parametrize("name", ["mcp_tools_list", "mcp_x"])
def test_a_tool_does_not_pass_for_a_method(name: str) -> None:
    operation = _recognised(_call(name=name)).operation
    assert operation.startswith(f"{name}_")


def test_names_that_differ_stay_apart() -> None:
    assert _recognised(_call(name="deleteRepo")).operation != _recognised(_call(name="delete_repo")).operation


@pytest.mark.parametrize(
    "body",
    [
        None,
        1,
        {},
        {"method": "tools/call"},
        {"jsonrpc": "1.0", "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "shutdown", "id": 1},
        {"jsonrpc": "2.0", "method": "tools/list", "amount": 1000},
        {"jsonrpc": "2.0", "method": "tools/list", "params": []},
        {"jsonrpc": "2.0", "method": ["tools/list"]},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
        {"jsonrpc": "2.0", "result": {}},
        [],
        [{"a": 1}],
    ],
)
def test_what_is_not_mcp_is_not_taken_for_it(body: JsonValue) -> None:
    assert recognise(_HEADERS, body) is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"accept": "application/json", "content-type": "application/json"},
        {**_HEADERS, "content-type": "text/plain"},
        {**_HEADERS, "accept": ["application/json", "text/event-stream"]},
    ],
)
def test_a_call_without_the_clients_headers_is_not_mcp(headers: JsonObject) -> None:
    assert recognise(headers, _call()) is None


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (_HEADERS, [_call()]),
        (_HEADERS, [_call(), _call(request_id=2)]),
        (_HEADERS, _call(name=None)),
        (_HEADERS, _call(name="")),
        (_HEADERS, _call(arguments=[])),
        (_HEADERS, _call(request_id=1.5)),
        (_HEADERS, _call(request_id=True)),
        ({**_HEADERS, "mcp-name": "get_issue"}, _call()),
        ({**_HEADERS, "mcp-method": "tools/list"}, _call()),
    ],
)
def test_ambiguous_messages_are_refused(headers: JsonObject, body: JsonValue) -> None:
    with pytest.raises(AmbiguousRequestError):
        recognise(headers, body)


def test_headers_that_agree_are_fine() -> None:
    assert recognise({**_HEADERS, "mcp-method": "tools/call", "mcp-name": "create_issue"}, _call()) is not None


_EVIL: JsonObject = {"repo": "acme/prod"}


def _sampled(content: JsonValue) -> JsonObject:
    return {"jsonrpc": "2.0", "id": 1, "result": {"role": "assistant", "model": "m", "content": content}}


@pytest.mark.parametrize(
    "body",
    [
        _call(Name="delete_repository", Arguments=_EVIL),
        _call(ARGUMENTS=_EVIL),
        _call(_Meta={"progressToken": 1}),
        _call(**{"ta\u017fk": {}}),
        _call(arguments={"repo": "acme/test", "Repo": "acme/prod"}),
        _call(_meta={"ProgressToken": 1}),
        _call(inputResponses={"q": {"action": "decline", "Action": "accept"}}),
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "Method": "tools/call", "params": {"name": "x"}},
        {"jsonrpc": "2.0", "JSONRPC": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}, "Result": {"action": "accept"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline", "Action": "accept"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"sure": False, "Sure": True}}},
        _sampled([{"type": "text", "text": "a", "Text": "evil"}]),
        _sampled({"type": "text", "Text": "evil"}),
        _sampled([{"type": "image", "data": "YQ==", "Data": "Yg=="}]),
        _sampled([{"type": "resource", "resource": {"uri": "file:///a", "URI": "file:///b"}}]),
        _sampled([{"type": "tool_result", "content": [{"type": "text", "text": "a", "TEXT": "evil"}]}]),
        _sampled([{"type": "tool_use", "name": "a", "Name": "b"}]),
        _sampled([{"type": "tool_use", "name": "a", "input": {"repo": "acme/test", "Repo": "acme/prod"}}]),
        {"jsonrpc": "2.0", "id": 1, "result": {"roots": [{"uri": "file:///x", "Uri": "file:///etc"}]}},
        _call(inputResponses={"q": {"roots": [{"uri": "file:///x", "Uri": "file:///etc"}]}}),
        {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///a", "URI": "file:///b"}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "RequestID": 2}},
        {"jsonrpc": "2.0", "id": 1, "method": "completion/complete", "params": {"ref": {"type": "x", "Type": "y"}}},
    ],
)
def test_a_member_in_another_spelling_is_refused(body: JsonObject) -> None:
    """SDKs in Go decode without regard to case, and the last one counts."""
    with pytest.raises(AmbiguousRequestError, match="the MCP message can be read in more than one way"):
        recognise(_HEADERS, body)


def test_members_that_the_protocol_does_not_know_stay() -> None:
    extensions: JsonObject = {"x-trace": 1, "Vendor": {"Name": "x"}, "_meta": {"io.example/Name": 1, "Name": 2}}
    assert _recognised(_call(**extensions)).facts["params"] == extensions


def test_what_a_client_answers_passes_in_the_documented_spelling() -> None:
    parts: list[JsonValue] = [
        {"type": "text", "text": "a", "annotations": {"audience": ["user"]}, "_meta": {"Text": 1}},
        {"type": "tool_use", "id": "1", "name": "a", "input": {"Repo": "acme/test"}},
        {
            "type": "tool_result",
            "toolUseId": "1",
            "content": [{"type": "text", "text": "b"}, 1],
            "structuredContent": {},
        },
        {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "c"}},
        None,
    ]
    assert _recognised(_sampled(parts)).operation == "mcp_response"
    form: JsonObject = {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"action": "accept", "content": {"Text": "a", "Name": "b"}},
    }
    assert _recognised(form).operation == "mcp_response"


@pytest.mark.parametrize("headers", [{}, _HEADERS])
def test_an_error_without_a_readable_id_is_a_response(headers: JsonObject) -> None:
    """JSON-RPC 2.0, section 5: the id is null; MCP 2025-11-25: it may be absent."""
    error: JsonObject = {"error": {"code": -32700, "message": "Parse error"}}
    for body in ({"jsonrpc": "2.0", "id": None, **error}, {"jsonrpc": "2.0", **error}):
        message = recognise_at_server({**headers, "mcp-session-id": "s"}, body)
        assert message is not None
        assert (message.operation, message.params, message.answers_session) == ("mcp_response", error, "s")


@pytest.mark.parametrize("headers", [{}, _HEADERS])
def test_a_call_with_null_for_its_arguments_has_none(headers: JsonObject) -> None:
    message = recognise_at_server(headers, _call(arguments=None))
    absent = recognise_at_server(headers, _call(arguments={}))
    assert message is not None and absent is not None
    assert (message.operation, message.params) == (absent.operation, {})
    assert message.covered_sha256 != absent.covered_sha256


def test_where_the_order_of_members_may_decide_an_approval_covers_the_bytes() -> None:
    nested: JsonObject = {"filter": [{"repo": "acme/test", "Repo": "acme/prod"}]}
    assert _recognised(_call(arguments=nested)).covered_sha256 is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"accept": "*/*", "content-type": "application/json"},
        {"accept": "application/json", "content-type": "text/plain"},
        {**_HEADERS, "accept": ["application/json", "text/event-stream"]},
    ],
)
def test_at_a_named_server_no_header_makes_a_call_another_action(headers: JsonObject) -> None:
    message, usual = recognise_at_server(headers, _call()), recognise_at_server(_HEADERS, _call())
    assert message is not None and usual is not None
    assert (message.operation, message.facts, message.covered_sha256) == (
        usual.operation,
        usual.facts,
        usual.covered_sha256,
    )
    assert (message.exchange.accepts_stream, usual.exchange.accepts_stream) == (False, True)


@pytest.mark.parametrize(
    "body",
    [
        {**_call(), "x": 1},
        {**_call(), "jsonrpc": "1.0"},
        {"id": 1, "method": "tools/call", "params": {"name": "x"}},
        {"jsonrpc": "2.0", "id": 1, "METHOD": "tools/call"},
        {"id": 1, "Method": "tools/call"},
        {"id": 1, "result": {"action": "accept"}},
        {"Id": 1, "Result": {"action": "accept"}},
        {"jsonrpc": "2.0", "method": "tools/list", "params": []},
        {"jsonrpc": "2.0", "method": ["tools/list"]},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
        {"jsonrpc": "2.0", "id": None, "result": {}, "error": {}},
        {"jsonrpc": "2.0", "id": None, "result": {}},
        {"jsonrpc": "2.0", "id": [1], "error": {}},
        {"jsonrpc": "2.0"},
        [{"a": 1}, _call()],
        [{"Method": "tools/call"}],
    ],
)
@pytest.mark.parametrize("headers", [{}, _HEADERS])
def test_at_a_named_server_what_it_may_take_for_a_message_is_refused(headers: JsonObject, body: JsonValue) -> None:
    with pytest.raises(AmbiguousRequestError):
        recognise_at_server(headers, body)


@pytest.mark.parametrize("body", [None, 1, {}, {"a": 1}, {"id": 1, "params": {}}, [], [{"a": 1}], ["method"]])
def test_at_a_named_server_what_is_no_message_is_none(body: JsonValue) -> None:
    assert recognise_at_server(_HEADERS, body) is None


def test_at_a_named_server_methods_of_extensions_are_messages() -> None:
    message = recognise_at_server({}, {"jsonrpc": "2.0", "id": 1, "method": "events/list", "params": None})
    assert message is not None
    assert (message.facts, message.params, message.is_read) == ({"method": "events/list"}, {}, False)
    assert message.operation.startswith("mcp_events_list_")
