"""The certificates that agents must trust, of the file that a proxy publishes or shares."""

import re
from pathlib import Path
from typing import Final

_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----")


def trusted_certificates(file: Path | None) -> bytes:
    """PEM; empty where there is no such file yet. It may be the authority itself (HEADGATE_CA_FILE): its private key
    is left out. Raises OSError."""
    if file is None or not file.is_file():
        return b""
    return b"".join(one + b"\n" for one in _CERTIFICATE.findall(file.read_bytes()))
