"""The tools in an answer to ``tools/list``: read strictly, and written again without some of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.mcp_tool_list import read_tool_list

LIST = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "read"}, {"name": "drop", "title": "Ü"}], "next": "c"}}
TEXT = json.dumps(LIST)
NAMES = st.text(min_size=1, max_size=8).filter(str.isprintable)


def test_a_message_without_a_tool() -> None:
    answer = read_tool_list(TEXT.encode(), is_stream=False)
    assert [tool.name for tool in answer.tools] == ["read", "drop"]
    assert answer.tools[1].definition["title"] == "Ü"
    assert json.loads(answer.without({"drop"})) == LIST | {"result": {"tools": [{"name": "read"}], "next": "c"}}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stream_without_a_tool(end: str) -> None:
    progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'
    half = TEXT.index("result")
    lines = ["id: 0", "data:", "", ": comment", "", f"data: {progress}", "", "event: message", "id: 7"]
    lines += [f"data: {TEXT[: half - 1]}", f"data:{TEXT[half - 1 :]}", "", ""]
    answer = read_tool_list(end.join(lines).encode(), is_stream=True)
    assert [tool.name for tool in answer.tools] == ["read", "drop"]
    written = answer.without({"read"}).decode()
    before, last = written.split("event: message\n")
    assert before == f"id: 0\ndata:\n\n: comment\n\ndata: {progress}\n\n"
    assert last.startswith("id: 7\ndata: ")
    assert last.endswith("}\n\n")
    assert [one["name"] for one in json.loads(last.split("data: ")[1])["result"]["tools"]] == ["drop"]


def test_an_event_that_does_not_end_is_read_too() -> None:
    assert len(read_tool_list(f"data: {TEXT}".encode(), is_stream=True).tools) == 2


@pytest.mark.parametrize(
    "body", ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}', '{"result":{"tools":null}}']
)
def test_an_answer_that_lists_nothing(body: str) -> None:
    answer = read_tool_list(body.encode(), is_stream=False)
    assert answer.tools == ()
    assert answer.without({"read"}).decode() == body


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\xff", "UTF-8"),
        (b"", "exactly one way"),
        (b"<html>", "exactly one way"),
        (b'{"result":{"tools":[]},"result":{"tools":[{"name":"a"}]}}', "exactly one way"),
        (b'{"result":{"tools":[{"name":"\\ud800"}]}}', "exactly one way"),
        (b'[{"result":{"tools":[{"name":"a"}]}}]', "no JSON-RPC message"),
        (b'{"result":{"tools":{"name":"a"}}}', "without a name"),
        (b'{"result":{"tools":["a"]}}', "without a name"),
        (b'{"result":{"tools":[{"title":"a"}]}}', "without a name"),
        (b'{"result":{"tools":[{"name":""}]}}', "without a name"),
        (b'{"result":{"tools":[{"name":"a\\u0000"}]}}', "invisible"),
        (b'{"result":{"tools":[{"name":"a\\u200b"}]}}', "invisible"),
        (b'{"result":{"tools":[{"name":"' + b"a" * 513 + b'"}]}}', "more than 512"),
    ],
)
def test_what_is_no_list(body: bytes, why: str) -> None:
    with pytest.raises(AmbiguousRequestError, match=why):
        read_tool_list(body, is_stream=False)


def test_a_stream_with_an_event_that_is_no_message() -> None:
    with pytest.raises(AmbiguousRequestError):
        read_tool_list(f"data: {TEXT}\n\ndata: hello\n\n".encode(), is_stream=True)


@given(st.binary(max_size=200), st.booleans())
def test_whatever_the_bytes_are(body: bytes, is_stream: bool) -> None:
    try:
        answer = read_tool_list(body, is_stream=is_stream)
    except AmbiguousRequestError:
        return
    assert read_tool_list(answer.without(()), is_stream=is_stream).tools == answer.tools


@given(st.lists(NAMES, max_size=6), st.sets(NAMES), st.booleans())
def test_what_is_left_is_what_was_not_named(names: list[str], unwanted: set[str], is_stream: bool) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": name} for name in names]}})
    body = (f"event: message\ndata: {message}\n\n" if is_stream else message).encode()
    unwanted |= set(names[::2])
    left = read_tool_list(read_tool_list(body, is_stream=is_stream).without(unwanted), is_stream=is_stream)
    assert [tool.name for tool in left.tools] == [name for name in names if name not in unwanted]


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {"tools": [{"name": "ok"}], "Tools": [{"name": "evil"}]}},
        {"result": {}, "Result": {"tools": [{"name": "evil"}]}},
        {"Result": {"tools": [{"name": "evil"}]}},
        {"result": {"tools": [{"name": "ok", "Name": "evil"}]}},
        {"result": {"tools": [{"name": "ok", "Description": "ignore all"}]}},
        {"result": {"tools": [{"name": "ok", "annotations": {"title": "a", "Title": "b"}}]}},
    ],
)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_list_that_a_client_without_regard_to_case_reads_otherwise(
    answer: dict[str, object], is_stream: bool
) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, **answer})
    with pytest.raises(AmbiguousRequestError, match="some servers take the member"):
        read_tool_list(f"data: {text}\n\n".encode() if is_stream else text.encode(), is_stream=is_stream)


def test_the_properties_of_a_schema_may_differ_in_case_only() -> None:
    schema = {"type": "object", "properties": {"Name": {}, "name": {}}, "$defs": {"Tools": {}}}
    tools = [{"name": "a", "inputSchema": schema, "_meta": {"Name": 1}, "x": 1}]
    assert len(read_tool_list(json.dumps({"id": 1, "result": {"tools": tools}}).encode(), is_stream=False).tools) == 1
