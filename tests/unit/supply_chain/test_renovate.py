"""The rules of the update bot name packages that are locked: a rule of another name would do nothing."""

import json
from pathlib import Path

from supply_chain.floors import read_locks

ROOT = Path(__file__).resolve().parents[3]


def test_the_rules_name_locked_packages() -> None:
    rules = json.loads((ROOT / "renovate.json").read_text("utf-8"))["packageRules"]
    named = {name for rule in rules for name in rule.get("matchPackageNames", [])}
    assert named <= {one.package for one in read_locks()}
    assert "mitmproxy" in named


def test_nothing_is_merged_by_itself() -> None:
    assert "automerge" not in (ROOT / "renovate.json").read_text("utf-8")
