"""A signing key in a key management service, which signs by that service's own interface (``headgate.kms``)."""

from msgspec import Struct

from headgate.evidence.verified_signature import verified
from headgate.kernel.errors import UnavailableError
from headgate.kms.key_address import KeyAddress
from headgate.kms.key_services import KeyServices


class KmsSigner(Struct, frozen=True):
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
