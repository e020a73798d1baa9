"""Sends a request to the key management service that a key's address names. Each adapter is loaded at its first use."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headgate.kms.access import KmsAccess
from headgate.kms.key_address import AwsKey, KeyAddress, TransitKey

if TYPE_CHECKING:
    from headgate.kms.aws_kms import AwsKms
    from headgate.kms.transit import Transit


class KeyServices:
    """One per process; threads may share it. Every method raises UnavailableError, which shows no secret."""

    def __init__(self, access: KmsAccess) -> None:
        self._access = access
        self._opened: AwsKms | None = None

    async def encrypt(self, key: KeyAddress, plain: bytes, context: Mapping[str, str]) -> str:
        """Returns the ciphertext as text. Only the same ``context`` decrypts it."""
        match key:
            case AwsKey():
                return await self._aws().encrypt(key, plain, context)
            case TransitKey():
                return await self._transit().encrypt(key, plain, context)

    async def decrypt(self, key: KeyAddress, ciphertext: str, context: Mapping[str, str]) -> bytes:
        """Returns the plaintext."""
        match key:
            case AwsKey():
                return await self._aws().decrypt(key, ciphertext, context)
            case TransitKey():
                return await self._transit().decrypt(key, ciphertext, context)

    async def sign(self, key: KeyAddress, message: bytes) -> bytes:
        """Returns what the service sends as an Ed25519 signature. The caller verifies it."""
        match key:
            case AwsKey():
                return await self._aws().sign(key, message)
            case TransitKey():
                return await self._transit().sign(key, message)

    async def public_key(self, key: KeyAddress) -> tuple[KeyAddress, bytes]:
        """Returns the 32 bytes of an Ed25519 key, and the address with which this key signs even after the service has
        rotated it."""
        match key:
            case AwsKey():
                return key, await self._aws().public_key(key)
            case TransitKey():
                return await self._transit().public_key(key)

    def _aws(self) -> "AwsKms":
        if self._opened is None:
            from headgate.kms.aws_kms import AwsKms  # noqa: PLC0415 - few processes use it

            self._opened = AwsKms(self._access)
        return self._opened

    def _transit(self) -> "Transit":
        from headgate.kms.transit import Transit  # noqa: PLC0415 - as above

        return Transit(self._access)
