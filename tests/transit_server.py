"""The transit engine of Vault as its HTTP API is documented, for keys of the types aes256-gcm96 and ed25519.

"Transit secrets engine (API)": Read Key, Encrypt Data, Decrypt Data, Sign Data; "HTTP API": X-Vault-Token,
X-Vault-Namespace, and errors as ``{"errors": […]}``.
"""

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.http_server import body_of, handling_server, send

TOKEN = "hvs.secret-token-of-the-tests"


class _RefusedError(Exception):
    def __init__(self, status: int, *errors: str) -> None:
        super().__init__(status)
        self.status, self.errors = status, errors


class TransitServer:
    """``keys``: by name, a list of versions. ``token`` and ``namespace``: those that it accepts."""

    def __init__(self) -> None:
        self.keys: dict[str, list[bytes | Ed25519PrivateKey]] = {"master": [os.urandom(32)], "other": [os.urandom(32)]}
        self.keys["signer"] = [Ed25519PrivateKey.generate()]
        self.token = TOKEN
        self.namespace: str | None = None
        self.url = ""

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        status, document = 200, dict[str, object]()
        try:
            document = {"request_id": "r", "lease_id": "", "data": self._answer(request), "warnings": None}
        except _RefusedError as error:
            status, document = error.status, {"errors": list(error.errors)}
        send(request, status, "application/json", json.dumps(document).encode())

    def _answer(self, request: BaseHTTPRequestHandler) -> dict[str, object]:
        body, headers = body_of(request), request.headers
        if headers["x-vault-token"] != self.token or headers["x-vault-namespace"] != self.namespace:
            raise _RefusedError(403, "1 error occurred:\n\t* permission denied\n\n")
        match request.command, request.path.split("/")[1:]:
            case "GET", ["v1", "transit", "keys", name]:
                return self._read(name)
            case "POST", ["v1", "transit", ("encrypt" | "decrypt" | "sign") as operation, name]:
                asked = json.loads(body)
                return {"encrypt": self._encrypt, "decrypt": self._decrypt, "sign": self._sign}[operation](name, asked)
        raise _RefusedError(404)

    def _versions(self, name: str) -> list[bytes | Ed25519PrivateKey]:
        if name not in self.keys:
            raise _RefusedError(400, "encryption key not found")
        return self.keys[name]

    def _read(self, name: str) -> dict[str, object]:
        if name not in self.keys:
            raise _RefusedError(404)
        versions = self.keys[name]
        if isinstance(versions[-1], bytes):
            return {"type": "aes256-gcm96", "latest_version": len(versions), "keys": {"1": 1442851412}}
        keys = {
            str(number): {"name": "ed25519", "public_key": _base64(one.public_key().public_bytes_raw())}
            for number, one in enumerate(versions, 1)
            if not isinstance(one, bytes)
        }
        return {"type": "ed25519", "latest_version": len(versions), "keys": keys}

    def _encrypt(self, name: str, asked: dict[str, str]) -> dict[str, object]:
        versions, nonce = self._versions(name), os.urandom(12)
        key = versions[-1]
        assert isinstance(key, bytes)
        sealed = AESGCM(key).encrypt(nonce, base64.b64decode(asked["plaintext"]), _associated(asked))
        return {"ciphertext": f"vault:v{len(versions)}:{_base64(nonce + sealed)}", "key_version": len(versions)}

    def _decrypt(self, name: str, asked: dict[str, str]) -> dict[str, object]:
        versions = self._versions(name)
        prefix, version, text = asked["ciphertext"].split(":")
        if prefix != "vault":
            raise _RefusedError(400, "invalid ciphertext: no prefix")
        key, sealed = versions[int(version[1:]) - 1], base64.b64decode(text)
        assert isinstance(key, bytes)
        try:
            plain = AESGCM(key).decrypt(sealed[:12], sealed[12:], _associated(asked))
        except InvalidTag:
            raise _RefusedError(400, "cipher: message authentication failed") from None
        return {"plaintext": _base64(plain)}

    def _sign(self, name: str, asked: dict[str, object]) -> dict[str, object]:
        versions = self._versions(name)
        version = asked.get("key_version") or len(versions)
        assert isinstance(version, int) and isinstance(asked["input"], str)
        key = versions[version - 1]
        if isinstance(key, bytes):
            raise _RefusedError(400, "key type aes256-gcm96 does not support signing")
        signature = _base64(key.sign(base64.b64decode(asked["input"])))
        return {"signature": f"vault:v{version}:{signature}", "key_version": version}


def _associated(asked: dict[str, str]) -> bytes:
    return base64.b64decode(asked.get("associated_data", ""))


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@contextmanager
def transit_server(certificate: Path | None = None) -> Iterator[TransitServer]:
    """``certificate``, with its key in PEM: over TLS."""
    transit = TransitServer()
    with handling_server(transit.handle, certificate=certificate) as transit.url:
        yield transit
