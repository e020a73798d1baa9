"""Whom outgoing calls believe: the public roots, and those of HEADGATE_UPSTREAM_CA_FILE."""

import os
import ssl
from pathlib import Path
from typing import Protocol

from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.kernel.public_roots import default_context, public_roots
from headgate.kernel.secrets import Secret


class TlsIdentity(Protocol):
    """A certificate, with what it is followed by, and its key; both in PEM."""

    @property
    def certificate(self) -> str: ...
    @property
    def private_key(self) -> Secret: ...


def trusted_roots(extra: Path | None) -> ssl.SSLContext:
    """Verifies names and chains; TLS 1.2 or later. Without ``extra`` it is the shared ``public_roots``, as each context
    takes 1.5 MB. Raises ValidationError where ``extra`` holds no certificate."""
    if extra is None:
        return public_roots()
    context = default_context()
    try:
        context.load_verify_locations(cafile=extra)
    except (OSError, ssl.SSLError) as error:
        raise ValidationError(f"{extra} holds no certificates in PEM: {error}", details={"path": str(extra)}) from error
    return context


def with_identity(roots: ssl.SSLContext, identity: TlsIdentity) -> ssl.SSLContext:
    """Believes whom ``roots`` believes, and shows ``identity`` (RFC 8446, section 4.4.2). Raises UnavailableError.

    Python reads keys from files only: this one has no name and lives in memory.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=b"".join(roots.get_ca_certs(binary_form=True)))
    held = os.memfd_create("identity", os.MFD_CLOEXEC)
    try:
        os.write(held, f"{identity.private_key.reveal()}\n{identity.certificate}\n".encode())
        context.load_cert_chain(f"/proc/self/fd/{held}")
    except (OSError, ssl.SSLError) as error:
        raise UnavailableError("the connection's certificate cannot be used") from error
    finally:
        os.close(held)
    return context
