"""What the fuzzer starts from, and what it found: nothing of it harms the process any more."""

import subprocess
import sys
from pathlib import Path


def test_the_kept_inputs_do_no_harm() -> None:
    command = [sys.executable, "-m", "regorus_fuzz", "--corpus"]
    here = Path(__file__).parents[1]
    done = subprocess.run(command, check=False, cwd=here, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
