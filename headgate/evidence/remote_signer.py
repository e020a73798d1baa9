"""A signing key that never leaves its device, asked over HTTP: a KMS, an HSM, or a process on another machine.

The protocol is as small as ``Signer``: POST the message as it is (``application/octet-stream``), with the token as
``Authorization: Bearer`` where there is one; 200 and the 64 bytes of an Ed25519 signature (RFC 8032) are the answer.
The signature is verified with the public key before it is used, so a device that signs something else, or with another
key, makes no checkpoint. A key in AWS KMS, Vault or OpenBao signs by that service's own interface (``kms_signer``).
"""

from typing import Final

import httpx
from msgspec import Struct

from headgate.evidence.verified_signature import verified
from headgate.kernel.errors import UnavailableError
from headgate.kernel.public_roots import public_roots
from headgate.kernel.secrets import Secret
from headgate.outgoing.httpx_transport import open_operator_client

SIGNATURE_SECONDS: Final = 5.0


class RemoteSigner(Struct, frozen=True):
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
