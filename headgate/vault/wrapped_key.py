"""A master key that a key management service has encrypted, so that the file alone opens nothing.

The file holds ``{"kms": "awskms:///ARN", "installation": "prod", "ciphertext": "…"}`` in place of the key. The service
authenticates the installation and the key's identifier with the ciphertext. So a key of another installation, or under
another identifier, does not decrypt, and the service's own log names both.
"""

import re
from typing import Final

from msgspec import Struct

from headgate.kernel.errors import ValidationError
from headgate.kms.key_address import KeyAddress, parse_key_address

_MEMBERS: Final = frozenset({"kms", "installation", "ciphertext"})
_INSTALLATION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LONGEST_CIPHERTEXT: Final = 8192


class Wrapping(Struct, frozen=True):
    """The key that wraps, and the installation that it wraps for."""

    kms: KeyAddress
    installation: str

    def context(self, key_id: str) -> dict[str, str]:
        """Returns what the service authenticates with a wrapped master key."""
        return {"headgate-installation": self.installation, "headgate-master-key": key_id}


class WrappedKey(Struct, frozen=True):
    """``ciphertext``: in the service's own form, at most 8,192 characters."""

    wrapping: Wrapping
    ciphertext: str

    def to_document(self) -> dict[str, str]:
        return {
            "kms": str(self.wrapping.kms),
            "installation": self.wrapping.installation,
            "ciphertext": self.ciphertext,
        }


def parse_wrapping(kms: str, installation: str) -> Wrapping:
    """``kms``: the address of a key. Raises ValidationError."""
    if not _INSTALLATION.fullmatch(installation):
        raise ValidationError(
            "the name of an installation has 1 to 64 letters, digits, '_', '.' and '-', and begins with a letter or a"
            " digit"
        )
    return Wrapping(parse_key_address(kms), installation)


def parse_wrapped_key(document: dict[object, object]) -> WrappedKey:
    """Raises ValidationError, which shows no part of the ciphertext."""
    kms, installation, ciphertext = (document.get(one) for one in ("kms", "installation", "ciphertext"))
    if (
        document.keys() != _MEMBERS
        or not isinstance(kms, str)
        or not isinstance(installation, str)
        or not isinstance(ciphertext, str)
        or not 0 < len(ciphertext) <= _LONGEST_CIPHERTEXT
    ):
        raise ValidationError(
            "a wrapped key has the members kms, installation and ciphertext, each a text; the ciphertext has 1 to"
            f" {_LONGEST_CIPHERTEXT} characters"
        )
    return WrappedKey(parse_wrapping(kms, installation), ciphertext)
