"""A manifest is read as it was written; everything else is refused with what is wrong."""

import json
from typing import Any

import pytest

from headgate.backup.manifest import FORMAT_VERSION, parse_manifest
from headgate.kernel.errors import ValidationError
from tests.unit.backup.manifests import MANIFEST


def test_it_is_read_as_it_was_written() -> None:
    assert parse_manifest(MANIFEST.to_json()) == MANIFEST


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "something else"}, "not that of a Headgate backup"),
        ({"format_version": FORMAT_VERSION + 1}, f"reads up to {FORMAT_VERSION}: use Headgate 1.0"),
        ({"heads": [{"org": "org_1"}]}, "malformed"),
        ({"created_at": "yesterday"}, "malformed"),
        ({"parts": None}, "malformed"),
    ],
)
def test_another_one_is_refused(change: dict[str, Any], said: str) -> None:
    document = json.loads(MANIFEST.to_json()) | change
    with pytest.raises(ValidationError, match=said):
        parse_manifest(json.dumps(document).encode())


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff"])
def test_what_is_no_manifest_is_refused(text: bytes) -> None:
    with pytest.raises(ValidationError, match="no manifest"):
        parse_manifest(text)
