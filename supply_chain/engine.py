"""Builds the policy engine's wheel, or takes the one that an earlier build of the same sources left on this machine:
``python -m supply_chain.engine FOLDER`` puts it into ``FOLDER``.

A wheel is kept by what it was made of: the sources, the compiler, the tool that builds, the machine. Another clone of
the same commit compiles nothing.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from supply_chain.floors import ROOT

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate" / "engines"
_SOURCES: Final = ROOT / "regorus-py"
_PARTS: Final = (
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "NOTICE",
    "build.rs",
    "src",
    "python",
)
"""What a wheel is made of; tests, fuzzing and examples are not."""
_UNUSED_DAYS: Final = 60
_FLAGS: Final = ("RUSTFLAGS", "CARGO_BUILD_TARGET", "CFLAGS", "CC")


def digest(sources: Path, surroundings: Iterable[str]) -> str:
    """Of each file's path and content, and of what else decides what is built, in hexadecimal."""
    files = [one for part in _PARTS for one in _files(sources / part)]
    told = hashlib.sha256("\0".join(surroundings).encode())
    for file in sorted(files):
        told.update(f"\0{file.relative_to(sources)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return told.hexdigest()


def _files(part: Path) -> Iterable[Path]:
    if part.is_file():
        return [part]
    return [one for one in part.rglob("*") if one.is_file() and one.suffix not in {".pyc", ".so"}]


def provide(key: str, cache: Path, into: Path, build: Callable[[Path], None]) -> bool:
    """The wheel of ``key`` into ``into``, which is emptied first; ``build`` puts one into the folder that it is given.
    Returns whether it was built. Raises what ``build`` raises, and keeps nothing then."""
    kept = cache / key
    built = not kept.is_dir()
    if built:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="building-", ignore_cleanup_errors=True) as name:
            build(Path(name))
            _move(Path(name), kept)
    os.utime(kept)
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(kept, into)
    return built


def _move(made: Path, kept: Path) -> None:
    try:
        made.rename(kept)
    except OSError:
        if not kept.is_dir():  # otherwise another build of the same sources was quicker
            raise


def forget_unused(cache: Path, now: float) -> None:
    """What no build has taken for ``_UNUSED_DAYS``, and what an interrupted one left. ``now``: seconds of the epoch."""
    for one in cache.iterdir():
        if one.stat().st_mtime < now - _UNUSED_DAYS * 86_400:
            shutil.rmtree(one, ignore_errors=True)


def _build(folder: Path) -> None:
    print("== policy engine (the first time: some minutes)", flush=True)
    tool = [sys.executable, "-m", "maturin", "build", "--quiet", "--release", "--locked"]
    tool += ["--interpreter", sys.executable, "--manifest-path", str(_SOURCES / "Cargo.toml"), "--out", str(folder)]
    subprocess.run(tool, check=True)


def main() -> int:
    rust = subprocess.run(["cargo", "--version", "--verbose"], capture_output=True, text=True, check=True)  # noqa: S607
    flags = [f"{name}={os.environ.get(name, '')}" for name in _FLAGS]
    surroundings = (rust.stdout, version("maturin"), platform.machine(), *platform.libc_ver(), *flags)
    try:
        built = provide(digest(_SOURCES, surroundings), CACHE, Path(sys.argv[1]), _build)
    except subprocess.CalledProcessError as error:
        return error.returncode
    if not built:
        print("== policy engine (built before from the same sources)")
    forget_unused(CACHE, time.time())
    return 0


if __name__ == "__main__":
    sys.exit(main())
