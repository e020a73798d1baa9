"""The roots that all httpx clients of a process share."""

import ssl

import httpx

from headgate.kernel.public_roots import public_roots


def test_they_are_what_httpx_believes_and_are_read_once() -> None:
    shared, own = public_roots(), httpx.create_ssl_context(trust_env=False)
    assert shared is public_roots()
    # OpenSSL sorts them at the first look-up, which another test may have made.
    assert sorted(shared.get_ca_certs(binary_form=True)) == sorted(own.get_ca_certs(binary_form=True))
    assert shared.verify_mode is ssl.CERT_REQUIRED
    assert shared.check_hostname
    assert shared.minimum_version == own.minimum_version
