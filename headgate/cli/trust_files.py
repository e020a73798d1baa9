"""The files that clients are pointed to, beside the authority's certificate; made again when that is newer."""

from pathlib import Path

from headgate.cli.client_environment import TrustFiles
from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import UnavailableError
from proxy.trust import TRUST_STORE_PASSWORD, write_client_bundle, write_java_trust_store


def make_trust_files(certificate: Path) -> TrustFiles:
    """Raises UnavailableError where the certificate cannot be read, or the files beside it not be written."""
    folder = certificate.parent
    files = TrustFiles(
        certificate=certificate,
        bundle=folder / "bundle.pem",
        java_store=folder / "trust.p12",
        java_store_password=TRUST_STORE_PASSWORD,
        wgetrc=folder / "wgetrc",
    )
    try:
        made_at = certificate.stat().st_mtime_ns
        if not all(_is_newer(file, made_at) for file in (files.bundle, files.java_store, files.wgetrc)):
            authority = [certificate.read_bytes()]
            write_client_bundle(files.bundle, authority)
            write_java_trust_store(files.java_store, authority)
            replace_file(files.wgetrc, f"ca_certificate = {files.bundle}\n".encode(), mode=0o644)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"the trust files for clients cannot be written beside {certificate}: {error}"
        ) from error
    return files


def _is_newer(file: Path, made_at: int) -> bool:
    return file.exists() and file.stat().st_mtime_ns >= made_at
