"""A certificate authority for the certificates of clients."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from headgate.kernel.secrets import Secret

_NO_ENCRYPTION = serialization.NoEncryption()


class Issuer:
    """Signs leaves through an intermediate."""

    def __init__(self) -> None:
        self.root_key, self.middle_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.root = self._sign("clients", self.root_key.public_key(), None, self.root_key, is_authority=True)
        self.middle = self._sign("middle", self.middle_key.public_key(), self.root, self.root_key, is_authority=True)

    def pair(self, name: str, *, days: float = 1) -> dict[str, Secret]:
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = self._sign(name, key.public_key(), self.middle, self.middle_key, is_authority=False, days=days)
        chain = b"".join(one.public_bytes(serialization.Encoding.PEM) for one in (leaf, self.middle))
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, _NO_ENCRYPTION)
        return {"certificate": Secret(chain.decode()), "private_key": Secret(private.decode())}

    def _sign(self, name, public_key, issuer, key, *, is_authority: bool, days: float = 1) -> x509.Certificate:
        now = datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if issuer is None else issuer.subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
