"""What is sealed opens under the same secret, purpose and name, and under no other."""

import pytest

from headgate.kernel.sealing import Seal, derived_key
from headgate.kernel.secrets import Secret

SECRET = Secret("a secret of the installation")
SEALED = Seal(SECRET, b"purpose").seal(b"plain", "name")


def test_it_opens_for_whom_it_was_sealed() -> None:
    assert Seal(SECRET, b"purpose").open(SEALED, "name") == b"plain"
    assert b"plain" not in SEALED
    assert Seal(SECRET, b"purpose").seal(b"plain", "name") != SEALED


@pytest.mark.parametrize(
    ("seal", "sealed", "name"),
    [
        (Seal(Secret("another"), b"purpose"), SEALED, "name"),
        (Seal(SECRET, b"another"), SEALED, "name"),
        (Seal(SECRET, b"purpose"), SEALED, "another"),
        (Seal(SECRET, b"purpose"), SEALED[:-1], "name"),
        (Seal(SECRET, b"purpose"), SEALED[:-1] + bytes([SEALED[-1] ^ 1]), "name"),
        (Seal(SECRET, b"purpose"), b"", "name"),
        (Seal(SECRET, b"purpose"), b"short", "name"),
    ],
    ids=["secret", "purpose", "name", "cut", "changed", "empty", "short"],
)
def test_nothing_else_opens(seal: Seal, sealed: bytes, name: str) -> None:
    assert seal.open(sealed, name) is None


def test_keys_of_two_purposes_have_nothing_in_common() -> None:
    assert derived_key(SECRET, b"a") != derived_key(SECRET, b"b")
    assert len(derived_key(SECRET, b"a", size_bytes=16)) == 16
