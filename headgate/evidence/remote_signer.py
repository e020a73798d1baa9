"""A signing key that never leaves its device, asked over HTTP: a KMS, an HSM, or a process on another machine.

The protocol is as small as ``Signer``: POST the message as it is (``application/octet-stream``), with the token as
``Authorization: Bearer`` where there is one; 200 and the 64 bytes of an Ed25519 signature (RFC 8032) are the answer.
The signature is verified with the public key before it is used, so a device that signs something else, or with another
key, makes no checkpoint. A key in AWS KMS, Vault or OpenBao signs by that service's own interface (``headgate.kms``).
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from headgate.evidence.note import KeyKind, VerifierKey, parse_verifier_key
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.public_roots import public_roots
from headgate.kernel.secrets import Secret
from headgate.kms.key_address import AWS, FORMS, TRANSIT, KeyAddress, parse_key_address
from headgate.kms.key_services import KeyServices
from headgate.outgoing.httpx_transport import open_operator_client

PREFIX: Final = "SIGNER+"
_LINE: Final = re.compile(r"SIGNER\+([^\s+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+={0,2})\+((?:https?|awskms|hashivault)://\S+)")
SIGNATURE_SECONDS: Final = 5.0
_SIGNATURE_BYTES: Final = 64
_TRIAL: Final = b"headgate: a trial of this key, and no checkpoint\n"


@dataclass(frozen=True, slots=True)
class RemoteSigner:
    """``url`` without the token, which stands in a line's address where a password does."""

    public_key: bytes
    url: str
    token: Secret | None

    async def sign(self, message: bytes) -> bytes:
        """Raises UnavailableError: no answer, a refusal, or a signature that is not of this key over this message."""
        headers = {"content-type": "application/octet-stream"}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token.reveal()}"
        try:
            async with open_operator_client(public_roots(), SIGNATURE_SECONDS) as client:
                answer = await client.post(self.url, content=message, headers=headers)
        except httpx.HTTPError as error:
            raise UnavailableError(f"the signer at {self.url} does not answer: {type(error).__name__}") from error
        if answer.status_code != httpx.codes.OK:
            raise UnavailableError(f"the signer at {self.url} answered {answer.status_code}")
        return verified(answer.content, message, self.public_key, self.url)


@dataclass(frozen=True, slots=True)
class KmsSigner:
    """A key in AWS KMS, or in the transit engine of Vault or OpenBao. ``services`` None: this process only verifies."""

    public_key: bytes
    address: KeyAddress
    services: KeyServices | None

    async def sign(self, message: bytes) -> bytes:
        """Raises UnavailableError: no answer, a refusal, or a signature that is not of this key over this message."""
        if self.services is None:
            raise UnavailableError(f"this process does not use the signer at {self.address}: it only verifies")
        try:
            signature = await self.services.sign(self.address, message)
        except UnavailableError as error:
            raise UnavailableError(f"the signer at {self.address} does not sign: {error.message}") from error
        return verified(signature, message, self.public_key, str(self.address))


async def signer_line(log_name: str, address: KeyAddress, services: KeyServices) -> str:
    """Returns the line of the file of signing keys for this key, after a trial signature. Raises UnavailableError: the
    service is away or refuses, or the key is of another type."""
    signing, public_key = await services.public_key(address)
    await KmsSigner(public_key, signing, services).sign(_TRIAL)
    return f"{PREFIX}{VerifierKey(log_name, public_key).text}+{signing}"


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


def parse_remote(line: str, services: KeyServices | None = None) -> tuple[str, RemoteSigner | KmsSigner]:
    """Parses ``SIGNER+name+id+material+https://:TOKEN@host/path``, or with the address of a key in a key management
    service in place of the URL. Returns the log's name and the signer. Raises ValidationError, which shows no part of
    the URL."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValidationError(
            "a signer is malformed: expected SIGNER+name+id+material+ and then https://:TOKEN@host/path or the address"
            f" of a key ({FORMS})"
        )
    key, parts = parse_verifier_key(match[1]), urlsplit(match[2])
    if key.kind is not KeyKind.ED25519:
        raise ValidationError("a signer needs the key of a log")
    if parts.scheme in (AWS, TRANSIT):
        return key.name, KmsSigner(key.public_key, parse_key_address(match[2]), services)
    if not parts.hostname:
        raise ValidationError("a signer needs an address")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    url = f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path or '/'}"
    token = Secret(unquote(parts.password)) if parts.password else None
    return key.name, RemoteSigner(key.public_key, url, token)
