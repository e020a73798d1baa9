"""A line is one message, read in the one way in which it can be read, and one action."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.call_name import fits
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError
from headgate.mcp_stdio.message import Kind, parse_message
from headgate.mcp_stdio.proposal import Proposal, proposal


def proposed(from_server: bool = False, **message: object) -> Proposal:
    line = canonical_bytes({"jsonrpc": "2.0", **message})
    return proposal("mcp_files", parse_message(line), from_server=from_server)


def test_a_call_is_the_proxys_action() -> None:
    params = {"name": "send-mail", "arguments": {"to": "a"}, "_meta": {"progressToken": 5, "x": 1}}
    made = proposed(id=1, method="tools/call", params=params)
    assert made.tool == "mcp_files"
    assert made.operation.startswith("send_mail_")
    assert made.params == {"to": "a"}
    told = {"method": "tools/call", "name": "send-mail", "params": {"_meta": {"x": 1}}}
    assert made.context == {"mcp": told, "transport": "stdio", "direction": "to_server"}


def test_the_same_call_with_another_id_and_token_is_the_same() -> None:
    first, again = (
        proposed(id=number, method="tools/call", params={"name": "a", "_meta": {"progressToken": number}})
        for number in (1, 2)
    )
    assert first.digest == again.digest
    assert first.digest != proposed(id=1, method="tools/call", params={"name": "a", "arguments": {"x": 1}}).digest


@pytest.mark.parametrize(
    ("message", "from_server", "operation"),
    [
        ({"id": 1, "method": "initialize", "params": {}}, False, "mcp_initialize"),
        ({"method": "notifications/initialized"}, False, "mcp_notifications_initialized"),
        ({"id": 1, "method": "sampling/createMessage", "params": {}}, True, "mcp_sampling_create_message"),
        ({"id": 1, "method": "elicitation/create"}, True, "mcp_elicitation_create"),
        ({"id": 1, "method": "roots/list"}, True, "mcp_roots_list"),
        ({"id": 1, "result": {}}, False, "mcp_response"),
        ({"id": 1, "error": {"code": 1, "message": "no"}}, False, "mcp_response"),
    ],
)
def test_other_messages(message: dict[str, object], from_server: bool, operation: str) -> None:
    made = proposed(from_server, **message)
    assert made.operation == operation
    assert made.context["direction"] == ("to_client" if from_server else "to_server")


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "result": {"action": "decline", "Action": "accept"}},
        {"id": 1, "result": {"roots": [{"uri": "file:///x", "Uri": "file:///etc"}]}},
        {"id": 1, "error": {"code": 1, "message": "no", "Message": "yes"}},
    ],
)
def test_a_response_in_another_spelling_is_refused(message: dict[str, object]) -> None:
    with pytest.raises(AmbiguousRequestError):
        proposed(False, **message)


def test_a_call_may_have_null_for_its_arguments() -> None:
    assert proposed(id=1, method="tools/call", params={"name": "a", "arguments": None}).params == {}


def test_a_method_that_nobody_knows_is_no_other_ones_operation() -> None:
    made = proposed(id=1, method="tools_list", params={})
    assert made.operation != "mcp_tools_list"
    assert made.operation.startswith("mcp_tools_list_")


@given(st.text(min_size=1, max_size=80))
def test_every_method_has_an_operation(method: str) -> None:
    try:
        made = proposed(id=1, method=method, params={})
    except AmbiguousRequestError:
        assert method == "tools/call"
        return
    assert fits(made.operation)


@given(st.binary(max_size=120))
def test_whatever_the_line_is(line: bytes) -> None:
    try:
        assert parse_message(line).kind in Kind
    except AmbiguousRequestError:
        return


def test_a_message_inside_a_message() -> None:
    """A server that reads its input with universal newlines would find a call that nobody has decided."""
    call = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_all","arguments":{}}}'
    with pytest.raises(AmbiguousRequestError, match="carriage return"):
        parse_message(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":\r' + call + b"\r}}")
