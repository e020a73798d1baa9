"""An error is one sentence and a status; a wrong command line another status."""

import subprocess
import sys
from pathlib import Path

import pytest


def _headgate(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "headgate.cli.main", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin", **environment}
    )


def test_an_error_is_a_sentence_without_a_traceback(tmp_path: Path) -> None:
    done = _headgate("approvals", "list", "--runtime-file", str(tmp_path / "none.json"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("headgate: there is no runtime file")
    assert len(done.stderr.splitlines()) == 1


def test_a_command_that_is_nearly_one_is_told_of() -> None:
    done = _headgate("aproval", "list")
    assert done.returncode == 2
    assert done.stderr.endswith("Error: No such command 'aproval'. Did you mean 'approvals'?\n")
    assert _headgate("qqqq").stderr.endswith("Error: No such command 'qqqq'.\n")


def test_a_closed_standard_input_is_an_empty_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "headgate.cli.main", "policy", "add", "-", "--name", "x", "--runtime-file", "none"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.startswith("headgate: there is no runtime file none")


def test_output_that_finds_no_room_is_an_error_without_a_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "headgate.cli.main", "--help"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "headgate: No space left on device\n")


def test_a_file_that_cannot_be_written_is_named_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "one.rego").write_text("package one\n\nallow := true\n", "utf-8")
    report = tmp_path / "nowhere" / "report.xml"
    done = _headgate("policy", "test", str(tmp_path / "rules"), "--junit", str(report), HOME=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"headgate: {report}: No such file or directory\n"


def test_keys_that_are_not_here_are_looked_for_where_the_workers_have_them(tmp_path: Path) -> None:
    done = _headgate("audit", "key", "rotate", HOME=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith(f"headgate: No signing keys at {tmp_path}")
    assert "HEADGATE_DATA_DIR=.headgate" in done.stderr


def test_a_setting_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    done = _headgate("worker", HEADGATE_LOG_LEVEL="loud", HOME=str(tmp_path))
    assert done.returncode == 1
    assert 'HEADGATE_LOG_LEVEL is "loud"' in done.stderr


def test_a_part_without_a_database_says_what_to_set(tmp_path: Path) -> None:
    done = _headgate("worker", HOME=str(tmp_path))
    assert done.returncode == 1
    assert "HEADGATE_WORKER_DATABASE_URL" in done.stderr


@pytest.mark.parametrize("part", ["worker", "up"])
@pytest.mark.parametrize(("content", "reason"), [(None, "no such file"), (b"no font", "no TrueType")])
def test_a_font_that_cannot_be_used_is_named_before_anything_starts(
    tmp_path: Path, part: str, content: bytes | None, reason: str
) -> None:
    font = tmp_path / "font.ttf"
    if content is not None:
        font.write_bytes(content)
    done = _headgate(
        part, HOME=str(tmp_path), HEADGATE_REPORT_FONTS=str(font), HEADGATE_DATABASE_URL="postgresql://127.0.0.1:1/x"
    )
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert f"HEADGATE_REPORT_FONTS: the font {font} cannot be used: " in said
    assert reason in said


@pytest.mark.parametrize("arguments", [("nonsense",), ("env", "--format", "csh"), ("approvals", "deny", "apr_1")])
def test_a_wrong_command_line_is_status_two(arguments: tuple[str, ...]) -> None:
    assert _headgate(*arguments).returncode == 2


@pytest.mark.parametrize(
    ("form", "fails"),
    [("sh", "false\n"), ("fish", "false\n"), ("powershell", "throw 'headgate env failed'\n"), ("dotenv", "")],
)
def test_env_without_an_instance_fails_in_the_shell_that_evaluates_it(form: str, fails: str, tmp_path: Path) -> None:
    done = _headgate("env", "--format", form, "--runtime-file", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (1, fails)
    assert "there is no runtime file" in done.stderr
    if form == "sh":
        assert subprocess.run(["sh", "-c", 'eval "$1" && echo next', "sh", done.stdout], check=False).returncode == 1


def test_the_version_is_told() -> None:
    assert _headgate("--version").stdout.strip()


def test_run_passes_the_command_line_on_untouched(tmp_path: Path) -> None:
    done = _headgate("run", "--runtime-file", str(tmp_path / "none"), "--", "echo", "--help")
    assert "no runtime file" in done.stderr
