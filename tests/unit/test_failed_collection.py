"""A run of the suite that collected nothing is not taken for one with failed tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_OTHER_IN_EACH_PROCESS = """
import os
import pytest

@pytest.mark.parametrize("number", [os.getpid()])
def test_it(number): pass
"""


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (_OTHER_IN_EACH_PROCESS, pytest.ExitCode.INTERRUPTED),
        ("def test_it(): assert False", pytest.ExitCode.TESTS_FAILED),
        ("def test_it(): pass", pytest.ExitCode.OK),
    ],
    ids=["other tests in each process", "a failed test", "a passed test"],
)
def test_the_status_of_a_run_says_whether_tests_ran(tmp_path: Path, text: str, status: pytest.ExitCode) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_sessionfinish")
    (tmp_path / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        check=False,
    )
    assert done.returncode == status, done.stdout.decode()
