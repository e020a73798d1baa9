"""Policies as files: pushed, pulled and imported by the commands, against a running API."""

import asyncio
import io
import json
import sys
import tarfile
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import NamedTuple

import pytest


class Result(NamedTuple):
    output: str
    errors: str


USES = "package mine\n\nimport data.lib.names\n\nallow if names.is_known(input.params.name, data.limits.known)\n"
MODULE = "package lib.names\n\nis_known(name, known) if name in known\n"


@pytest.fixture
def headgate(running_api, organization, monkeypatch):
    from headgate.organizations.model import Role  # noqa: PLC0415 - of this fixture

    monkeypatch.setenv("HEADGATE_API_URL", running_api.url)
    monkeypatch.setenv("HEADGATE_TOKEN", running_api.token(organization.org_id, Role.ADMIN))
    monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)

    async def run(*arguments: str, status: int = 0) -> Result:
        # A process of its own: the API in this one writes its log to the same standard output.
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "headgate.cli.main", "policy", *arguments, stdout=PIPE, stderr=PIPE
        )
        output, errors = await child.communicate()
        result = Result(output.decode(), errors.decode())
        assert child.returncode == status, result
        return result

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "policies"
    (root / "lib").mkdir(parents=True)
    (root / "data").mkdir()
    (root / "lib" / "names.rego").write_text(MODULE)
    (root / "data" / "limits.json").write_text('{"known": ["ann"]}')
    (root / "mine.rego").write_text(USES)
    (root / "policies.yaml").write_text("policies:\n  - {file: mine.rego, name: Known people, priority: 7}\n")
    return root


async def test_a_folder_is_pushed_changed_compared_and_pulled(headgate, folder: Path, tmp_path: Path) -> None:
    assert "would create policy Known people" in (await headgate("push", str(folder), "--dry-run")).output
    pushed = (await headgate("push", str(folder), "--note", "first")).output
    assert pushed.splitlines() == ["create module names", "create data limits", "create policy Known people"]
    assert (await headgate("push", str(folder))).output == "nothing to change\n"
    assert (await headgate("diff", str(folder))).output == "no difference\n"
    (folder / "mine.rego").write_text(USES + "\n# a note\n")
    assert "+# a note" in (await headgate("diff", str(folder), status=1)).output
    assert (await headgate("push", str(folder))).output == "update policy Known people\n"

    pulled = tmp_path / "pulled"
    await headgate("pull", str(pulled))
    assert sorted(one.relative_to(pulled).as_posix() for one in pulled.rglob("*") if one.is_file()) == [
        "data/limits.json",
        "known_people.rego",
        "lib/names.rego",
        "policies.yaml",
    ]
    assert (await headgate("pull", str(pulled))).output == "nothing to write\n"
    assert (await headgate("push", str(pulled), "--delete")).output == "nothing to change\n"

    (folder / "mine.rego").unlink()
    (folder / "policies.yaml").unlink()
    (folder / "data" / "limits.json").unlink()
    for command in ("push", "diff"):
        alone = await headgate(command, str(folder))
        assert alone.output in {"nothing to change\n", "no difference\n"}
        assert alone.errors.splitlines() == [
            "not in the folder, kept (delete with --delete): policy Known people",
            "not in the folder, kept (delete with --delete): data limits",
        ]
    deleted = (await headgate("push", str(folder), "--delete")).output
    assert deleted.splitlines() == ["delete policy Known people", "delete data limits"]


async def test_a_push_of_which_something_is_refused_changes_nothing(headgate, folder: Path) -> None:
    (folder / "bad.rego").write_text("package bad\n\nallow if {\n")
    for more in (["--dry-run"], []):
        refused = await headgate("push", str(folder), *more, status=1)
        assert "headgate: policy bad: policy.rego:4:1" in refused.errors
    assert "Known people" not in (await headgate("list")).output
    one_by_one = await headgate("push", str(folder), "--one-by-one", status=1)
    assert one_by_one.output.splitlines() == ["create module names", "create data limits"]


