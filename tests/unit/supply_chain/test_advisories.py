"""pip-audit runs for real, against a database of advisories that the test serves."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from supply_chain import audit
from supply_chain.advisories import NotAskedError, ask_python, ask_rust
from supply_chain.floors import CARGO_LOCK, PYTHON_LOCKS, Finding, Locked

ADVISORY = {
    "id": "GHSA-6hr6-w5qg-qmwg",
    "aliases": ["CVE-2026-71554"],
    "summary": "Duplicate Host headers",
    "details": "Duplicate Host headers",
    "modified": "2026-08-03T00:00:00Z",
    "published": "2026-08-03T00:00:00Z",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "h2"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "4.4.1"}]}],
        }
    ],
}


class Database(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        known = asked["package"]["name"] == "h2" and asked["version"] == "4.3.0"
        answer = json.dumps({"vulns": [ADVISORY]} if known else {}).encode()
        self.send_response(500 if asked["package"]["name"] == "broken" else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        pass


@pytest.fixture
def database() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Database) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def locks(folder: Path, runtime: str, others: str = "six==1.17.0") -> Path:
    for lock in PYTHON_LOCKS:
        locked = runtime if lock == "requirements.lock" else others
        (folder / lock).write_text(locked + " \\\n    --hash=sha256:" + "0" * 64 + "\n")
    return folder


def test_what_the_database_names_is_found_and_what_is_mended_is_not(tmp_path: Path, database: str) -> None:
    assert ask_python(locks(tmp_path, "h2==4.3.0", others="h2==4.4.1"), database) == (
        Finding(Locked("python", "h2", "4.3.0", "requirements.lock"), "4.4.1", "CVE-2026-71554, GHSA-6hr6-w5qg-qmwg"),
    )


@pytest.mark.parametrize("runtime", ["broken==1.0", "h2>=4.3"])
def test_an_audit_that_could_not_be_made_is_none(tmp_path: Path, database: str, runtime: str) -> None:
    with pytest.raises(NotAskedError, match="pip-audit"):
        ask_python(locks(tmp_path, runtime), database)


def test_a_database_that_is_not_reached(tmp_path: Path) -> None:
    with pytest.raises(NotAskedError, match="pip-audit"):
        ask_python(locks(tmp_path, "h2==4.3.0"), "http://127.0.0.1:9/v1/query")


def answer_of_cargo_deny(folder: Path, monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    program = folder / "cargo-deny"
    program.write_text("#!/bin/sh\ncat >&2 <<'END'\n" + "\n".join(lines) + "\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


SUMMARY = '{"type":"summary","fields":{"advisories":{"errors":0,"helps":0,"notes":0,"warnings":0}}}'


def test_cargo_deny_names_a_crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {
        "severity": "error",
        "code": "vulnerability",
        "message": "Double free",
        "advisory": {"id": "RUSTSEC-2025-0020"},
        "graphs": [{"Krate": {"name": "pyo3", "version": "0.23.0"}}],
    }
    answer_of_cargo_deny(tmp_path, monkeypatch, json.dumps({"type": "diagnostic", "fields": found}), SUMMARY)
    assert ask_rust(tmp_path) == (Finding(Locked("rust", "pyo3", "0.23.0", CARGO_LOCK), "", "RUSTSEC-2025-0020"),)
    found |= {"code": "rejected", "message": "failed to satisfy license requirements", "advisory": None}
    answer_of_cargo_deny(tmp_path, monkeypatch, json.dumps({"type": "diagnostic", "fields": found}), SUMMARY)
    assert [one.advisory for one in ask_rust(tmp_path)] == ["rejected (failed to satisfy license requirements)"]
    answer_of_cargo_deny(tmp_path, monkeypatch, SUMMARY)
    assert ask_rust(tmp_path) == ()


def test_cargo_deny_without_its_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = {"type": "log", "fields": {"level": "ERROR", "message": "failed to fetch advisory database"}}
    for answer in (json.dumps(fetched), "failed to fetch"):
        answer_of_cargo_deny(tmp_path, monkeypatch, answer)
        with pytest.raises(NotAskedError, match="failed to fetch"):
            ask_rust(tmp_path)
    answer_of_cargo_deny(tmp_path, monkeypatch)
    with pytest.raises(NotAskedError, match="without a summary"):
        ask_rust(tmp_path)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotAskedError, match="not installed"):
        ask_rust(tmp_path)


def test_the_audit_says_what_was_not_asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def not_asked() -> tuple[Finding, ...]:
        raise NotAskedError("no way out")

    def found() -> tuple[Finding, ...]:
        return (Finding(Locked("rust", "pyo3", "0.23.0", CARGO_LOCK), "", "RUSTSEC-2025-0020"),)

    monkeypatch.setattr(audit, "ask_python", not_asked)
    monkeypatch.setattr(audit, "ask_rust", found)
    assert audit.main() == 1
    said = capsys.readouterr()
    assert "the Python advisory database was not asked, only the floors count: no way out" in said.out
    assert said.err == "regorus-py/Cargo.lock: pyo3 0.23.0 has RUSTSEC-2025-0020; no fixed version is known\n"
    monkeypatch.setattr(audit, "ask_rust", not_asked)
    assert audit.main() == 0
