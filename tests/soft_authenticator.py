"""An authenticator in Python: makes keys and signs (WebAuthn Level 3, 6.1 and 6.5), each part as a test wants it."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

_FLAG = AuthenticatorData.FLAG


@dataclass
class SoftAuthenticator:
    """One passkey of one person. ``count``: 0 as synced passkeys have it."""

    origin: str
    rp_id: str
    count: int = 0
    verifies: bool = True
    cross_origin: bool = False
    user_handle: bytes = b""
    credential_id: bytes = field(default_factory=lambda: os.urandom(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: dict[str, Any]) -> str:
        """``RegistrationResponseJSON``."""
        self.user_handle = websafe_decode(options["user"]["id"])
        made = AttestedCredentialData.create(
            bytes(16), self.credential_id, ES256.from_cryptography_key(self.key.public_key())
        )
        flags = self._flags | _FLAG.AT
        data = AuthenticatorData.create(self._rp_hash, flags, self.count, bytes(made))
        attested = AttestationObject.create("none", data, {})
        client_data = self._client_data("webauthn.create", options["challenge"])
        return self._answer({"clientDataJSON": client_data, "attestationObject": bytes(attested)})

    def get(self, options: dict[str, Any]) -> str:
        """``AuthenticationResponseJSON``."""
        client_data = self._client_data("webauthn.get", options["challenge"])
        data = bytes(AuthenticatorData.create(self._rp_hash, self._flags, self.count))
        signed = self.key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            {
                "clientDataJSON": client_data,
                "authenticatorData": data,
                "signature": signed,
                "userHandle": self.user_handle,
            }
        )

    @property
    def _rp_hash(self) -> bytes:
        return hashlib.sha256(self.rp_id.encode()).digest()

    @property
    def _flags(self) -> AuthenticatorData.FLAG:
        return _FLAG.UP | _FLAG.UV if self.verifies else _FLAG.UP

    def _client_data(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": self.cross_origin}
        return json.dumps(said).encode()

    def _answer(self, response: dict[str, bytes]) -> str:
        name = websafe_encode(self.credential_id)
        texts = {key: websafe_encode(value) for key, value in response.items()}
        return json.dumps(
            {"id": name, "rawId": name, "type": "public-key", "response": texts, "clientExtensionResults": {}}
        )
