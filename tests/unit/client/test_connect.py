"""Without TLS no public roots are read; with TLS the client verifies by them."""

import ssl

from headgate.client.connect import connection_arguments


def test_a_client_without_tls_trusts_no_certificate() -> None:
    context = connection_arguments("http://127.0.0.1:8470", None, None, 1.0)["verify"]
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs() == []


def test_a_client_with_tls_verifies_as_httpx_does() -> None:
    assert "verify" not in connection_arguments("https://gate.example.com", None, None, 1.0)
