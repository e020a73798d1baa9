"""The authority is private, strict clients accept it, and its rotation strands nobody."""

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from headgate.kernel.errors import UnavailableError
from proxy.authority import LIFETIME, Authority, AuthorityCertificate


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_key_and_directory_are_private(authority) -> None:
    assert mode(authority.private_dir) == 0o700
    assert mode(authority.private_dir / "mitmproxy-ca.pem") == 0o600
    assert mode(authority.certificate_file) == 0o644
    assert b"PRIVATE KEY" not in authority.certificate_file.read_bytes()


def test_private_whatever_the_umask(tmp_path, now) -> None:
    old = os.umask(0)
    try:
        made = Authority(tmp_path / "private", tmp_path / "public")
        made.open(now)
    finally:
        os.umask(old)
    assert mode(made.private_dir) == 0o700
    assert mode(made.private_dir / "mitmproxy-ca.pem") == 0o600


def test_it_is_made_once(authority, now) -> None:
    assert authority.open(now) == authority.open(now + timedelta(days=1))


def test_of_many_that_start_at_once_all_use_one(tmp_path, now) -> None:
    ready = threading.Barrier(8)

    def begin(_: int) -> AuthorityCertificate:
        made = Authority(tmp_path / "private", tmp_path / "public")
        ready.wait()
        return made.open(now)

    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(begin, range(8)))
    assert len({one.fingerprint for one in opened}) == 1
    assert [path.name for path in (tmp_path / "private").iterdir()] == ["mitmproxy-ca.pem"]
    assert (tmp_path / "public" / "ca.pem").read_bytes() == opened[0].pem


def test_extensions(authority, now) -> None:
    certificate = x509.load_pem_x509_certificate(authority.certificate_file.read_bytes())
    extensions = certificate.extensions
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical and constraints.value.ca and constraints.value.path_length == 0
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical and usage.value.key_cert_sign and usage.value.crl_sign
    subject_key = extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    assert extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier == subject_key.digest
    assert isinstance(certificate.public_key(), ec.EllipticCurvePublicKey)
    assert certificate.not_valid_before_utc < now
    assert certificate.not_valid_after_utc == now + LIFETIME
    certificate.verify_directly_issued_by(certificate)


@pytest.mark.parametrize("rights", [0o644, 0o640, 0o604])
def test_a_key_that_others_can_read_is_not_used(authority, now, rights) -> None:
    (authority.private_dir / "mitmproxy-ca.pem").chmod(rights)
    with pytest.raises(UnavailableError, match="0600"):
        authority.open(now)


def test_an_expired_one_is_told_and_can_be_rotated(authority, now) -> None:
    later = now + LIFETIME + timedelta(days=1)
    with pytest.raises(UnavailableError, match=r"expired on .*: run headgate ca rotate"):
        authority.open(later)
    authority.rotate(later)
    assert authority.open(later).not_after == later + LIFETIME


def test_a_damaged_file_is_not_replaced(authority, now) -> None:
    key_file = authority.private_dir / "mitmproxy-ca.pem"
    key_file.write_text("damaged")
    with pytest.raises(UnavailableError):
        authority.open(now)
    assert key_file.read_text() == "damaged"


def test_rotation_keeps_the_old_certificate_trusted(authority, now) -> None:
    old = authority.open(now)
    new = authority.rotate(now + timedelta(days=1))
    assert new.fingerprint != old.fingerprint
    assert new.subject != old.subject
    assert authority.trusted() == (new.pem, old.pem)
    assert authority.certificate_file.read_bytes() == new.pem + old.pem
    [retired] = (authority.private_dir / "retired").iterdir()
    assert mode(retired) == 0o600
    assert authority.open(now) == new
    third = authority.rotate(now + timedelta(days=2))
    assert authority.trusted()[0] == third.pem
    assert len(authority.trusted()) == 3
