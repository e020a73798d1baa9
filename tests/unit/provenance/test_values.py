"""Which values of a call are looked up, and by which path."""

import pytest

from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.draft import Source, make_draft
from headgate.provenance.values import VALUES_MAX, values_of


def found(params: JsonObject) -> dict[str, str]:
    values = values_of(make_draft(tool="mail", operation="send", params=params, source=Source.API))
    assert values.is_complete
    paths = values.paths(range(len(values.texts)))
    assert list(paths) == list(range(len(values.texts)))
    return {paths[at]: text for at, text in enumerate(values.texts)}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"to": "a@b.example"}, {"params.to": "a@b.example"}),
        ({"to": ["a", {"mail": "b"}]}, {"params.to[0]": "a", "params.to[1].mail": "b"}),
        ({"account": 12345678}, {"params.account": "12345678"}),
        ({"account": -12345678}, {"params.account": "-12345678"}),
        ({"count": 99_999, "share": 1234567.5, "done": True, "none": None}, {}),
        ({}, {}),
        (
            {"a.to": "x", "a": {"to": "y"}, "b[0]": "z", "b": ["w"], 'q"': "v", "": "u", "reply-to": "t"},
            {
                'params["a.to"]': "x",
                "params.a.to": "y",
                'params["b[0]"]': "z",
                "params.b[0]": "w",
                'params["q\\""]': "v",
                'params[""]': "u",
                "params.reply-to": "t",
            },
        ),
    ],
)
def test_texts_and_large_numbers(params: JsonObject, expected: dict[str, str]) -> None:
    assert found(params) == expected


@pytest.mark.parametrize("params", [{"a": ["x"] * (VALUES_MAX + 1)}, {"a": "x" * 300_000}])
def test_a_call_with_too_many_values_says_so(params: JsonObject) -> None:
    values = values_of(make_draft(tool="mail", operation="send", params=params, source=Source.API))
    assert not values.is_complete
    assert len(values.texts) <= VALUES_MAX
