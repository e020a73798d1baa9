"""A certificate authority for the demonstration's own service: made anew each time, trusted by nobody else."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALID = timedelta(days=1)


def write_service_certificate(folder: Path, address: str) -> tuple[Path, Path]:
    """A self-made root with one certificate for ``address``; returns (root, certificate with its key), as PEM."""
    root_key, service_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Headgate demonstration root")])
    root = _sign(root_name, root_name, root_key, root_key, x509.BasicConstraints(ca=True, path_length=0), None)
    service_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
    service = _sign(
        service_name,
        root_name,
        service_key,
        root_key,
        x509.BasicConstraints(ca=False, path_length=None),
        x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]),
    )
    root_path, service_path = folder / "demo-root.pem", folder / "demo-service.pem"
    root_path.write_bytes(root.public_bytes(serialization.Encoding.PEM))
    service_path.touch(mode=0o600)
    service_path.write_bytes(
        service_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + service.public_bytes(serialization.Encoding.PEM)
    )
    return root_path, service_path


def _sign(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    constraints: x509.BasicConstraints,
    names: x509.SubjectAlternativeName | None,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + _VALID)
        .add_extension(constraints, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())
