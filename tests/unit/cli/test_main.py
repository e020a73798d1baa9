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


def test_a_setting_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    done = _headgate("worker", HEADGATE_LOG_LEVEL="loud", HOME=str(tmp_path))
    assert done.returncode == 1
    assert 'HEADGATE_LOG_LEVEL is "loud"' in done.stderr


def test_a_part_without_a_database_says_what_to_set(tmp_path: Path) -> None:
    done = _headgate("worker", HOME=str(tmp_path))
    assert done.returncode == 1
    assert "HEADGATE_WORKER_DATABASE_URL" in done.stderr


@pytest.mark.parametrize("arguments", [("nonsense",), ("env", "--format", "csh"), ("approvals", "deny", "apr_1")])
def test_a_wrong_command_line_is_status_two(arguments: tuple[str, ...]) -> None:
    assert _headgate(*arguments).returncode == 2


def test_the_version_is_told() -> None:
    assert _headgate("--version").stdout.strip()


def test_run_passes_the_command_line_on_untouched(tmp_path: Path) -> None:
    done = _headgate("run", "--runtime-file", str(tmp_path / "none"), "--", "echo", "--help")
    assert "no runtime file" in done.stderr
