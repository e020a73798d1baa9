"""``headgate secrets create``: the files with keys that all machines of an installation share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import click

from headgate.cli.key_unwrapper import command_unwrapper
from headgate.cli.tables import show_json, show_table
from headgate.cli.target import result_option
from headgate.cli.wrapped_keys import installation_option
from headgate.configuration.settings import read_settings
from headgate.evidence.signing_keys import SigningKeySource
from headgate.kernel.atomic_file import create_file
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.pem import certificates_in
from headgate.organizations.local_issuer import KEY_FILE, open_local_issuer
from headgate.vault.master_keys import create_master_keys
from headgate.vault.wrapped_key import parse_wrapping
from proxy.authority import new_authority

AUTHORITY: Final = "ca.pem"
CERTIFICATES: Final = "ca-certificates.pem"
MASTER_KEYS: Final = "master-keys.json"
SIGNING_KEYS: Final = "signing-keys"


def _create_authority(path: Path) -> None:
    create_file(path, new_authority(system_clock()), mode=0o600)


def _copy_certificates(path: Path) -> None:
    certificates = certificates_in((path.parent / AUTHORITY).read_bytes())
    create_file(path, b"".join(one + b"\n" for one in certificates), mode=0o644)


# In this order: the certificates are those of the authority.
_FILES: Final[dict[str, Callable[[Path], object]]] = {
    AUTHORITY: _create_authority,
    CERTIFICATES: _copy_certificates,
    MASTER_KEYS: create_master_keys,
    SIGNING_KEYS: lambda path: SigningKeySource(path).create(),
    KEY_FILE: lambda path: open_local_issuer(path.parent),
}


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--kms", metavar="ADDRESS", help="Wrap the master key: awskms:///ARN, awskms:///alias/NAME or hashivault://KEY."
)
@installation_option
@result_option
def create(directory: Path, kms: str | None, installation: str, as_json: bool) -> None:
    """Create the key files that all machines share, with mode 0600. Files that exist are kept."""
    if kms is None:
        states = create_key_files(directory)
    else:
        wrapping, unwrapper = parse_wrapping(kms, installation), command_unwrapper(read_settings())
        states = create_key_files(directory, partial(create_master_keys, unwrapper=unwrapper, wrapping=wrapping))
    if as_json:
        show_json({"directory": str(directory), "files": states})
        return
    show_table(("FILE", "STATE"), states.items())


def create_key_files(
    directory: Path, make_master_keys: Callable[[Path], object] = create_master_keys
) -> dict[str, str]:
    """Returns "created" or "kept" by file name. Raises UnavailableError."""
    states = {}
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, make in (_FILES | {MASTER_KEYS: make_master_keys}).items():
            path = directory / name
            states[name] = "kept" if path.exists() else "created"
            if not path.exists():
                make(path)
    except OSError as error:
        raise UnavailableError(f"the key files cannot be made in {directory}: {error.strerror}") from error
    return states
