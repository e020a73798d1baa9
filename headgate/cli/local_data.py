"""The data directory of the instance on this machine, for commands that need its keys rather than its API."""

import os
from collections.abc import Callable
from pathlib import Path

import click

from headgate.cli.target import LOCAL_DATA, about_foreign_data, find_instance, local_data, named_data_directory
from headgate.configuration.data_directory import DataDirectory, default_data_directory
from headgate.kernel.errors import UnavailableError, ValidationError
from headgate.runtime.instance_pointer import last_started


def data_dir_option[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """``--data-dir``, for commands that work without a running instance too."""
    return click.option(
        "--data-dir", type=click.Path(path_type=Path, file_okay=False), help="The data directory (HEADGATE_DATA_DIR)."
    )(command)


def find_data(data_dir: Path | None, runtime_file: Path | None) -> DataDirectory:
    """By option, environment, runtime file, or where an instance lies by default. Raises UnavailableError."""
    named = data_dir or named_data_directory()
    if named is None and (runtime_file is not None or os.environ.get("HEADGATE_RUNTIME_FILE")):
        # The layout puts the certificate into a folder of the data directory (configuration.data_directory).
        return DataDirectory(Path(find_instance(runtime_file).ca_cert).parent.parent)
    folders = [named.absolute()] if named else _default_folders()
    for folder in folders:
        data = DataDirectory(folder)
        if data.is_used:
            return data
    raise UnavailableError(
        f"no instance data in {' or '.join(map(str, folders))}. Name the folder with --data-dir, or start an instance"
        f" with headgate up{about_foreign_data()}"
    )


def find_restore_target(data_dir: Path | None) -> DataDirectory:
    """By option, environment, or where an instance lies, or a restore was interrupted. Raises ValidationError.

    Where there is neither, the next start may be that of ``make up`` or of ``headgate up``: the caller says which.
    """
    named = data_dir or named_data_directory()
    if named is not None:
        return DataDirectory(named.absolute())
    for folder in _default_folders():
        data = DataDirectory(folder)
        if data.is_used or data.restoring.exists():
            return data
    raise ValidationError(
        "no instance was found to restore in place. Name the folder to restore into: --data-dir"
        f" {LOCAL_DATA} is the one of make up in a clone, --data-dir {default_data_directory()} the one of headgate up"
    )


def _default_folders() -> list[Path]:
    folders = [*local_data(), default_data_directory()]
    if (last := last_started()) is not None:
        folders.append(last.parent)  # the runtime file that an instance is found by lies in its data directory
    return folders


def find_catalogues(data_dir: Path | None, runtime_file: Path | None) -> Path:
    """Where the instance's own tool catalogues are; where there is no instance yet, where its first start will look."""
    if (named := data_dir or named_data_directory()) is not None:
        return DataDirectory(named.absolute()).catalogues
    try:
        return find_data(None, runtime_file).catalogues
    except UnavailableError:
        if runtime_file is not None or os.environ.get("HEADGATE_RUNTIME_FILE"):
            raise
        return DataDirectory(default_data_directory()).catalogues
