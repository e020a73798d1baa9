"""Files of trusted certificates: for clients of the gate, and for the gate as a client of the world."""

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import certifi
import structlog
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.utils import CryptographyDeprecationWarning

from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import ValidationError
from headgate.kernel.pem import certificates_in

_log = structlog.get_logger(__name__)

_OLDEST_JAVA_ENCRYPTION: Final = serialization.PrivateFormat.PKCS12.encryption_builder().kdf_rounds(10_000)


def write_client_bundle(path: Path, authority: Iterable[bytes]) -> None:
    """The public roots and the gate's: for clients whose variable replaces their own roots (SSL_CERT_FILE)."""
    replace_file(path, Path(certifi.where()).read_bytes() + b"\n" + b"".join(authority), mode=0o644)


def write_upstream_roots(path: Path, extra: Path | None) -> None:
    """The roots that upstream servers are verified against: the public ones and the operator's.

    Raises ValidationError where ``extra`` (HEADGATE_UPSTREAM_CA_FILE) holds no certificate.
    """
    roots = Path(certifi.where()).read_bytes()
    if extra is not None:
        roots += b"\n" + b"".join(_certificates(extra))
    replace_file(path, roots, mode=0o644)


def write_java_trust_store(path: Path, authority: Iterable[bytes], password: str) -> None:
    """A PKCS #12 trust store with the public roots and the gate's (-Djavax.net.ssl.trustStore).

    Each entry carries the attribute by which Java tells a trusted certificate from any other.
    """
    certificates = [*_public_roots()]
    certificates += [certificate for pem in authority for certificate in x509.load_pem_x509_certificates(pem)]
    entries = [
        pkcs12.PKCS12Certificate(certificate, f"headgate-{index}".encode())
        for index, certificate in enumerate(certificates)
    ]
    store = pkcs12.serialize_java_truststore(entries, _OLDEST_JAVA_ENCRYPTION.build(password.encode()))
    replace_file(path, store, mode=0o644)


def _public_roots() -> Iterator[x509.Certificate]:
    """Each root by itself: one whose encoding RFC 5280 no longer allows must not take the others with it."""
    for block in certificates_in(Path(certifi.where()).read_bytes()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            try:
                yield x509.load_pem_x509_certificate(block)
            except ValueError as error:
                _log.warning("root_left_out", error=str(error))


def _certificates(path: Path) -> list[bytes]:
    try:
        certificates = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ValidationError(f"{path} holds no certificates in PEM: {error}", details={"path": str(path)}) from error
    return [certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates]
