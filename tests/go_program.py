"""Small Go programs that tests compare with: built from a folder with a committed go.mod and go.sum."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

_BUILD_SECONDS = 600
_PLACES = ("/usr/local/go/bin/go", "/usr/lib/go/bin/go")


def build_go_program(folder: Path, into: Path, package: str = ".") -> Path:
    """The path of the folder's program, or of another ``package`` that its go.mod names as a tool.

    Modules come through the module proxy and are those of go.sum; no toolchain is fetched.

    A Go before 1.21 neither reads the third number of ``go 1.24.0`` nor refuses a higher one than its own: it gets two.
    """
    go = _go()
    source = into / "source"
    shutil.copytree(folder, source, dirs_exist_ok=True)
    if _minor_version(go) < 21:
        module = source / "go.mod"
        module.write_text(re.sub(r"(?m)^(go 1\.\d+)\.\d+$", r"\1", module.read_text("utf-8")), "utf-8")
    program = into / (folder.name if package == "." else package.rpartition("/")[2])
    environment = {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly",
        "CGO_ENABLED": "0",
        "GOWORK": "off",
    }
    done = subprocess.run(
        # Without symbol tables, which only a debugger reads, linking takes half the processor time.
        [go, "build", "-trimpath", "-ldflags=-s -w", "-o", str(program), package],
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_BUILD_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"go build of {program.name} failed: {done.stderr}")
    return program


@cache
def _go() -> str:
    found = shutil.which("go") or next((one for one in _PLACES if Path(one).exists()), None)
    if found is None:
        pytest.fail("Go is needed to compare with its libraries: install it (Debian: golang-go)")
    return found


def _minor_version(go: str) -> int:
    said = subprocess.run([go, "version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"go1\.(\d+)", said)
    assert match is not None, said
    return int(match[1])
