"""The guide to agent frameworks names the versions that its test installs."""

import json
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "guides" / "agent-frameworks.md").read_text("utf-8")
ROW: Final = re.compile(r"^\| [^|]+ \| `([^`]+)` \| ([\d.]+) \| (.+) \|$", re.MULTILINE)
PINNED: Final = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


def _locked() -> dict[str, str]:
    of_node = json.loads((ROOT / "tests" / "agent_frameworks" / "package-lock.json").read_text("utf-8"))["packages"]
    found = {place.removeprefix("node_modules/"): one["version"] for place, one in of_node.items() if place}
    return found | dict(PINNED.findall((ROOT / "requirements-frameworks.lock").read_text("utf-8")))


def test_the_versions_are_those_of_the_locks() -> None:
    rows = ROW.findall(PAGE)
    tested = {package: version for package, version, how in rows if how == "test"}
    assert len(tested) == len(rows) - 1 >= 6  # one was tried by hand
    locked = _locked()
    assert tested == {package: locked[package] for package in tested}
