import json
from pathlib import Path

from admin_api.openapi import description

DOCUMENT = Path(__file__).parents[3] / "docs" / "openapi.json"


def test_the_committed_description_is_the_interface() -> None:
    assert DOCUMENT.read_text("utf-8") == description(), "run: python -m admin_api.openapi > docs/openapi.json"


def test_every_schema_has_a_name_of_its_own() -> None:
    """Two of one name are told apart by their modules' paths, which is no name for whoever reads the description."""
    schemas = json.loads(DOCUMENT.read_text("utf-8"))["components"]["schemas"]
    assert [name for name in schemas if name.startswith("admin_api__")] == []
