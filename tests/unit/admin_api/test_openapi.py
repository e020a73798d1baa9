from pathlib import Path

from admin_api.openapi import description

DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi.json"


def test_the_committed_description_is_the_interface() -> None:
    assert DOCUMENT.read_text("utf-8") == description(), "run: python -m admin_api.openapi > docs/openapi.json"
