"""What commands print as JSON that work on files of this machine, and that write what the API sends into files."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headgate.cli.main import headgate
from headgate.configuration.data_directory import DataDirectory
from headgate.organizations.local_issuer import open_local_issuer
from proxy.authority import Authority
from tests.http_server import http_server


@pytest.fixture
def data(tmp_path: Path) -> DataDirectory:
    data = DataDirectory(tmp_path / "data")
    Authority(data.authority, data.public).open(datetime.now(UTC))
    return data


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It answers each request with three bytes."""
    with http_server(lambda path, body: (200, "application/octet-stream", b"abc")) as url:
        monkeypatch.setenv("HEADGATE_API_URL", url)
        monkeypatch.setenv("HEADGATE_TOKEN", "t")
        monkeypatch.delenv("HEADGATE_RUNTIME_FILE", raising=False)
        yield


def _run(*words: str) -> Result:
    return CliRunner().invoke(headgate, list(words))


def _json(*words: str) -> Any:
    done = _run(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_certificates(data: DataDirectory, tmp_path: Path) -> None:
    where = ("--data-dir", str(data.root))
    shown = _json("ca", "show", *where)
    assert len(shown["sha256"]) >= 64
    assert datetime.fromisoformat(shown["valid_until"]) > datetime.now(UTC)
    assert _json("ca", "export", *where) == {"file": None, "pem": Path(shown["file"]).read_text("ascii")}
    output = str(tmp_path / "gate.pem")
    assert _json("ca", "export", "--output", output, *where)["file"] == output
    assert _json("ca", "rotate", "--yes", *where)["sha256"] != shown["sha256"]


def test_a_token(data: DataDirectory) -> None:
    open_local_issuer(data.issuer)
    made = _json("token", "--user", "ana@example.com", "--role", "viewer", "--data-dir", str(data.root))
    assert made.pop("token").count(".") == 2
    assert made == {"user": "ana@example.com", "roles": ["viewer"], "aal": "aal1", "valid_hours": 24}


def test_policies_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.rego").write_text("package gate\n\nallow if input.tool ==\n")
    done = _run("policy", "lint", str(tmp_path), "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert (len(report["errors"]), report["warnings"]) == (1, [])


def test_checked_catalogues(data: DataDirectory) -> None:
    assert _json("tools", "check", "--data-dir", str(data.root)).keys() == {"catalogues", "entries"}


def test_a_diagnosis(tmp_path: Path) -> None:
    done = _run("doctor", "--runtime-file", str(tmp_path / "none.json"), "--quiet", "--json")
    report = json.loads(done.stdout)
    assert (done.exit_code, report["ok"], report["findings"][0]["verdict"]) == (1, False, "wrong")


@pytest.mark.usefixtures("api")
@pytest.mark.parametrize(
    ("words", "written"),
    [
        (("traffic", "export"), {"bytes": 3}),
        (("audit", "export-events"), {"lines": 0}),
        (("audit", "pack", "act_01a20aca-580f-7b4c-a709-d32fa3c114a9"), {"bytes": 3}),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_files(words: tuple[str, ...], written: dict[str, object], tmp_path: Path) -> None:
    output = tmp_path / "file"
    assert _json(*words, "--output", str(output)) == {"file": str(output), **written}
    assert output.read_bytes() == b"abc"


@pytest.mark.parametrize("words", [("traffic", "export"), ("audit", "export-events")], ids=" ".join)
def test_what_goes_to_standard_output_is_not_mixed_with_json(words: tuple[str, ...]) -> None:
    done = _run(*words, "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--output" in done.stderr
