"""The transit engine of HashiCorp Vault and OpenBao: encrypts, decrypts and signs with a key that never leaves it.

Vault's HTTP API, "Transit secrets engine": Encrypt Data, Decrypt Data, Sign Data, Read Key. A context binds a
ciphertext. It is sent as ``associated_data`` (authenticated encryption with associated data) and as ``context``, which
derived keys need and other keys ignore.
"""

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secret_file import require_secret
from headgate.kernel.secrets import Secret
from headgate.kernel.visible_text import visible
from headgate.kms.access import KmsAccess
from headgate.kms.answers import base64_of, bytes_of, text_of
from headgate.kms.exchange import Answer, exchange
from headgate.kms.key_address import TransitKey

_SERVICE: Final = "Vault"
_CIPHERTEXT: Final = "vault:v"
_SHOWN: Final = 200


class Transit:
    """The engine at one mount of one server."""

    def __init__(self, access: KmsAccess) -> None:
        self._access = access

    async def encrypt(self, key: TransitKey, plain: bytes, context: Mapping[str, str]) -> str:
        """Returns the ciphertext in Vault's form (``vault:v1:…``). Raises UnavailableError."""
        body = {"plaintext": base64_of(plain), **_bound(context)}
        if key.version is not None:
            body["key_version"] = key.version
        ciphertext = text_of(await self._post("encrypt", key, body), "ciphertext", _SERVICE)
        if not ciphertext.startswith(_CIPHERTEXT):
            raise UnavailableError(f"{_SERVICE} answered without a ciphertext ({_CIPHERTEXT}…)")
        return ciphertext

    async def decrypt(self, key: TransitKey, ciphertext: str, context: Mapping[str, str]) -> bytes:
        """Returns the plaintext. Raises UnavailableError."""
        data = await self._post("decrypt", key, {"ciphertext": ciphertext, **_bound(context)})
        return bytes_of(text_of(data, "plaintext", _SERVICE), "plaintext", _SERVICE)

    async def sign(self, key: TransitKey, message: bytes) -> bytes:
        """Returns an Ed25519 signature (RFC 8032, 64 bytes), which the caller verifies. Raises UnavailableError."""
        body: dict[str, object] = {"input": base64_of(message)}
        if key.version is not None:
            body["key_version"] = key.version
        signature = text_of(await self._post("sign", key, body), "signature", _SERVICE)
        return bytes_of(signature.rpartition(":")[2], "signature", _SERVICE)

    async def public_key(self, key: TransitKey) -> tuple[TransitKey, bytes]:
        """Returns the key with the version that signs, and the public key of that version (32 bytes). Raises
        UnavailableError."""
        data = await self._ask("GET", "keys", key, None)
        if data.get("type") != "ed25519":
            raise UnavailableError(
                f"the transit key {key.name} is of another type than ed25519: name a key of that type"
            )
        version, versions = key.version or data.get("latest_version"), data.get("keys")
        found = versions.get(str(version)) if isinstance(versions, dict) else None
        if not isinstance(version, int) or found is None:
            raise UnavailableError(f"the transit key {key.name} has no version {version}")
        material = text_of(found, "public_key", _SERVICE)
        return TransitKey(key.name, version), bytes_of(material, "public_key", _SERVICE)

    async def _post(self, operation: str, key: TransitKey, body: dict[str, object]) -> dict[str, object]:
        return await self._ask("POST", operation, key, body)

    async def _ask(
        self, method: str, operation: str, key: TransitKey, body: dict[str, object] | None
    ) -> dict[str, object]:
        if self._access.vault_address is None:
            raise UnavailableError("the address of Vault is not set: set VAULT_ADDR")
        engine = f"{self._access.vault_address.rstrip('/')}/v1/{quote(self._access.transit_mount)}"
        url = f"{engine}/{operation}/{quote(key.name)}"
        headers = {"x-vault-request": "true", "x-vault-token": _token(self._access).reveal()}
        if self._access.vault_namespace is not None:
            headers["x-vault-namespace"] = self._access.vault_namespace
        content = b""
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body).encode()
        answer = await exchange(self._access, method, url, headers, content, self._access.vault_ca_file)
        data = answer.document.get("data")
        if answer.status != 200 or not isinstance(data, dict):
            raise UnavailableError(
                f"{_SERVICE} answered {answer.status} to {operation} with {key.name}{_reason(answer)}"
            )
        return data


def _token(access: KmsAccess) -> Secret:
    """Reads the file each time: Vault Agent and the CSI driver replace it when the token changes."""
    file = access.vault_token_file
    if file is None:
        if access.vault_token is None:
            raise UnavailableError("no Vault token is set: set VAULT_TOKEN or HEADGATE_VAULT_TOKEN_FILE")
        return access.vault_token
    try:
        require_secret(file)
        token = file.read_text("utf-8").strip()
    except PermissionError as error:
        raise UnavailableError(f"the Vault token cannot be read: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UnavailableError(f"the Vault token cannot be read from {file}: {type(error).__name__}") from error
    if not (token.isascii() and token.isprintable() and token):
        raise UnavailableError(f"{file} holds no Vault token: write the token into it, as one line")
    return Secret(token)


def _bound(context: Mapping[str, str]) -> dict[str, object]:
    bound = base64_of(canonical_bytes(dict(context)))
    return {"associated_data": bound, "context": bound}


def _reason(answer: Answer) -> str:
    errors = answer.document.get("errors")
    said = " ".join(visible(one, "\n\t") for one in errors if isinstance(one, str)) if isinstance(errors, list) else ""
    return f": {' '.join(said.split())[:_SHOWN]}" if said.strip() else ""
