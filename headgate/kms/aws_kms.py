"""AWS KMS: encrypts, decrypts and signs with a key that never leaves it.

AWS KMS API Reference: Encrypt, Decrypt, Sign, GetPublicKey, over AWS JSON 1.1. The encryption context binds a
ciphertext. AWS records it in CloudTrail, and key policies can require it (``kms:EncryptionContext:…``).
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key

from headgate.kernel.errors import UnavailableError
from headgate.kernel.extras import MissingExtraError
from headgate.kms.access import KmsAccess
from headgate.kms.answers import base64_of, bytes_of, text_of
from headgate.kms.aws_signature import AwsSigner
from headgate.kms.exchange import exchange
from headgate.kms.key_address import AwsKey

_SERVICE: Final = "AWS KMS"
_CREDENTIALS_SECONDS: Final = 10.0
_SIGNING: Final = "ED25519_SHA_512"
"""Pure Ed25519 (RFC 8032) with ``MessageType`` RAW; the digest is that of the algorithm itself."""


class AwsKms:
    """One per process: it keeps the credentials. Threads may share it."""

    def __init__(self, access: KmsAccess) -> None:
        self._access = access
        self._signer = AwsSigner()

    async def encrypt(self, key: AwsKey, plain: bytes, context: Mapping[str, str]) -> str:
        """Returns the ciphertext in base64. Raises UnavailableError."""
        body = {"KeyId": key.key_id, "Plaintext": base64_of(plain), "EncryptionContext": dict(context)}
        ciphertext = text_of(await self._ask("Encrypt", key, body), "CiphertextBlob", _SERVICE)
        bytes_of(ciphertext, "CiphertextBlob", _SERVICE)
        return ciphertext

    async def decrypt(self, key: AwsKey, ciphertext: str, context: Mapping[str, str]) -> bytes:
        """Returns the plaintext. Raises UnavailableError, also if another key than ``key`` made the ciphertext."""
        body = {"KeyId": key.key_id, "CiphertextBlob": ciphertext, "EncryptionContext": dict(context)}
        answer = await self._ask("Decrypt", key, body)
        return bytes_of(text_of(answer, "Plaintext", _SERVICE), "Plaintext", _SERVICE)

    async def sign(self, key: AwsKey, message: bytes) -> bytes:
        """Returns an Ed25519 signature (RFC 8032, 64 bytes), which the caller verifies. Raises UnavailableError."""
        body = {
            "KeyId": key.key_id,
            "Message": base64_of(message),
            "MessageType": "RAW",
            "SigningAlgorithm": _SIGNING,
        }
        return bytes_of(text_of(await self._ask("Sign", key, body), "Signature", _SERVICE), "Signature", _SERVICE)

    async def public_key(self, key: AwsKey) -> bytes:
        """Returns the 32 bytes of an Ed25519 key. Raises UnavailableError, also if the key is of another type."""
        answer = await self._ask("GetPublicKey", key, {"KeyId": key.key_id})
        encoded = bytes_of(text_of(answer, "PublicKey", _SERVICE), "PublicKey", _SERVICE)
        try:
            found = load_der_public_key(encoded)
        except (ValueError, UnsupportedAlgorithm):
            found = None
        if not isinstance(found, Ed25519PublicKey):
            raise UnavailableError(f"{key} is of another type than ECC_NIST_EDWARDS25519: name a key of that type")
        return found.public_bytes_raw()

    async def _ask(self, operation: str, key: AwsKey, body: Mapping[str, object]) -> dict[str, object]:
        content = json.dumps(body).encode()
        headers = {"content-type": "application/x-amz-json-1.1", "x-amz-target": f"TrentService.{operation}"}
        try:
            async with asyncio.timeout(_CREDENTIALS_SECONDS):
                url, signed = await asyncio.to_thread(self._signed, key, headers, content)
        except TimeoutError as error:
            raise UnavailableError(
                f"no AWS credentials within {_CREDENTIALS_SECONDS:g} s: check where this process gets them, for example"
                " the instance's metadata service"
            ) from error
        except MissingExtraError as error:
            raise UnavailableError(error.message) from error
        answer = await exchange(self._access, "POST", url, signed, content, self._access.aws_ca_file)
        if answer.status != 200:
            self._signer.forget()
            kind = answer.document.get("__type")
            reason = f": {kind.rpartition('#')[2][:100]}" if isinstance(kind, str) else ""
            raise UnavailableError(f"{_SERVICE} answered {answer.status} to {operation} with {key}{reason}")
        return answer.document

    def _signed(self, key: AwsKey, headers: Mapping[str, str], content: bytes) -> tuple[str, dict[str, str]]:
        region = key.region or self._access.region or self._signer.region()
        if region is None:
            raise UnavailableError(
                f"the AWS region of {key} is not known: use its ARN, add ?region=REGION, or set AWS_REGION"
            )
        url = (self._access.aws_endpoint or _endpoint(region)).rstrip("/") + "/"
        return url, self._signer.signed(url, region, headers, content)


def _endpoint(region: str) -> str:
    """Of the partitions aws and aws-cn (AWS General Reference, "AWS KMS endpoints"). AWS_ENDPOINT_URL_KMS names any
    other, such as that for FIPS."""
    return f"https://kms.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")
