"""What is said of a text names the file that it is in; a folder without policies is no success."""

import io
from pathlib import Path

import pytest
from click.testing import CliRunner

from headgate.cli.main import headgate
from headgate.cli.policy_file import complaints_about, in_file
from headgate.kernel.errors import ValidationError


def _file(name: str) -> io.StringIO:
    file = io.StringIO()
    file.name = name  # type: ignore[misc]
    return file


def test_a_complaint_names_the_file() -> None:
    with pytest.raises(ValidationError) as refused, complaints_about(_file("mine.rego")):
        raise ValidationError("policy.rego:3:7: expected if\n  allow { true }", details={"line": 3})

    assert refused.value.message == "mine.rego:3:7: expected if\n  allow { true }"
    assert refused.value.details == {"line": 3}


@pytest.mark.parametrize("message", ["name: too long", 'calls that "policy.rego:1" allows never reach the hold'])
def test_what_is_not_about_the_text_stays(message: str) -> None:
    assert in_file(message, _file("mine.rego")) == message


def test_without_a_file_nothing_is_renamed() -> None:
    assert in_file("policy.rego:1:1: no", None) == "policy.rego:1:1: no"


@pytest.mark.parametrize("command", [["test"], ["test", "--only", "nothing"], ["lint"]])
def test_a_folder_without_policies_fails(command: list[str], tmp_path: Path) -> None:
    if "--only" in command:
        (tmp_path / "mine.rego").write_text('package mine\n\nallow if input.tool == "a"\n', "utf-8")

    done = CliRunner().invoke(headgate, ["policy", *command, str(tmp_path)])

    assert done.exit_code == 1
    assert "contains no policy" in f"{done.output}{done.exception}"


def test_one_file_is_checked_with_the_modules_and_data_beside_it(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "lib" / "hosts.rego").write_text("package lib.hosts\n\nours := data.hosts\n", "utf-8")
    (tmp_path / "data" / "hosts.json").write_text('["a.example"]', "utf-8")
    (tmp_path / "bad.rego").write_text("package bad\n\nallow if\n", "utf-8")
    mine = tmp_path / "mine.rego"
    mine.write_text("package mine\n\nimport data.lib.hosts\n\nallow if input.http.host in hosts.ours\n", "utf-8")

    done = CliRunner().invoke(headgate, ["policy", "lint", str(mine)])
    bad = CliRunner().invoke(headgate, ["policy", "lint", str(tmp_path / "bad.rego")])

    assert (done.exit_code, done.output) == (0, "0 errors, 0 warnings\n")
    assert (bad.exit_code, bad.output.startswith("error: bad.rego:4:")) == (1, True), bad.output


def test_data_behind_a_link_is_not_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "private.json").write_text("not JSON", "utf-8")
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "data").symlink_to(elsewhere)
    (folder / "mine.rego").write_text('package mine\n\nallow if input.tool == "a"\n', "utf-8")
    done = CliRunner().invoke(headgate, ["policy", "lint", str(folder / "mine.rego")])
    assert (done.exit_code, done.output) == (0, "0 errors, 0 warnings\n")
