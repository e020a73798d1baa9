"""The name of a forked process."""

import subprocess
import sys

FORKING = """
import os
from pathlib import Path

from headgate.runtime.process_title import show_as

show_as("headgate: loads the parts")
if pid := os.fork():
    shown = [Path("/proc/self", name).read_text() for name in ("comm", "cmdline")]
    print(os.waitpid(pid, 0)[1], shown[0].strip(), shown[1][:25])
else:
    os._exit(0)
"""


def test_a_fork_warns_of_no_threads_whatever_the_niceness() -> None:
    command = ["nice", "-n", "5", sys.executable, "-W", "always", "-c", FORKING]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout.strip()) == ("", "0 headgate:-loads headgate: loads the parts")
