"""Certificates and what stands beside them."""

from datetime import UTC, datetime
from pathlib import Path

import certifi
from cryptography import x509

from headgate.kernel.pem import certificates_in, without_certificates
from proxy.authority import new_authority


def test_a_private_key_stays_behind() -> None:
    pem = new_authority(datetime.now(UTC))
    (certificate,) = certificates_in(pem)
    assert x509.load_pem_x509_certificate(certificate)
    assert b"PRIVATE KEY" not in certificate
    assert b"PRIVATE KEY" in without_certificates(pem)
    assert b"CERTIFICATE" not in without_certificates(pem)


def test_every_certificate_of_a_file_with_comments_is_found() -> None:
    pem = Path(certifi.where()).read_bytes()
    assert len(certificates_in(pem)) == pem.count(b"BEGIN CERTIFICATE") > 100


def test_a_certificate_that_is_cut_is_none() -> None:
    assert certificates_in(b"-----BEGIN CERTIFICATE-----\nAAAA\n") == []
    assert certificates_in(b"-----BEGIN CERTIFICATE-----\nAA-AA\n-----END CERTIFICATE-----\n") == []
