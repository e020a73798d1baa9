"""Patterns are compiled when they are first used, so that a large one would only be refused at a call that needs it:
here each is used once."""

import subprocess
import sys

_PROGRAM = """
import regorus

class Recorded(type):
    made = []

    def __call__(cls, pattern):
        Recorded.made.append(made := compiled(pattern))
        return made

compiled = regorus.BytePattern

class BytePattern(metaclass=Recorded):
    pass

regorus.BytePattern = BytePattern

from headgate.detectors.rehearsal import rehearse

rehearse()
assert len(Recorded.made) > 700, len(Recorded.made)
for pattern in Recorded.made:
    pattern.search(b"")
    pattern.fullmatch(b"")
"""


def test_every_pattern_that_comes_with_headgate_compiles() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
