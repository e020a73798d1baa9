"""Asks the advisory databases about the locks, with the tools that each ecosystem keeps for it: pip-audit (PyPA) for
Python, cargo-deny (RustSec) for Rust."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from supply_chain.floors import CARGO_LOCK, PYTHON_LOCKS, ROOT, Finding, Locked

OSV_URL: Final = "https://api.osv.dev/v1/query"
TIMEOUT_S: Final = 180


class NotAskedError(Exception):
    """The database gave no answer; the message says why and what would help."""


def ask_python(root: Path = ROOT, osv_url: str = OSV_URL) -> tuple[Finding, ...]:
    """What OSV (https://osv.dev) says about the locks. Raises ``NotAskedError``.

    OSV, not the package index: of a mirror that has no advisories pip-audit skips every package, and ends well.
    """
    findings: list[Finding] = []
    for lock in PYTHON_LOCKS:
        command = (str(Path(sys.executable).parent / "pip-audit"), "--format", "json", "--progress-spinner", "off")
        service = ("--vulnerability-service", "osv", "--osv-url", osv_url, "--aliases", "on")
        of_lock = ("--disable-pip", "--require-hashes", "--requirement", str(root / lock))
        answer = _run((*command, *service, *of_lock), root)
        findings += _python_findings(answer.stdout, answer.stderr, lock)
    return tuple(findings)


def ask_rust(root: Path = ROOT) -> tuple[Finding, ...]:
    """What the RustSec database says about ``Cargo.lock``, and what ``deny.toml`` does not accept of licenses and
    sources. Raises ``NotAskedError``."""
    if shutil.which("cargo-deny") is None:
        raise NotAskedError("cargo-deny is not installed (cargo install --locked cargo-deny)")
    files = ("--config", str(ROOT / "supply_chain/deny.toml"), "--manifest-path", str(root / "regorus-py/Cargo.toml"))
    answer = _run(("cargo-deny", "--format", "json", *files, "check"), root)
    return tuple(_rust_findings(answer.stderr))


def _run(command: tuple[str, ...], root: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAskedError(f"{Path(command[0]).name}: {error}") from error


def _python_findings(answer: str, error: str, lock: str) -> Iterator[Finding]:
    try:
        packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except (ValueError, KeyError) as unread:
        raise NotAskedError(f"pip-audit: {_last_line(error)}") from unread
    if skipped := [one["name"] for one in packages if "skip_reason" in one]:
        raise NotAskedError(f"pip-audit knows nothing about {len(skipped)} of {len(packages)} packages of {lock}")
    for package in packages:
        for advisory in package["vulns"]:
            one = Locked("python", package["name"], package["version"], lock)
            fixed_in = advisory["fix_versions"][0] if advisory["fix_versions"] else ""
            yield Finding(one, fixed_in, ", ".join((advisory["id"], *advisory["aliases"])))


def _rust_findings(lines: str) -> Iterator[Finding]:
    is_asked, said = False, "ended without a summary"
    for line in lines.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            said = line.strip() or said
            continue
        kind, fields = message["type"], message["fields"]
        is_asked |= kind == "summary"
        if kind == "log" and fields["level"] == "ERROR":
            raise NotAskedError(f"cargo-deny: {fields['message'].partition(chr(10))[0]}")
        if kind == "diagnostic" and fields["severity"] == "error":
            advisory = fields.get("advisory")
            found = advisory["id"] if advisory else f"{fields.get('code', 'error')} ({fields['message']})"
            for graph in fields.get("graphs", ()):
                krate = graph["Krate"]
                yield Finding(Locked("rust", krate["name"], krate["version"], CARGO_LOCK), "", found)
    if not is_asked:
        raise NotAskedError(f"cargo-deny: {said}")


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2] or "no answer"
