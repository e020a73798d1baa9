"""The commands that wrap master keys and lead to a signer in a key management service."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from headgate.cli.main import headgate
from headgate.evidence.signing_keys import SigningKeySource
from headgate.vault.master_keys import load_master_keys
from tests.transit_server import TOKEN, TransitServer, transit_server


@pytest.fixture
def transit(monkeypatch: pytest.MonkeyPatch) -> Iterator[TransitServer]:
    with transit_server() as server:
        monkeypatch.setenv("VAULT_ADDR", server.url)
        monkeypatch.setenv("VAULT_TOKEN", TOKEN)
        yield server


def _run(*arguments: str) -> str:
    done = CliRunner().invoke(headgate, list(arguments))
    assert done.exit_code == 0, (done.output, done.exception)
    assert TOKEN not in done.output
    return done.output


def test_key_files_are_created_with_a_wrapped_key(tmp_path: Path, transit: TransitServer) -> None:
    _run("secrets", "create", str(tmp_path / "keys"), "--kms", "hashivault://master", "--installation", "prod")
    document = json.loads((tmp_path / "keys" / "master-keys.json").read_text())
    [entry] = document["keys"].values()
    assert (entry["kms"], entry["installation"]) == ("hashivault://master", "prod")
    assert entry["ciphertext"].startswith("vault:v1:")
    refused = CliRunner().invoke(headgate, ["secrets", "create", str(tmp_path / "others"), "--kms", "vault://x"])
    assert refused.exit_code != 0
    assert not (tmp_path / "others").exists()


def test_master_keys_are_wrapped_and_had_back(
    tmp_path: Path, transit: TransitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "master-keys.json"
    monkeypatch.setenv("HEADGATE_MASTER_KEYS_FILE", str(file))
    _run("secrets", "create", str(tmp_path))
    before = load_master_keys(file)
    shown = _run("secrets", "wrap", "--kms", "hashivault://master")
    assert f"{before.current}  wrapped with hashivault://master" in shown
    assert "rotate" in shown
    assert json.loads(_run("secrets", "wrap", "--kms", "hashivault://other", "--json")) == {
        "keys": [before.current],
        "kms": "hashivault://other",
    }
    assert f"{before.current}  in the clear" in _run("secrets", "unwrap")
    assert load_master_keys(file) == before
    transit.token = "another"
    refused = CliRunner().invoke(headgate, ["secrets", "wrap", "--kms", "hashivault://master"])
    assert refused.exit_code != 0
    assert load_master_keys(file) == before


def test_a_signer_is_named_by_its_address_alone(
    tmp_path: Path, transit: TransitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "signing-keys"
    monkeypatch.setenv("HEADGATE_SIGNING_KEYS_FILE", str(file))
    SigningKeySource(file).create("log.example")
    [current, old] = _run("audit", "key", "rotate", "--signer", "hashivault://signer").splitlines()[:2]
    assert current.endswith("  current") and old.endswith("  signing")
    assert file.read_text().splitlines()[0].startswith(f"SIGNER+log.example+{current.split()[0]}+")
    assert file.read_text().splitlines()[0].endswith("+hashivault://signer?version=1")
    _run("audit", "key", "retire", current.split()[0])
    refused = CliRunner().invoke(headgate, ["audit", "key", "rotate", "--signer", "hashivault://master"])
    assert "of another type than ed25519" in str(refused.exception) + refused.output
