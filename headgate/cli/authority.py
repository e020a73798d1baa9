"""``headgate ca``: the certificate authority that agents trust."""

import os
import sys
from pathlib import Path

import click

from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.local_data import data_dir_option, find_data
from headgate.cli.tables import show_fields, show_json
from headgate.cli.target import result_option, runtime_file_option
from headgate.configuration.data_directory import DataDirectory
from headgate.configuration.settings import read_settings
from headgate.kernel.atomic_file import create_file, replace_file
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError
from headgate.kernel.pem import without_certificates
from proxy.authority import Authority, AuthorityCertificate


@click.group()
def ca() -> None:
    """Show, export and rotate Headgate's certificate authority."""


@ca.command()
@result_option
@data_dir_option
@runtime_file_option
def show(as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Show the certificate, to compare it before you trust it."""
    authority = _authority(find_data(data_dir, runtime_file))
    _show(authority.current(), authority, as_json=as_json)


@ca.command()
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Output file. Default: standard output."
)
@result_option
@data_dir_option
@runtime_file_option
def export(output: Path | None, as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Write the certificates that agents must trust, as PEM. The private key stays in the data directory."""
    authority = _authority(find_data(data_dir, runtime_file))
    try:
        pem = authority.certificate_file.read_bytes()
    except OSError as error:
        raise UnavailableError(f"{authority.certificate_file} cannot be read ({error.strerror})") from error
    if output is None and not as_json:
        sys.stdout.buffer.write(pem)
    if output is not None:
        try:
            if not create_file(output, pem, mode=0o644):
                _refuse_other_than_certificates(output)
                replace_file(output, pem, mode=0o644)
        except OSError as error:
            raise UnavailableError(f"{output} cannot be written ({error.strerror})") from error
    if as_json:
        show_json({"file": None if output is None else str(output), "pem": pem.decode()})


@ca.command()
@yes_option
@result_option
@data_dir_option
@runtime_file_option
def rotate(yes: bool, as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Create a new authority. Agents continue to receive the old certificate too."""
    confirm("Create a new authority, which every agent must trust?", yes=yes)
    authority = _authority(find_data(data_dir, runtime_file))
    _show(authority.rotate(system_clock()), authority, as_json=as_json)
    restart = "Restart the proxies (or the instance) to use it, then run headgate env again in the agents' shells."
    click.echo(restart, err=as_json)


def _authority(data: DataDirectory) -> Authority:
    if not data.authority.exists():
        raise NotFoundError(f"{data.root} has no certificate authority yet: headgate up creates one")
    return Authority(data.authority, data.public, read_settings(os.environ).ca_file)


def _refuse_other_than_certificates(path: Path) -> None:
    """A name typed wrongly must not cost somebody a file: only what an export could have written is replaced."""
    is_made_of_certificates = False
    if path.is_file():
        content = path.read_bytes()
        is_made_of_certificates = not content.strip() or not without_certificates(content).strip()
    if not is_made_of_certificates:
        raise ConflictError(f"{path} exists and is not a certificate file. Remove it or choose another file")


def _show(certificate: AuthorityCertificate, authority: Authority, *, as_json: bool) -> None:
    file = str(authority.certificate_file)
    if as_json:
        until = certificate.not_after.isoformat()
        show_json(
            {"subject": certificate.subject, "sha256": certificate.fingerprint, "valid_until": until, "file": file}
        )
        return
    show_fields(
        [
            ("subject", certificate.subject),
            ("SHA-256", certificate.fingerprint),
            ("valid until", certificate.not_after.date()),
            ("file", file),
        ]
    )
