"""A page that names a test names one that exists, and a page of messages names those of the code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEST = re.compile(r"`(tests/[\w/]+(?:\.py)?)(?:::(test_\w+))?`")
FIRST_CELL = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)
SOURCES = [file for folder in ("headgate", "addons", "admin_api", "proxy") for file in (ROOT / folder).rglob("*.py")]
OF_OTHERS = {
    "CONNECT tunnel failed, response 407",
    "unable to get local issuer certificate",
    "CERTIFICATE_VERIFY_FAILED",
    "Couldn't connect to server",
    "Connection refused",
}


@pytest.mark.parametrize("page", ["works-with.md", "threats.md", "reliability.md", "architecture.md"])
def test_a_named_test_exists(page: str) -> None:
    named = TEST.findall((ROOT / "docs" / page).read_text("utf-8"))
    assert named
    for path, name in named:
        assert (ROOT / path).exists(), path
        if name:
            code = (ROOT / path).read_text("utf-8")
            assert re.search(rf"^(?:async )?def {name}\(", code, re.MULTILINE), f"{path}::{name}"


def test_what_the_security_page_names_exists() -> None:
    named = set(re.findall(r"`(?:[\w/]+/)?(test_\w+)(?:\.py)?`", (ROOT / "SECURITY.md").read_text("utf-8")))
    files = list((ROOT / "tests").rglob("test_*.py"))
    known = {file.stem for file in files}
    for file in files:
        known |= set(re.findall(r"^(?:async )?def (test_\w+)\(", file.read_text("utf-8"), re.MULTILINE))
    assert len(named) > 10
    assert named - known == set()


def test_the_messages_of_the_troubleshooting_page_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "guides" / "troubleshooting.md").read_text("utf-8")
    # Literals that are written over several lines are one.
    code = re.sub(r'"\s*\n\s*f?"', "", "\n".join(source.read_text("utf-8") for source in SOURCES))
    messages = {one for row in FIRST_CELL.findall(page) for one in re.findall(r"`([^`]+)`", row)}
    assert messages > OF_OTHERS and len(messages) > 20
    kept = {one.removesuffix(" apr_…").removesuffix(" act_…") for one in messages - OF_OTHERS}
    assert {one for one in kept if one not in code and not one.startswith("headgate ")} == set()