async def test_lint_needs_no_instance_and_fails_for_errors(headgate, folder: Path) -> None:
    assert (await headgate("lint", str(folder))).output == "0 errors, 0 warnings\n"
    (folder / "odd.rego").write_text("package odd\n\nallow if input.tol\n")
    linted = (await headgate("lint", str(folder))).output
    assert "warning: odd.rego:3:10: input.tol does not exist" in linted
    await headgate("lint", str(folder), "--strict", status=1)
    (folder / "bad.rego").write_text("package bad\n\nallow if {\n")
    assert "error: bad.rego:4:" in (await headgate("lint", str(folder), status=1)).output


async def test_a_bundle_is_imported_whole_or_not_at_all(headgate, tmp_path: Path) -> None:
    def bundle(**files: str) -> str:
        path = tmp_path / "bundle.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name, text in files.items():
                info = tarfile.TarInfo(name.replace("__", "/").replace("_rego", ".rego").replace("_json", ".json"))
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
        return str(path)

    good = {"app__mine_rego": USES, "lib__names_rego": MODULE, "data_json": '{"limits": {"known": ["ann"]}}'}
    refused = await headgate("import", bundle(**good, bad_rego="package bad\n\nallow if {\n"), status=1)
    assert "nothing was imported" in refused.errors
    assert "bad.rego:4:" in refused.errors
    assert "mine" not in (await headgate("list")).output
    imported = (await headgate("import", bundle(**good))).output
    assert imported.splitlines() == ["create module names", "create data limits", "create policy mine"]
    assert (await headgate("import", bundle(**good))).output == "nothing to change\n"


_LIMIT = 'package limit\n\ndeny contains "too much" if input.params.amount > 100\n'
_CASES = """- name: a large payment
  input: {tool: pay, operation: send, params: {amount: 200}}
  expect: {decision: deny}
"""


async def test_test_cases_are_saved_with_a_policy_and_refuse_a_weaker_one(headgate, tmp_path: Path) -> None:
    rego, cases = tmp_path / "limit.rego", tmp_path / "limit.cases.yaml"
    rego.write_text(_LIMIT)
    cases.write_text(_CASES.replace("deny}", "allow}"))
    refused = (await headgate("add", str(rego), "--cases", str(cases), status=1)).errors
    assert "1 test fails: a large payment: decision is 'deny', expected 'allow'" in refused
    assert "--accept-failing-cases" in refused and len(refused.splitlines()) == 1
    cases.write_text(_CASES)
    await headgate("add", str(rego), "--cases", str(cases))
    assert "test cases  1" in (await headgate("show", "limit")).output
    assert json.loads((await headgate("show", "limit", "--json")).output)["cases"][0]["name"] == "a large payment"

    rego.write_text(_LIMIT.replace("100", "1000"))
    weaker = (await headgate("update", "limit", "--file", str(rego), status=1)).errors
    assert "1 test fails: a large payment: " in weaker
    await headgate("update", "limit", "--file", str(rego), "--accept-failing-cases")
    cases.write_text(_CASES.replace("200", "2000"))
    assert (await headgate("update", "limit", "--cases", str(cases))).output.endswith("is at version 3\n")
    compared = (await headgate("diff", "limit")).output
    assert '-        "amount": 200' in compared and '+        "amount": 2000' in compared
    # A folder has the cases beside its policy, and push leaves those of the organization.
    await headgate("push", str(tmp_path))
    cases.write_text("[]\n")
    await headgate("update", "limit", "--cases", str(cases))
    assert "test cases  0" in (await headgate("show", "limit")).output


async def test_cases_that_cannot_be_read_name_their_file(headgate, tmp_path: Path) -> None:
    rego, cases = tmp_path / "limit.rego", tmp_path / "limit.cases.yaml"
    rego.write_text(_LIMIT)
    for text, fault in (("- {name: a, input: {tool: t}, expect: {}}\n", "[0].input.operation"), ("a: [", ""), ("", "")):
        cases.write_text(text)
        refused = await headgate("add", str(rego), "--cases", str(cases), "--accept-failing-cases", status=1)
        assert f"headgate: {cases}{fault}: " in refused.errors
