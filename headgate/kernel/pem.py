"""Certificates in a PEM file (RFC 7468), whatever else stands beside them: text, or a private key."""

import re
from typing import Final

_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----")


def certificates_in(pem: bytes) -> list[bytes]:
    """Each certificate, as it is written, without the line's end."""
    return _CERTIFICATE.findall(pem)


def without_certificates(pem: bytes) -> bytes:
    """What stands beside them."""
    return _CERTIFICATE.sub(b"", pem)
