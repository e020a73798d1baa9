"""A connection's certificate, made ready for a TLS handshake (RFC 8446, section 4.4.2), or found to be of no use.

It is looked at when it is opened, where a call can still be refused in words: in the handshake all that is left is to
close the connection.
"""

from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from OpenSSL import SSL

from headgate.connections.credential import CertificateCredential
from headgate.kernel.errors import UnavailableError


def show_certificate(context: SSL.Context, credential: CertificateCredential) -> None:
    """The certificate, what it is followed by, and its key. Raises UnavailableError: the key does not fit, or TLS does
    not take one of them (too short a key, an algorithm that is not believed any more)."""
    try:
        leaf, *following = x509.load_pem_x509_certificates(credential.certificate.encode())
        key = serialization.load_pem_private_key(credential.private_key.reveal().encode(), None)
        context.use_certificate(leaf)
        for one in following:
            context.add_extra_chain_cert(one)
        context.use_privatekey(key)  # type: ignore[arg-type] # whichever kind of key the certificate has
        context.check_privatekey()
    except (ValueError, TypeError, SSL.Error) as error:
        raise UnavailableError("the connection's certificate cannot be used") from error


def valid_until(credential: CertificateCredential) -> datetime:
    """When a usable certificate expires. In TLS 1.3 a server refuses an expired one after the request was sent."""
    return x509.load_pem_x509_certificates(credential.certificate.encode())[0].not_valid_after_utc


def is_usable(credential: CertificateCredential) -> bool:
    try:
        show_certificate(SSL.Context(SSL.TLS_CLIENT_METHOD), credential)
    except UnavailableError:
        return False
    return True
