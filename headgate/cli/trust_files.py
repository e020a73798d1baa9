"""The files that clients are pointed to, beside the authority's certificate; made again when that is newer."""

from pathlib import Path
from typing import Final

from headgate.cli.client_environment import TrustFiles
from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import UnavailableError

_JAVA_STORE_PASSWORD: Final = "changeit"  # noqa: S105 - Java's own default; the store holds certificates only


def make_trust_files(certificate: Path) -> TrustFiles:
    """Raises UnavailableError where the certificate cannot be read, or the files beside it not be written."""
    return _make(certificate, certificate.parent, certificate.parent)


def make_container_files(certificate: Path, shown_at: Path) -> tuple[Path, TrustFiles]:
    """A folder to mount at ``shown_at``, and its files as they are named there. Raises UnavailableError."""
    folder = certificate.parent / "container"
    return folder, _make(certificate, folder, shown_at)


def _make(certificate: Path, folder: Path, shown_at: Path) -> TrustFiles:
    made = _files(folder, certificate.name)
    shown = _files(shown_at, certificate.name)
    try:
        made_at = certificate.stat().st_mtime_ns
        if not all(_is_newer(file, made_at) for file in (made.bundle, made.java_store, made.wgetrc)):
            folder.mkdir(exist_ok=True)
            authority = certificate.read_bytes()
            if made.certificate != certificate:
                replace_file(made.certificate, authority, mode=0o644)
            _write(made, authority)
            replace_file(made.wgetrc, f"ca_certificate = {shown.bundle}\n".encode(), mode=0o644)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"the trust files for clients cannot be written beside {certificate}: {error}"
        ) from error
    return shown


def _files(folder: Path, certificate: str) -> TrustFiles:
    return TrustFiles(
        certificate=folder / certificate,
        bundle=folder / "bundle.pem",
        java_store=folder / "trust.p12",
        java_store_password=_JAVA_STORE_PASSWORD,
        wgetrc=folder / "wgetrc",
    )


def _write(made: TrustFiles, authority: bytes) -> None:
    # Loads cryptography, which takes longer than all else that a command does whose files are there.
    from proxy.trust import write_client_bundle, write_java_trust_store  # noqa: PLC0415

    write_client_bundle(made.bundle, [authority])
    write_java_trust_store(made.java_store, [authority], made.java_store_password)


def _is_newer(file: Path, made_at: int) -> bool:
    return file.exists() and file.stat().st_mtime_ns >= made_at
