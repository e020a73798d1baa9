"""Verifies what a signer outside this process answers, before it is used."""

from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from headgate.kernel.errors import UnavailableError

_SIGNATURE_BYTES: Final = 64


def verified(signature: bytes, message: bytes, public_key: bytes, place: str) -> bytes:
    """Returns the signature. ``place`` is for errors. Raises UnavailableError: it is not of this key over this
    message."""
    try:
        if len(signature) != _SIGNATURE_BYTES:
            raise InvalidSignature
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError) as error:
        raise UnavailableError(
            f"the signer at {place} answered with a signature that its public key does not verify"
        ) from error
    return signature
