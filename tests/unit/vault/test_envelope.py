"""A sealed secret opens with its master key, for its organization, under its name, and not otherwise."""

import os

import pytest
from msgspec.structs import replace

from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from headgate.vault.envelope import Envelope, rewrap, seal, unseal
from headgate.vault.master_keys import MasterKeys

_KEYS = MasterKeys("k1", {"k1": os.urandom(32)})
_SECRET = Secret("not a real key ünï")


def _sealed() -> Envelope:
    return seal(_SECRET, _KEYS, org_id="org_a", name="nlp/openai")


def test_what_was_sealed_opens() -> None:
    assert unseal(_sealed(), _KEYS, org_id="org_a", name="nlp/openai") == _SECRET


def test_the_same_secret_is_sealed_differently_each_time() -> None:
    one, other = _sealed(), _sealed()

    assert one.ciphertext != other.ciphertext
    assert one.wrapped_key != other.wrapped_key
    assert _SECRET.reveal().encode() not in one.ciphertext


@pytest.mark.parametrize("where", [{"org_id": "org_b", "name": "nlp/openai"}, {"org_id": "org_a", "name": "nlp/other"}])
def test_it_opens_nowhere_else(where: dict[str, str]) -> None:
    with pytest.raises(UnavailableError):
        unseal(_sealed(), _KEYS, **where)


@pytest.mark.parametrize("part", ["wrapped_key", "ciphertext"])
@pytest.mark.parametrize("at", [0, 12, -1])
def test_a_changed_byte_is_noticed(part: str, at: int) -> None:
    sealed = _sealed()
    changed = bytearray(getattr(sealed, part))
    changed[at] ^= 1

    with pytest.raises(UnavailableError):
        unseal(replace(sealed, **{part: bytes(changed)}), _KEYS, org_id="org_a", name="nlp/openai")


@pytest.mark.parametrize("keys", [MasterKeys("k1", {"k1": os.urandom(32)}), MasterKeys("k2", {"k2": os.urandom(32)})])
def test_another_master_key_does_not_open_it(keys: MasterKeys) -> None:
    with pytest.raises(UnavailableError):
        unseal(_sealed(), keys, org_id="org_a", name="nlp/openai")


def test_a_new_master_key_takes_over_without_touching_the_secret() -> None:
    both = MasterKeys("k2", {**_KEYS.keys, "k2": os.urandom(32)})
    sealed = _sealed()
    moved = rewrap(sealed, both, org_id="org_a", name="nlp/openai")

    assert (moved.key_id, moved.ciphertext) == ("k2", sealed.ciphertext)
    only_new = MasterKeys("k2", {"k2": both.keys["k2"]})
    assert unseal(moved, only_new, org_id="org_a", name="nlp/openai") == _SECRET
    assert rewrap(moved, both, org_id="org_a", name="nlp/openai") is moved
