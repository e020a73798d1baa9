"""Fuzzes one target with Atheris (libFuzzer), from what was kept: ``python -m tests.fuzz.run TARGET SECONDS``.

Inputs that reach new code are kept at the end. An input that breaks a promise ends the run with exit status 77. The
last line names its file in the scratch folder: fix the parser, and keep the input.
"""

import hashlib
import shlex
import subprocess
import sys
from pathlib import Path

import atheris

from tests.fuzz.kept import keep, kept_inputs

with atheris.instrument_imports(include=["headgate"], enable_loader_override=False):
    from tests.fuzz.targets import TARGETS

_SCRATCH = Path(".fuzz")
_LENGTH_MAX = 2_000
_SLOW_SECONDS = 5


def main(target: str, seconds: str, *more: str) -> int:
    if more:  # the child: libFuzzer ends its process itself, and to merge starts its command again through a shell
        again = shlex.join([sys.executable, "-m", "tests.fuzz.run", target, "0"])
        atheris.Setup([again, *more], TARGETS[target])
        atheris.Fuzz()
    grown, kept = _SCRATCH / target / "grown", _SCRATCH / target / "kept"
    for folder in (grown, kept):
        folder.mkdir(parents=True, exist_ok=True)
    for one in kept_inputs(target):
        (kept / hashlib.sha256(one).hexdigest()).write_bytes(one)
    bounds = [f"-max_len={_LENGTH_MAX}", f"-timeout={_SLOW_SECONDS}", f"-artifact_prefix={_SCRATCH / target}/"]
    status = _fuzz(target, [f"-max_total_time={seconds}", "-print_final_stats=1", *bounds, str(grown), str(kept)])
    if status == 0:
        status = _fuzz(target, ["-merge=1", *bounds, str(kept), str(grown)])
        sys.stdout.write(f"{keep(target, [one.read_bytes() for one in kept.iterdir()])} inputs are kept\n")
    return status


def _fuzz(target: str, options: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "tests.fuzz.run", target, "0", *options], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
