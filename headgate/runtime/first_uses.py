"""What libraries make for the rest of a process when they are first used. Made before the parts are forked, they share
it; otherwise each of them makes its own, of 4 to 7 MB.

No secret of an instance is made: the key of this certificate authority is discarded. A forked process seeds OpenSSL's
random numbers again (OpenSSL 3, ``fork_id`` in its DRBG).
"""

from datetime import UTC, datetime

from cryptography import x509

from headgate.kernel.public_roots import public_roots
from headgate.kernel.sealing import Seal
from headgate.kernel.secrets import Secret
from proxy.authority import new_authority


def use_tls() -> None:
    """OpenSSL of Python's ``ssl``, and the public roots."""
    public_roots()


def use_cryptography() -> None:
    """OpenSSL of the package ``cryptography``: what authorities, sealed texts and derived keys need of it."""
    x509.load_pem_x509_certificate(new_authority(datetime.now(UTC)))
    seal = Seal(Secret("first use"), b"first use")
    seal.open(seal.seal(b"", ""), "")
