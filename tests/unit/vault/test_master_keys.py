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


def _file(**changes: object) -> bytes:
    return json.dumps({"current": "k1", "keys": {"k1": _KEY}, **changes}).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (_file()[:-9], "it is not JSON (line 1, column "),
        (b"{" + b"\x80" * 9, "it is not text in UTF-8"),
        (b"[" * 100_000, "it is not JSON of this form"),
        (b"9" * 5_000, "it is not JSON of this form"),
        (b"[]", "it is not a JSON object"),
        (b"{}", "the member 'current' is missing"),
        (b'{"current": "k1"}', "the member 'keys' is missing"),
        (_file(current=["k1"]), "the member 'current' is not text"),
        (_file(keys=["k1"]), "the member 'keys' is not an object"),
        (_file(keys=None), "the member 'keys' is not an object"),
        (_file(current="k2"), "the key that 'current' names is not among 'keys'"),
        (_file(keys={"k1": "c2hvcnQ="}), "the key 'k1' is not the base64 of 32 bytes"),
        (_file(keys={"k1": "not base64!"}), "the key 'k1' is not the base64 of 32 bytes"),
        (_file(keys={"k1": "é"}), "the key 'k1' is not the base64 of 32 bytes"),
        (_file(keys={"k1": 1}), "the key 'k1' is not the base64 of 32 bytes"),
        (_file(keys={"K 1": _KEY}), "a key has a name with other characters"),
        (_file(keys={"k1-0a1b2c3d": _KEY}), "the master key 'k1-0a1b2c3d' is not the key that was created"),
    ],
)
def test_a_damaged_file_says_which_what_and_what_to_do(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(UnavailableError) as refused:
        create_master_keys(path)
    assert refused.value.message.startswith(f"the master keys cannot be read: {path} is damaged: {said}")
    assert "Restore it from a copy or a backup" in refused.value.message
    # Logs show the cause where there is one.
    assert said in str(refused.value.__cause__)
    assert path.read_bytes() == content


def test_a_key_in_place_of_its_name_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(_file(keys={_KEY: "k1"}, current=_KEY))
    path.chmod(0o600)

    with pytest.raises(UnavailableError) as refused:
        load_master_keys(path)
    assert _KEY not in refused.value.message


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.mkdir(mode=0o700)

    with pytest.raises(UnavailableError, match="directory"):
        load_master_keys(path)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"current": "k1", "keys": {"k1": _KEY}}))
    path.chmod(0o644)

    with pytest.raises(UnavailableError, match="chmod 600"):
        load_master_keys(path)


def test_a_file_that_is_not_there_is_not_made_by_whoever_only_reads(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="does not exist"):
        load_master_keys(tmp_path / "keys.json")
