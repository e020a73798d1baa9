"""Secrets as they are used on a call, and how they are kept in the vault: one JSON text for each connection."""

from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, canonical_bytes, parse_strict
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import MASK, Secret

SECRET_LENGTH_MIN: Final = 8
"""Of what is looked for in answers: a shorter one would be found in every text."""


class ValueCredential(Struct, frozen=True):
    """Written to the connection's place, after its prefix. ``beside``: other texts that must not come back."""

    value: Secret
    beside: tuple[Secret, ...] = ()


class SigningCredential(Struct, frozen=True):
    """AWS Signature Version 4."""

    access_key_id: str
    secret_access_key: Secret
    session_token: Secret | None
    region: str
    service: str


class CertificateCredential(Struct, frozen=True):
    """Shown in the TLS handshake (RFC 8446, section 4.4.2); the call itself stays as it is. PEM."""

    certificate: str
    private_key: Secret


class ShownCertificate(Struct, frozen=True):
    """A certificate with whose calls show it: two that differ in anything never share a TLS connection."""

    org_id: str
    agent_id: str
    connection_id: str
    credential: CertificateCredential


type Credential = ValueCredential | SigningCredential | CertificateCredential


@dataclass(frozen=True, slots=True, repr=False)
class KeptSecrets:
    """What the vault keeps of one connection, by names of its kind's own (``access_token``, ``password`` …)."""

    values: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"KeptSecrets({', '.join(sorted(self.values))}: {MASK})"

    def get(self, name: str) -> Secret | None:
        value = self.values.get(name)
        return None if value is None else Secret(value)

    def need(self, name: str) -> Secret:
        """Raises UnavailableError."""
        found = self.get(name)
        if found is None:
            raise UnavailableError(f"the connection has no stored {name}. Connect it again")
        return found

    def text(self) -> Secret:
        document: JsonObject = dict(self.values)
        return Secret(canonical_bytes(document).decode())


def read_kept_secrets(text: Secret) -> KeptSecrets:
    document = parse_strict(text.reveal().encode())
    if not isinstance(document, dict):
        raise UnavailableError("the connection's secrets were stored by another version of Headgate")
    return KeptSecrets({name: value for name, value in document.items() if isinstance(value, str)})
