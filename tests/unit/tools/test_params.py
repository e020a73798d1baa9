"""Everything that a matched call says becomes params, each under one name."""

from pathlib import Path

import pytest

from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.http_call import HttpCall
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_CATALOGUE = """
tool: t
description: d
hosts: [h.example]
entries:
  - operation: o
    method: POST
    path: /a/{id}
    effect: write
    description: d
    repeated: [label]
    params:
      query: {id: filter_id}
      body: {id: new_id}
      header: {If-Match: version}
"""


def _params(folder: Path, query: str = "", body: bytes = b"", content_type: bytes = b"application/json") -> JsonObject:
    (folder / "c.yaml").write_text(_CATALOGUE)
    headers = ((b"Content-Type", content_type), (b"If-Match", b"v1"))
    return interpret(
        HttpCall("POST", "https", "h.example", 443, "/a/7", query, headers, body), load_catalogues(folder)
    ).params


def test_renaming(tmp_path: Path) -> None:
    assert _params(tmp_path, "id=8", b'{"id":9}') == {"id": "7", "filter_id": "8", "new_id": 9, "version": "v1"}


def test_repeated_names_are_lists_even_when_there_is_one(tmp_path: Path) -> None:
    assert _params(tmp_path, "label=a&tag[]=b") == {"id": "7", "version": "v1", "label": ["a"], "tag[]": ["b"]}
    assert _params(tmp_path, "label=a&label=b")["label"] == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("a=1&a=2", b""),
        ("a=1", b'{"a":1}'),
        ("a=1", b'{"a":"1"}'),
        ("new_id=1", b'{"id":1}'),
        ("", b'{"version":"v1"}'),
        ("body=1", b"[1]"),
    ],
)
def test_two_sources_for_one_name_are_refused(tmp_path: Path, query: str, body: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        _params(tmp_path, query, body)


def test_a_body_without_members_is_one_member(tmp_path: Path) -> None:
    assert _params(tmp_path, body=b"text", content_type=b"text/plain")["body"] == "text"
    assert _params(tmp_path, body=b"[1]")["body"] == [1]


@pytest.mark.parametrize("body", [b'{"a":1,"A":2}', b'{"tas\xe2\x84\xaa":1,"task":2}', b'{"ID":9}'])
def test_members_that_differ_in_case_only_are_refused(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(AmbiguousRequestError, match="the body can be read in more than one way"):
        _params(tmp_path, body=body)


def test_below_the_first_level_they_are_left(tmp_path: Path) -> None:
    """Maps have keys of people's choice."""
    assert _params(tmp_path, body=b'{"labels":{"a":1,"A":2}}')["labels"] == {"a": 1, "A": 2}
