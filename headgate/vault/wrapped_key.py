"""A master key as a key management service has encrypted it, so that the file alone opens nothing.

``{"kms": "awskms:///ARN", "installation": "prod", "ciphertext": "…"}`` stands in the file where the key itself would.
The service authenticates the installation and the key's identifier with the ciphertext: a key of another installation,
or under another identifier, does not decrypt, and the service's own log says whose key was asked for.
"""

import re
from dataclasses import dataclass
from typing import Final

from headgate.kernel.errors import ValidationError
from headgate.kms.key_address import KeyAddress, parse_key_address

_MEMBERS: Final = frozenset({"kms", "installation", "ciphertext"})
_INSTALLATION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LONGEST_CIPHERTEXT: Final = 8192


@dataclass(frozen=True, slots=True)
class Wrapping:
    """Which key wraps, and for which installation."""

    kms: KeyAddress
    installation: str

    def context(self, key_id: str) -> dict[str, str]:
        """What a wrapped master key is bound to."""
        return {"headgate-installation": self.installation, "headgate-master-key": key_id}


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """``ciphertext``: in the service's own form."""

    wrapping: Wrapping
    ciphertext: str

    def to_document(self) -> dict[str, str]:
        return {
            "kms": str(self.wrapping.kms),
            "installation": self.wrapping.installation,
            "ciphertext": self.ciphertext,
        }


def parse_wrapping(kms: str, installation: str) -> Wrapping:
    """Raises ValidationError."""
    if not _INSTALLATION.fullmatch(installation):
        raise ValidationError("the name of an installation has 1 to 64 letters, digits, '_', '.' and '-'")
    return Wrapping(parse_key_address(kms), installation)


def parse_wrapped_key(document: dict[object, object]) -> WrappedKey:
    """Raises ValidationError, which shows nothing of the ciphertext."""
    kms, installation, ciphertext = (document.get(one) for one in ("kms", "installation", "ciphertext"))
    if (
        document.keys() != _MEMBERS
        or not isinstance(kms, str)
        or not isinstance(installation, str)
        or not isinstance(ciphertext, str)
        or not 0 < len(ciphertext) <= _LONGEST_CIPHERTEXT
    ):
        raise ValidationError("a wrapped key has the members kms, installation and ciphertext, each a text")
    return WrappedKey(parse_wrapping(kms, installation), ciphertext)
