"""The certificates that agents must trust, of the file that a proxy publishes or shares."""

from pathlib import Path

from headgate.kernel.pem import certificates_in


def trusted_certificates(file: Path | None) -> bytes:
    """PEM; empty where there is no such file yet. It may be the authority itself (HEADGATE_CA_FILE): its private key
    is left out. Raises OSError."""
    if file is None or not file.is_file():
        return b""
    return b"".join(one + b"\n" for one in certificates_in(file.read_bytes()))
