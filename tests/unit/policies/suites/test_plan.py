"""What push would change, and what pull would write."""

from pathlib import Path
from typing import Any

import pytest

from headgate.cli.policy_write import write_folder
from headgate.kernel.errors import ValidationError
from headgate.policies.suites.folder import read_folder
from headgate.policies.suites.model import Suite, SuitePolicy
from headgate.policies.suites.plan import Kind, Remote, Verb, plan

REGO = "package a\n\nallow := true\n"


def remote_policy(name: str = "A", **fields: Any) -> dict[str, Any]:
    found = {"id": f"pol_{name}", "name": name, "description": None, "priority": 100, "enabled": True}
    return found | {"mode": "enforce", "rego_policy": REGO, "version": 3} | fields


def local(*policies: SuitePolicy, **rest: Any) -> Suite:
    return Suite(policies, rest.get("modules", ()), rest.get("documents", {}))


def a_policy(**fields: Any) -> SuitePolicy:
    return SuitePolicy(**({"key": "a", "file": "a.rego", "text": REGO, "name": "A"} | fields))


def test_what_is_the_same_is_left_alone() -> None:
    remote = Remote([remote_policy()], {"limits": {"a": 1}}, {"x.y": "package lib.x.y\n"})
    same = local(a_policy(), documents={"limits": {"a": 1}}, modules=(("lib/x/y.rego", "package lib.x.y\n"),))
    assert plan(same, remote, delete=True) == []


def test_only_what_differs_is_sent_with_the_version_that_was_compared() -> None:
    [step] = plan(local(a_policy(priority=5)), Remote([remote_policy()], {}, {}), delete=False)
    assert (step.verb, step.kind, step.policy_id) == (Verb.UPDATE, Kind.POLICY, "pol_A")
    assert step.body == {"priority": 5, "version": 3}
    assert step.diff == "priority: 100 -> 5\n"


def test_what_is_needed_comes_first_and_nothing_is_deleted_without_the_flag() -> None:
    remote = Remote([remote_policy("Old")], {"old": 1}, {"old": "package lib.old\n"})
    wanted = local(a_policy(), documents={"new": 2}, modules=(("lib/new.rego", "package lib.new\n"),))
    assert [(step.verb, step.kind, step.name) for step in plan(wanted, remote, delete=False)] == [
        (Verb.CREATE, Kind.MODULE, "new"),
        (Verb.CREATE, Kind.DATA, "new"),
        (Verb.CREATE, Kind.POLICY, "A"),
    ]
    assert [(step.kind, step.name) for step in plan(wanted, remote, delete=True)][3:] == [
        (Kind.POLICY, "Old"),
        (Kind.DATA, "old"),
        (Kind.MODULE, "old"),
    ]


def test_names_must_tell_policies_apart() -> None:
    with pytest.raises(ValidationError, match="two policies called 'A'"):
        plan(local(), Remote([remote_policy(), remote_policy(id="pol_2")], {}, {}), delete=False)
    with pytest.raises(ValidationError, match="folder are called 'A'"):
        plan(local(a_policy(), a_policy(file="b.rego")), Remote([], {}, {}), delete=False)


def test_pulling_twice_is_pulling_once_and_what_was_pulled_is_no_difference(tmp_path: Path) -> None:
    policies = [
        remote_policy("Allow: reads/", description='why: "so"\nand', priority=7),
        remote_policy("allow reads", mode="shadow"),
        remote_policy("x_test", enabled=False),
    ]
    remote = Remote(policies, {"limits.hard": {"b": [1.5, "ü"], "a": None}}, {"x.y": "package lib.x.y\n"})
    written = {file: verb for verb, file in write_folder(tmp_path, remote, delete=False, dry_run=False)}
    assert written == dict.fromkeys(
        [
            "allow_reads.rego",
            "allow_reads_2.rego",
            "data/limits/hard.json",
            "lib/x/y.rego",
            "policies.yaml",
            "x_test_policy.rego",
        ],
        "write",
    )
    assert list(write_folder(tmp_path, remote, delete=True, dry_run=False)) == []
    assert plan(read_folder(tmp_path), remote, delete=True) == []


def test_a_file_keeps_its_place_and_only_the_flag_removes(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "mine.rego").write_text("package old\n")
    (tmp_path / "gone.rego").write_text("package gone\n")
    (tmp_path / "mine.cases.yaml").write_text("[]")
    (tmp_path / "policies.yaml").write_text("policies:\n  - {file: team/mine.rego, name: A}\n")
    remote = Remote([remote_policy()], {}, {})
    planned = list(write_folder(tmp_path, remote, delete=True, dry_run=True))
    assert planned == [("change", "policies.yaml"), ("change", "team/mine.rego"), ("remove", "gone.rego")]
    assert (tmp_path / "team" / "mine.rego").read_text() == "package old\n"
    list(write_folder(tmp_path, remote, delete=False, dry_run=False))
    assert (tmp_path / "team" / "mine.rego").read_text() == REGO
    assert (tmp_path / "gone.rego").exists()
    list(write_folder(tmp_path, remote, delete=True, dry_run=False))
    assert not (tmp_path / "gone.rego").exists()
    assert (tmp_path / "mine.cases.yaml").exists()
