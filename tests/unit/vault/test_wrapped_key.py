"""A file with wrapped keys: its form, what it never holds, and that nothing opens it without a service."""

import base64
import json
from pathlib import Path

import pytest

from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.vault.master_keys import MasterKeys, load_master_keys, store_master_keys
from headgate.vault.stored_keys import parse_stored_keys
from headgate.vault.wrapped_key import WrappedKey, parse_wrapping

_WRAPPING = parse_wrapping("hashivault://headgate", "prod")
_KEY = bytes(range(32))
_ENTRY = {"kms": "hashivault://headgate", "installation": "prod", "ciphertext": "vault:v1:AA=="}


def test_the_file_holds_what_the_service_made_and_not_the_key(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    keys = MasterKeys("k2", {"k1": bytes(32), "k2": _KEY}, {"k2": WrappedKey(_WRAPPING, "vault:v1:AA==")})
    store_master_keys(path, keys)
    document = json.loads(path.read_text())
    assert document == {"current": "k2", "keys": {"k1": base64.b64encode(bytes(32)).decode(), "k2": _ENTRY}}
    stored = parse_stored_keys(path.read_bytes(), "a file")
    assert list(stored.entries) == ["k1", "k2"]
    assert stored.entries["k2"] == keys.wrapped["k2"]
    assert base64.b64encode(bytes(32)).decode() not in repr(stored)
    with pytest.raises(UnavailableError, match="holds wrapped keys"):
        load_master_keys(path)


def test_a_key_is_bound_to_its_installation_and_identifier() -> None:
    assert _WRAPPING.context("k1") == {"headgate-installation": "prod", "headgate-master-key": "k1"}


@pytest.mark.parametrize("name", ["", "a b", "-a", "a" * 65, "a\n"])
def test_a_name_of_an_installation_that_no_policy_could_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="name of an installation"):
        parse_wrapping("hashivault://headgate", name)


@pytest.mark.parametrize(
    "changes",
    [
        {"kms": 1},
        {"kms": "https://evil.example"},
        {"installation": ""},
        {"installation": None},
        {"ciphertext": ""},
        {"ciphertext": ["a"]},
        {"ciphertext": "a" * 8193},
        {"more": "a"},
    ],
)
def test_a_damaged_entry_names_its_key_and_shows_nothing_of_it(changes: dict[str, object]) -> None:
    content = json.dumps({"current": "k1", "keys": {"k1": {**_ENTRY, **changes}}}).encode()
    with pytest.raises(UnavailableError) as refused:
        parse_stored_keys(content, "a file")
    assert "a file is damaged: the wrapped key 'k1' is malformed" in refused.value.message
    assert "evil" not in refused.value.message
