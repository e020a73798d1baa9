"""What is generated is what is committed."""

import json

from headgate.client.generate import DOCUMENT, FOLDER, modules


def test_types_and_operations_are_those_of_the_description() -> None:
    for name, text in modules(json.loads(DOCUMENT.read_text("utf-8"))).items():
        assert (FOLDER / name).read_text("utf-8") == text, "run: python -m headgate.client.generate"


def test_an_operation_has_one_shape_of_answer() -> None:
    made = "".join(modules(json.loads(DOCUMENT.read_text("utf-8"))).values())
    assert "Camel" not in made
    assert "shape:" not in made
