"""``headgate tools``: catalogues lie with the instance that a person speaks to."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from headgate.cli.main import headgate
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.runtime.own_data import make_own
from headgate.runtime.runtime_file import RuntimeInformation, write_runtime_file

NOBODY = Secret("")
PLAIN = RuntimeInformation("", "", "", "", NOBODY, Secret("t"), "", NOBODY, NOBODY, {})
INVOICES = {
    "openapi": "3.0.3",
    "info": {"title": "Invoices", "version": "1"},
    "servers": [{"url": "https://invoices.example.com"}],
    "paths": {"/invoices": {"get": {"operationId": "listInvoices", "responses": {"200": {"description": "ok"}}}}},
}


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("HEADGATE_DATA_DIR", "HEADGATE_RUNTIME_FILE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(INVOICES))
    return path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(headgate, ["tools", *arguments])


def test_the_instance_of_the_runtime_file_gets_it_and_lists_it(document: Path, tmp_path: Path) -> None:
    data = DataDirectory(tmp_path / "data")
    runtime_file = tmp_path / "runtime.json"
    data.public.mkdir(parents=True)
    write_runtime_file(runtime_file, replace(PLAIN, ca_cert=str(data.public / "ca.pem")))
    named = ("--runtime-file", str(runtime_file))
    assert call("import", str(document), "--tool", "invoices", "--install", *named).exit_code == 0
    assert (data.catalogues / "invoices.yaml").exists()
    assert "list_invoices" in call("list", "--tool", "invoices", *named).output
    assert not (tmp_path / "home").exists()


def test_the_instance_of_this_folder_goes_before_the_users(document: Path, tmp_path: Path) -> None:
    local = DataDirectory(tmp_path / ".headgate")
    local.issuer.mkdir(parents=True)
    make_own(local)
    assert call("import", str(document), "--tool", "invoices", "--install").exit_code == 0
    assert (local.catalogues / "invoices.yaml").exists()


def test_before_the_first_start_it_lies_where_that_will_look(document: Path, tmp_path: Path) -> None:
    assert call("check").exit_code == 0
    assert call("import", str(document), "--tool", "invoices", "--install").exit_code == 0
    assert (tmp_path / "home/headgate/catalogues/invoices.yaml").exists()


def test_a_runtime_file_that_is_not_there_is_no_other_instance(document: Path, tmp_path: Path) -> None:
    done = call("import", str(document), "--tool", "invoices", "--install", "--runtime-file", str(tmp_path / "none"))
    assert isinstance(done.exception, UnavailableError)
    assert not (tmp_path / "home").exists()
