"""``headgate secrets create``: key files that the parts themselves accept."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from headgate.cli.key_files import create_key_files
from headgate.cli.main import headgate
from headgate.evidence.signing_keys import SigningKeySource
from headgate.kernel.errors import UnavailableError
from headgate.organizations.local_issuer import KEY_FILE, open_local_issuer
from headgate.vault.master_keys import load_master_keys
from proxy.authority import Authority
from proxy.given_authority import read_given_authority

_NAMES = {"ca.pem", "ca-certificates.pem", "master-keys.json", "signing-keys", KEY_FILE}


def test_the_parts_accept_what_it_makes(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    done = CliRunner().invoke(headgate, ["secrets", "create", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["files"] == dict.fromkeys(_NAMES, "created")
    assert {one.name for one in folder.iterdir()} == _NAMES
    private = _NAMES - {"ca-certificates.pem"}
    assert {one.stat().st_mode & 0o777 for one in folder.iterdir() if one.name in private} == {0o600}
    now = datetime.now(UTC)
    certificate = read_given_authority(folder / "ca.pem", now).certificates[0]
    assert (folder / "ca-certificates.pem").read_bytes() == certificate
    Authority(tmp_path / "private", tmp_path / "public", folder / "ca.pem").open(now)
    assert load_master_keys(folder / "master-keys.json").current
    assert SigningKeySource(folder / "signing-keys").load().log_name
    assert open_local_issuer(folder)


def test_files_that_exist_are_kept(tmp_path: Path) -> None:
    create_key_files(tmp_path)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    (tmp_path / "signing-keys").unlink()
    states = create_key_files(tmp_path)
    assert states == dict.fromkeys(_NAMES, "kept") | {"signing-keys": "created"}
    assert all((tmp_path / name).read_bytes() == content for name, content in before.items() if name != "signing-keys")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match="file/keys: Not a directory"):
        create_key_files(tmp_path / "file" / "keys")


def test_login_without_a_runtime_file_leads_to_the_public_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    create_key_files(data / "issuer")
    monkeypatch.setenv("HEADGATE_DATA_DIR", str(data))
    monkeypatch.setenv("HEADGATE_PUBLIC_API_URL", "https://gate.example.com")
    done = CliRunner().invoke(headgate, ["login", "--json"])
    assert done.exit_code == 0, done.output
    url = json.loads(done.output)["url"]
    assert url.startswith("https://gate.example.com/")
    monkeypatch.delenv("HEADGATE_PUBLIC_API_URL")
    refused = CliRunner().invoke(headgate, ["login"])
    assert refused.exit_code != 0
    assert "HEADGATE_PUBLIC_API_URL" in str(refused.exception or refused.output) + refused.output
