"""Paths of data documents and modules, and the one object that policies read."""

import pytest

from headgate.kernel.errors import ValidationError
from headgate.policies.documents import nested, parse_data_path, parse_module_path


@pytest.mark.parametrize("path", ["limits/hard", "limits.hard"])
def test_a_path_has_two_spellings(path: str) -> None:
    assert parse_data_path(path) == parse_module_path(path) == "limits.hard"


@pytest.mark.parametrize(
    "path", ["", "a..b", "a b", "1a", "a/", "ä", "a-b", "a" * 65, "a.a.a.a.a.a.a.a.a", "../a", "allowlist", "lib.a"]
)
def test_a_bad_path_is_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        parse_data_path(path)


def test_documents_are_members_of_one_object() -> None:
    assert nested({"b": [1], "a.x": 1, "a.y.z": {"k": 2}}) == {"a": {"x": 1, "y": {"z": {"k": 2}}}, "b": [1]}
    assert nested({}) == {}


def test_a_document_is_not_inside_another() -> None:
    with pytest.raises(ValidationError, match=r"data\.a is a document of its own"):
        nested({"a": {"x": 1}, "a.y": 2})
