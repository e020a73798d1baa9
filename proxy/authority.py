"""The gate's own certificate authority: made at the first start, kept where only the gate can read it.

One ECDSA P-256 key signs the leaf certificates that mitmproxy makes for each host, and is the leaves' key too
(mitmproxy's design); every client that speaks TLS 1.2 knows the curve, and a handshake costs a twentieth of
what RSA-2048 costs. Extensions follow RFC 5280, 4.2, as strict verifiers want them (OpenSSL's
``X509_V_FLAG_X509_STRICT``, Go, Java).

``private_dir`` (0700) holds key and certificate under the name that mitmproxy looks for; ``public_dir`` holds
what clients need. Where several machines share an authority, its file is given (``proxy.given_authority``) and takes
the place of the one made here.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from headgate.kernel.atomic_file import create_file, replace_file
from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.kernel.secret_file import require_secret
from proxy.given_authority import read_given_authority

LIFETIME: Final = timedelta(days=5 * 365)
_BACKDATED: Final = timedelta(days=3)  # clients with slow clocks; more than mitmproxy's leaves, which are two days
_KEY_FILE: Final = "mitmproxy-ca.pem"  # the name is mitmproxy's
_RETIRED: Final = "retired"
_GIVEN: Final = "given"
"""An empty file: the authority was not made here."""
_PUBLIC_FILE: Final = "ca.pem"


class AuthorityCertificate(Struct, frozen=True):
    """What may be shown. ``pem`` is the certificate alone; ``fingerprint`` its SHA-256, colon-separated."""

    pem: bytes
    fingerprint: str
    subject: str
    not_after: datetime


class Authority:
    """The authority in ``private_dir``; ``certificate_file`` is what clients trust. ``given``: HEADGATE_CA_FILE."""

    def __init__(self, private_dir: Path, public_dir: Path, given: Path | None = None) -> None:
        self.private_dir = private_dir
        self.certificate_file = public_dir / _PUBLIC_FILE
        self._given = given

    def open(self, now: datetime) -> AuthorityCertificate:
        """The current certificate; the authority is made if there is none and none is given.

        Raises UnavailableError where the directory or the given file cannot be used, or is open to others, or where the
        certificate has expired: agents would refuse each call with an error of TLS that names no cause.
        """
        certificate = self._open(now)
        if certificate.not_after < now:
            raise UnavailableError(
                f"the certificate authority in {self.private_dir} expired on {certificate.not_after.date()}, and agents"
                " trust nothing that it signs: run headgate ca rotate, and give the new certificate to the agents"
            )
        return certificate

    def _open(self, now: datetime) -> AuthorityCertificate:
        also: tuple[bytes, ...] = ()
        if self._given is not None:
            also = self._take(self._given, now)
        try:
            _private_directory(self.private_dir)
            key_file = self.private_dir / _KEY_FILE
            if not key_file.exists():
                # Of two processes that start at the same moment one makes it; both use that one.
                create_file(key_file, new_authority(now), mode=0o600)
            require_secret(key_file)
            self._publish(also)
            return _describe(self._load())
        except (OSError, ValueError) as error:
            raise UnavailableError(f"the certificate authority in {self.private_dir}: {error}") from error

    def _take(self, file: Path, now: datetime) -> tuple[bytes, ...]:
        """Makes the given authority the current one and returns the other certificates of its file."""
        try:
            require_secret(file)
            given = read_given_authority(file, now)
            _private_directory(self.private_dir)
            key_file = self.private_dir / _KEY_FILE
            is_given = self.private_dir / _GIVEN
            if not key_file.exists() or key_file.read_bytes() != given.pem:
                # Of a given one the file says whether it is still trusted.
                if key_file.exists() and not is_given.exists():
                    self._retire()
                replace_file(key_file, given.pem, mode=0o600)
            is_given.touch(mode=0o600)
        except OSError as error:
            raise UnavailableError(f"HEADGATE_CA_FILE: {error}") from error
        except ValueError as error:
            raise UnavailableError(f"HEADGATE_CA_FILE: {file}: {error}") from error
        return given.certificates[1:]

    def current(self) -> AuthorityCertificate:
        """Raises UnavailableError."""
        try:
            return _describe(self._load())
        except (OSError, ValueError) as error:
            raise UnavailableError(f"the certificate authority in {self.private_dir}: {error}") from error

    def rotate(self, now: datetime) -> AuthorityCertificate:
        """A new authority; the old one is kept under ``retired/`` and its certificate stays in what clients trust.

        Running proxies keep signing with the old one until they are restarted. Raises ConflictError for a given one.
        """
        if self._given is not None:
            raise ConflictError(
                f"the authority is {self._given} (HEADGATE_CA_FILE): add the new certificate to this file on every"
                " machine, then change its key (docs/guides/several-machines.md)"
            )
        self._open(now)
        try:
            self._retire()
            # Replaced, never missing: whoever starts meanwhile would make one of his own.
            replace_file(self.private_dir / _KEY_FILE, new_authority(now), mode=0o600)
            (self.private_dir / _GIVEN).unlink(missing_ok=True)
            self._publish()
            return _describe(self._load())
        except (OSError, ValueError) as error:
            raise UnavailableError(f"the certificate authority in {self.private_dir}: {error}") from error

    def trusted(self) -> tuple[bytes, ...]:
        """PEM certificates that clients should trust: the current one first, then those it replaced."""
        retired = sorted(
            (self.private_dir / _RETIRED).glob("*.pem"), key=lambda path: path.stat().st_mtime, reverse=True
        )
        files = [self.private_dir / _KEY_FILE, *retired]
        return tuple(_pem(x509.load_pem_x509_certificate(path.read_bytes())) for path in files)

    def _retire(self) -> None:
        """Keeps the current authority, whose certificate agents go on trusting. Raises OSError, ValueError."""
        retired = self.private_dir / _RETIRED
        _private_directory(retired)
        name = _describe(self._load()).fingerprint.replace(":", "").lower()[:32]
        create_file(retired / f"{name}.pem", (self.private_dir / _KEY_FILE).read_bytes(), mode=0o600)

    def _load(self) -> x509.Certificate:
        return x509.load_pem_x509_certificate((self.private_dir / _KEY_FILE).read_bytes())

    def _publish(self, also: tuple[bytes, ...] = ()) -> None:
        self.certificate_file.parent.mkdir(parents=True, exist_ok=True)
        current, *retired = self.trusted()
        trusted = dict.fromkeys((current, *also, *retired))
        replace_file(self.certificate_file, b"".join(trusted), mode=0o644)


def new_authority(now: datetime) -> bytes:
    """A new key and its certificate, as mitmproxy reads them (PEM)."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + _pem(make_certificate(key, now))


def make_certificate(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    """A self-signed authority for ``key``, valid from shortly before ``now`` for LIFETIME."""
    serial = x509.random_serial_number()
    # Part of the serial number in the name: two authorities of the same name confuse chain building.
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, f"Headgate CA {serial & 0xFFFFFFFF:08x}"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Headgate"),
        ]
    )
    public_key = key.public_key()
    usage = x509.KeyUsage(
        digital_signature=True,  # the leaves share the key
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public_key)
        .serial_number(serial)
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public_key), critical=False)
        .sign(key, hashes.SHA256())
    )


def _private_directory(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid != os.geteuid():
        raise ValueError(f"{path} belongs to another user")
    path.chmod(0o700)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _describe(certificate: x509.Certificate) -> AuthorityCertificate:
    return AuthorityCertificate(
        pem=_pem(certificate),
        fingerprint=certificate.fingerprint(hashes.SHA256()).hex(":").upper(),
        subject=certificate.subject.rfc4514_string(),
        not_after=certificate.not_valid_after_utc,
    )
