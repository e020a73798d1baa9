"""``headgate secrets wrap`` and ``unwrap``: master keys wrapped with a key management service, or in the clear."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from headgate.cli.key_unwrapper import command_unwrapper
from headgate.cli.local_data import data_dir_option, find_data
from headgate.cli.tables import safe, show_json
from headgate.cli.target import result_option, runtime_file_option
from headgate.configuration.settings import Settings, read_settings
from headgate.vault.master_keys import MasterKeys
from headgate.vault.wrap_master_keys import unwrap_master_keys, wrap_master_keys
from headgate.vault.wrapped_key import Wrapping, parse_wrapping

_DEFAULT_INSTALLATION: Final = "headgate"


def installation_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    return click.option(
        "--installation",
        default=_DEFAULT_INSTALLATION,
        show_default=True,
        help="The name of this installation, which the service authenticates with each key.",
    )(command)


@click.command()
@click.option(
    "--kms",
    required=True,
    metavar="ADDRESS",
    help="The key that wraps: awskms:///ARN, awskms:///alias/NAME or hashivault://KEY.",
)
@installation_option
@result_option
@data_dir_option
@runtime_file_option
def wrap(kms: str, installation: str, as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Wrap the master keys in the file with a key in AWS KMS, Vault or OpenBao. The file alone then reveals nothing.

    Each process unwraps them once, when it starts. Keys that another key wraps are rewrapped with this one.
    Earlier copies of the file may hold the keys in the clear: rotate, then retire the old keys.
    """
    wrapping, settings = parse_wrapping(kms, installation), read_settings()
    keys = wrap_master_keys(_file(settings, data_dir, runtime_file), command_unwrapper(settings), wrapping)
    _show(keys, wrapping, as_json=as_json)
    if not as_json:
        click.echo(
            "Earlier copies of the file may hold these keys in the clear: run headgate secrets rotate, then headgate"
            " secrets retire.",
            err=True,
        )


@click.command()
@result_option
@data_dir_option
@runtime_file_option
def unwrap(as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """Store the master keys in the clear again, for example before a key of the service is deleted."""
    settings = read_settings()
    _show(
        unwrap_master_keys(_file(settings, data_dir, runtime_file), command_unwrapper(settings)), None, as_json=as_json
    )


def _file(settings: Settings, data_dir: Path | None, runtime_file: Path | None) -> Path:
    """Raises UnavailableError."""
    return settings.master_keys_file or find_data(data_dir, runtime_file).master_keys


def _show(keys: MasterKeys, wrapping: Wrapping | None, *, as_json: bool) -> None:
    kms = None if wrapping is None else str(wrapping.kms)
    if as_json:
        show_json({"keys": list(keys.keys), "kms": kms})
        return
    for key_id in keys.keys:
        click.echo(f"{safe(key_id)}  {'in the clear' if kms is None else f'wrapped with {safe(kms)}'}")
