"""The file of master keys: made once, private, and refused where it is not as it should be."""

import base64
import json
import stat
from pathlib import Path

import pytest

from headgate.kernel.errors import UnavailableError
from headgate.vault.master_keys import create_master_keys, load_master_keys

_KEY = base64.b64encode(bytes(32)).decode()


def test_it_is_made_once_and_private(tmp_path: Path) -> None:
    path = tmp_path / "vault" / "master-keys.json"
    made = create_master_keys(path)

    assert create_master_keys(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "masked" in repr(made)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        json.dumps({"current": "k2", "keys": {"k1": _KEY}}),
        json.dumps({"current": "k1", "keys": {"k1": "c2hvcnQ="}}),
        json.dumps({"current": "k1", "keys": {"k1": "not base64!"}}),
        json.dumps({"current": "k1", "keys": ["k1"]}),
        json.dumps({"current": "K 1", "keys": {"K 1": _KEY}}),
    ],
)
def test_another_form_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(content)
    path.chmod(0o600)

    with pytest.raises(UnavailableError):
        create_master_keys(path)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"current": "k1", "keys": {"k1": _KEY}}))
    path.chmod(0o644)

    with pytest.raises(UnavailableError, match="chmod 600"):
        load_master_keys(path)


def test_a_file_that_is_not_there_is_not_made_by_whoever_only_reads(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError):
        load_master_keys(tmp_path / "keys.json")
