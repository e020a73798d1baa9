"""An authority from a file (``HEADGATE_CA_FILE``): what several machines share, so that agents trust them all by one.

The file holds one private key and certificates, PEM, in any order. The certificate of this key signs; agents trust all
of them. So an authority is replaced without a moment at which somebody trusts the wrong one: add the new certificate,
wait until every agent has it, change the key, and remove the old certificate when its leaves have ended.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from msgspec import Struct

_KEY: Final = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL)


class GivenAuthority(Struct, frozen=True):
    """``key``: PKCS #8, PEM. ``certificates``: PEM, that of the key first."""

    key: bytes
    certificates: tuple[bytes, ...]

    @property
    def pem(self) -> bytes:
        """Key and certificate, as mitmproxy reads them."""
        return self.key + self.certificates[0]


def read_given_authority(path: Path, now: datetime) -> GivenAuthority:
    """Raises OSError, and ValueError where the file cannot be the authority of a proxy; it says what to do."""
    content = path.read_bytes()
    keys = _KEY.findall(content)
    if len(keys) != 1:
        raise ValueError(f"{len(keys)} private keys. The file needs the authority's key and its certificate (PEM)")
    try:
        key = load_pem_private_key(keys[0], None)
    except TypeError as error:
        raise ValueError("its private key has a passphrase. Write it without: openssl pkey -in FILE") from error
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise ValueError("its key is neither RSA nor on an elliptic curve. Many clients accept no other")
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    public = key.public_key().public_bytes(*form)
    certificates = x509.load_pem_x509_certificates(_KEY.sub(b"", content))
    own = [one for one in certificates if one.public_key().public_bytes(*form) == public]
    if len(own) != 1:
        raise ValueError(f"{len(own)} of its certificates belong to its private key; one must")
    _require_signer(own[0], now)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    ordered = own + [one for one in certificates if one is not own[0]]
    return GivenAuthority(private, tuple(one.public_bytes(Encoding.PEM) for one in ordered))


def _require_signer(certificate: x509.Certificate, now: datetime) -> None:
    """RFC 5280, 4.2.1.3 and 4.2.1.9. Raises ValueError."""
    constraints = _extension(certificate, x509.BasicConstraints)
    usage = _extension(certificate, x509.KeyUsage)
    can_sign = constraints is not None and constraints.ca and (usage is None or usage.key_cert_sign)
    if not can_sign:
        raise ValueError("its certificate may not sign others (CA:TRUE, keyCertSign)")
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        since, until = certificate.not_valid_before_utc.date(), certificate.not_valid_after_utc.date()
        raise ValueError(f"its certificate is valid from {since} to {until}, not now")


def _extension[Extension: x509.ExtensionType](certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
