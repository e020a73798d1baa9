"""What is generated is what is committed, and both packages have the version of the program."""

import json
import tomllib
from pathlib import Path

from clients.typescript_generator import FOLDER, modules
from headgate.client.generate import DOCUMENT

ROOT = Path(__file__).parents[3]


def test_types_and_operations_are_those_of_the_description() -> None:
    for name, text in modules(json.loads(DOCUMENT.read_text("utf-8"))).items():
        assert (FOLDER / name).read_text("utf-8") == text, "run: make reference"


def test_the_version_is_that_of_the_program() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    package = ROOT / "clients" / "typescript"
    assert json.loads((package / "package.json").read_text("utf-8"))["version"] == version
    assert json.loads((package / "package-lock.json").read_text("utf-8"))["version"] == version
