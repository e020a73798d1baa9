"""An authority that several machines share: what the file may hold, and how it takes the place of another one."""

import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from headgate.kernel.errors import ConflictError, UnavailableError
from proxy.authority import LIFETIME, Authority, make_certificate
from tests.unit.proxy.conftest import NOW

_PLAIN = NoEncryption()


def key_pem(key: CertificateIssuerPrivateKeyTypes, protection=_PLAIN) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection)


def authority_pem(key: ec.EllipticCurvePrivateKey, now: datetime = NOW) -> bytes:
    return make_certificate(key, now).public_bytes(Encoding.PEM)


def leaf_pem(key: CertificateIssuerPrivateKeyTypes, *, ca: bool | None) -> bytes:
    name = x509.Name([])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW + LIFETIME)
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, algorithm).public_bytes(Encoding.PEM)


KEY, OTHER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
EDWARDS, LARGE = ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shared.pem"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "0 private keys"),
        (authority_pem(KEY), "0 private keys"),
        (key_pem(KEY) + key_pem(OTHER) + authority_pem(KEY), "2 private keys"),
        (key_pem(KEY, BestAvailableEncryption(b"word")) + authority_pem(KEY), "has a passphrase"),
        (key_pem(KEY) + authority_pem(OTHER), "0 of its certificates belong"),
        (key_pem(KEY) + authority_pem(KEY) + authority_pem(KEY), "2 of its certificates belong"),
        (key_pem(KEY) + leaf_pem(KEY, ca=False), "may not sign others"),
        (key_pem(KEY) + leaf_pem(KEY, ca=None), "may not sign others"),
        (key_pem(EDWARDS) + leaf_pem(EDWARDS, ca=True), "neither RSA nor on an elliptic curve"),
        (key_pem(KEY) + authority_pem(KEY, NOW - LIFETIME - timedelta(days=1)), "valid from .* not now"),
        (key_pem(KEY) + authority_pem(KEY, NOW + timedelta(days=9)), "valid from .* not now"),
        (key_pem(KEY)[:-60] + authority_pem(KEY), "0 private keys"),
        (key_pem(KEY) + authority_pem(KEY).replace(b"M", b"?"), "HEADGATE_CA_FILE"),
    ],
)
def test_a_file_that_is_no_authority_is_refused_and_changes_nothing(authority, file, content, problem) -> None:
    before = authority.certificate_file.read_bytes()
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(UnavailableError, match=problem):
        Authority(authority.private_dir, authority.certificate_file.parent, file).open(NOW)
    assert authority.certificate_file.read_bytes() == before


@pytest.mark.parametrize("content", [key_pem(KEY) + authority_pem(KEY), leaf_pem(LARGE, ca=True) + key_pem(LARGE)])
def test_machines_with_one_file_have_one_authority(tmp_path, file, content) -> None:
    file.write_bytes(content)
    file.chmod(0o600)
    first, second = [Authority(tmp_path / name / "ca", tmp_path / name / "public", file) for name in ("one", "two")]
    assert first.open(NOW) == second.open(NOW) == first.open(NOW)
    assert first.certificate_file.read_bytes() == second.certificate_file.read_bytes()
    assert b"PRIVATE" not in first.certificate_file.read_bytes()
    assert first.trusted() == (first.current().pem,)


def test_it_takes_the_place_of_the_machines_own_which_stays_trusted(authority, file) -> None:
    own = authority.current()
    file.write_bytes(key_pem(KEY) + authority_pem(OTHER) + authority_pem(KEY))
    file.chmod(0o600)
    shared = Authority(authority.private_dir, authority.certificate_file.parent, file)
    now_current = shared.open(NOW)
    assert x509.load_pem_x509_certificate(now_current.pem).public_key() == KEY.public_key()
    trusted = x509.load_pem_x509_certificates(authority.certificate_file.read_bytes())
    assert [one.public_key() for one in trusted[:2]] == [KEY.public_key(), OTHER.public_key()]
    assert authority.certificate_file.read_bytes().endswith(own.pem)
    with pytest.raises(ConflictError, match="on every machine"):
        shared.rotate(NOW)


def test_one_that_is_removed_from_the_file_is_no_longer_trusted(authority, file) -> None:
    own = authority.current()
    old, new = authority_pem(KEY), authority_pem(OTHER)
    shared = Authority(authority.private_dir, authority.certificate_file.parent, file)
    steps = [(KEY, [old]), (KEY, [old, new]), (OTHER, [new, old]), (OTHER, [new])]
    for key, certificates in steps:
        file.write_bytes(key_pem(key) + b"".join(certificates))
        file.chmod(0o600)
        shared.open(NOW)
        assert authority.certificate_file.read_bytes() == b"".join([*certificates, own.pem])


@pytest.mark.parametrize("rights", [0o644, 0o640])
def test_a_file_that_others_can_read_is_not_used(tmp_path, file, rights) -> None:
    file.write_bytes(key_pem(KEY) + authority_pem(KEY))
    file.chmod(rights)
    with pytest.raises(UnavailableError, match="0600"):
        Authority(tmp_path / "ca", tmp_path / "public", file).open(NOW)


def test_what_openssl_makes_is_taken(tmp_path, file) -> None:
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
        "-subj", "/CN=Company gate", "-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem"),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    file.write_bytes((tmp_path / "key.pem").read_bytes() + (tmp_path / "cert.pem").read_bytes())
    file.chmod(0o600)
    made = x509.load_pem_x509_certificate((tmp_path / "cert.pem").read_bytes())
    opened = Authority(tmp_path / "ca", tmp_path / "public", file).open(made.not_valid_before_utc)
    assert opened.subject == "CN=Company gate"
