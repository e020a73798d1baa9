"""The files that clients are pointed to."""

import os
import ssl
from datetime import UTC, datetime
from pathlib import Path

import certifi
import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from headgate.cli.trust_files import make_trust_files
from headgate.kernel.errors import UnavailableError
from proxy.authority import Authority


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    authority = Authority(tmp_path / "ca", tmp_path / "public")
    authority.open(datetime.now(UTC))
    return authority.certificate_file


def test_the_bundle_holds_the_public_roots_and_ours(certificate: Path) -> None:
    files = make_trust_files(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(files.bundle)
    public = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    public.load_verify_locations(certifi.where())
    assert len(context.get_ca_certs()) == len(public.get_ca_certs()) + 1


# One of the public roots has a serial number of zero; the parser says that it will refuse it one day.
@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_java_finds_ours_in_its_store(certificate: Path) -> None:
    files = make_trust_files(certificate)
    store = pkcs12.load_pkcs12(files.java_store.read_bytes(), files.java_store_password.encode())
    names = [one.certificate.subject.rfc4514_string() for one in store.additional_certs]
    assert any("Headgate CA" in name for name in names)


def test_they_are_made_again_only_when_the_certificate_is_newer(certificate: Path) -> None:
    first = make_trust_files(certificate).bundle.stat().st_mtime_ns
    assert make_trust_files(certificate).bundle.stat().st_mtime_ns == first
    later = first + 10**9
    os.utime(certificate, ns=(later, later))
    made_again = make_trust_files(certificate).bundle.stat()
    assert made_again.st_mtime_ns != first


def test_a_missing_certificate_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot be written beside"):
        make_trust_files(tmp_path / "ca.pem")
