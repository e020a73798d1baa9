"""docs/schemas/proof-pack describes the members of a pack as they are made."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.unit.evidence.conftest import MadePack

FOLDER = Path(__file__).parents[3] / "docs" / "schemas" / "proof-pack"
NAMES = ("action", "approval", "decision", "events", "verification")


def test_every_member_in_json_has_a_schema() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{name}.schema.json" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_members_are_as_described(made_pack: MadePack, denied_pack: MadePack, name: str) -> None:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for pack in (made_pack, denied_pack):
        if f"{name}.json" in pack.members:
            document = json.loads(pack.members[f"{name}.json"])
            validator.validate(document)
            first = schema["required"][0]
            assert not validator.is_valid({one: value for one, value in document.items() if one != first})
