"""A part opens as it was written, whole, in its order, under its own passphrase and name; or it does not open."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.backup.encryption import CHUNK_BYTES, PartCipher, PassphraseKey, decrypted, key_of, new_key
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret
from tests.unit.backup.manifests import MANIFEST

_PASSPHRASE = Secret("correct horse battery staple")
_TAG_BYTES = 16


@pytest.fixture(scope="module")
def key() -> PassphraseKey:
    return new_key(_PASSPHRASE)


def _encrypted(key: PassphraseKey, plain: bytes, name: str = "database.dump") -> bytes:
    cipher = PartCipher(key, name)
    return cipher.update(plain) + cipher.finish()


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 7])
def test_a_part_opens_as_it_was_written(key: PassphraseKey, size: int) -> None:
    plain = bytes(number % 251 for number in range(size))
    sealed = _encrypted(key, plain)
    assert b"".join(decrypted([sealed], key, "database.dump")) == plain
    pieces = [sealed[at : at + 100_000] for at in range(0, len(sealed), 100_000)]
    assert b"".join(decrypted(pieces, key, "database.dump")) == plain


@settings(max_examples=30, deadline=None)
@given(pieces=st.lists(st.binary(max_size=64), max_size=8))
def test_the_pieces_in_which_it_is_written_do_not_matter(key: PassphraseKey, pieces: list[bytes]) -> None:
    cipher = PartCipher(key, "keys.tar")
    sealed = b"".join(cipher.update(piece) for piece in pieces) + cipher.finish()
    assert b"".join(decrypted([sealed], key, "keys.tar")) == b"".join(pieces)


_SEALED_CHUNK = CHUNK_BYTES + _TAG_BYTES


@pytest.mark.parametrize(
    "change",
    [
        lambda sealed: sealed[:-1],
        lambda sealed: sealed[:_SEALED_CHUNK],
        lambda sealed: sealed[_SEALED_CHUNK:],
        lambda sealed: sealed[_SEALED_CHUNK : 2 * _SEALED_CHUNK] + sealed[:_SEALED_CHUNK] + sealed[2 * _SEALED_CHUNK :],
        lambda sealed: sealed + b"\0",
        lambda sealed: bytes([sealed[0] ^ 1]) + sealed[1:],
        lambda sealed: b"",
    ],
    ids=["cut by a byte", "cut after a chunk", "begun later", "in another order", "longer", "changed", "empty"],
)
def test_a_part_that_was_changed_does_not_open(key: PassphraseKey, change: Callable[[bytes], bytes]) -> None:
    sealed = _encrypted(key, bytes(2 * CHUNK_BYTES + 5))
    with pytest.raises(ValidationError, match="was changed or cut"):
        list(decrypted([change(sealed)], key, "database.dump"))


def test_a_part_does_not_open_under_the_name_of_another(key: PassphraseKey) -> None:
    with pytest.raises(ValidationError, match="was changed or cut"):
        list(decrypted([_encrypted(key, b"keys", "keys.tar")], key, "database.dump"))


def test_another_passphrase_is_told_apart(key: PassphraseKey) -> None:
    assert key_of(_PASSPHRASE, key.encryption).encryption == key.encryption
    with pytest.raises(ValidationError, match="not the one that the backup was made with"):
        key_of(Secret("wrong horse battery staple"), key.encryption)


def test_a_short_passphrase_is_refused() -> None:
    with pytest.raises(ValidationError, match="at least 12 characters"):
        new_key(Secret("short"))


def test_parameters_that_would_exhaust_the_memory_are_refused(key: PassphraseKey) -> None:
    with pytest.raises(ValidationError, match="parameters of scrypt"):
        key_of(_PASSPHRASE, replace(key.encryption, n=2**40))


def test_a_manifest_that_was_changed_is_told(key: PassphraseKey) -> None:
    sealed = key.seal(MANIFEST)
    key.require_sealed(sealed)
    for changed in (replace(sealed, backup_id="bkp_other"), replace(sealed, seal=None), replace(sealed, heads=())):
        with pytest.raises(ValidationError, match="was changed after the backup was made"):
            key.require_sealed(changed)


def test_no_two_backups_have_one_key(key: PassphraseKey) -> None:
    other = new_key(_PASSPHRASE)
    assert other.encryption.salt != key.encryption.salt
    assert other.of("part keys.tar") != key.of("part keys.tar") != key.of("part database.dump")
