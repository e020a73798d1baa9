"""Who is said to have said what an agent tells its model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject
from headgate.provenance.model import SourceKind
from headgate.provenance.told import texts_told

PROMPT, RULES, RESULT = SourceKind.PROMPT, SourceKind.CONFIGURATION, SourceKind.TOOL_RESULT


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"messages": [{"role": "user", "content": "hello"}]}, [(PROMPT, "hello")]),
        ({"messages": [{"role": "system", "content": "rules"}]}, [(RULES, "rules")]),
        ({"messages": [{"role": "developer", "content": "rules"}]}, [(RULES, "rules")]),
        ({"messages": [{"role": "assistant", "content": "I think"}]}, []),
        ({"messages": [{"role": "tool", "tool_call_id": "c", "content": "page"}]}, [(RESULT, "page")]),
        ({"system": "rules", "messages": []}, [(RULES, "rules")]),
        ({"instructions": "rules", "input": "hello"}, [(RULES, "rules"), (PROMPT, "hello")]),
        (
            {"input": [{"type": "function_call_output", "call_id": "c", "output": "page"}]},
            [(RESULT, "page")],
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "page"}]},
                            {"type": "text", "text": "hello"},
                        ],
                    }
                ]
            },
            [(RESULT, "page"), (PROMPT, "hello")],
        ),
        (
            {
                "systemInstruction": {"parts": [{"text": "rules"}]},
                "contents": [
                    {"role": "user", "parts": [{"text": "hello"}]},
                    {"role": "model", "parts": [{"text": "I think"}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "n", "response": {"r": "page"}}}]},
                ],
            },
            [(RULES, "rules"), (PROMPT, "hello"), (RESULT, "page")],
        ),
        (
            {"messages": [{"role": "user", "content": [{"toolResult": {"content": [{"text": "page"}]}}]}]},
            [(RESULT, "page")],
        ),
        ({"input": [{"type": "custom_tool_call_output", "call_id": "c", "output": "page"}]}, [(RESULT, "page")]),
        ({"messages": "no list"}, [(PROMPT, "no list")]),
        ({"messages": [1, None, {"role": 3, "content": "x"}]}, []),
        ({"text": "another service"}, []),
    ],
)
def test_each_form(body: JsonObject, expected: list[tuple[SourceKind, str]]) -> None:
    assert texts_told(body) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["role", "type", "content"]), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["messages", "input", "contents", "system"]), JSON))
def test_any_body_is_read(body: JsonObject) -> None:
    for kind, text in texts_told(body):
        assert isinstance(text, str)
        assert kind in (PROMPT, RULES, RESULT)
