"""What ``headgate backup``, ``restore`` and ``upgrade`` have in common: whom they work for, and what they show."""

from __future__ import annotations

import dataclasses
import os
import pwd
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from headgate.cli.local_data import find_data
from headgate.configuration.settings import Settings, read_settings
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

if TYPE_CHECKING:
    from headgate.backup.archive import Progress

_SHOWN_EVERY_SECONDS: Final = 1.0


def settings_of(data_dir: Path | None, runtime_file: Path | None) -> Settings:
    """This shell's settings, for the instance that the options name. Raises UnavailableError, ValidationError."""
    from headgate.runtime.servers import brings_database  # noqa: PLC0415 - loads the supervisor

    settings = read_settings()
    if data_dir is not None:
        return dataclasses.replace(settings, data_dir=data_dir.absolute())
    if not brings_database(settings):
        return settings
    return dataclasses.replace(settings, data_dir=find_data(None, runtime_file).root)


def passphrase_of(file: Path | None, settings: Settings) -> Secret | None:
    """The first line of the file, or HEADGATE_BACKUP_PASSPHRASE. Raises ValidationError."""
    if file is None:
        return settings.backup_passphrase
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"the passphrase cannot be read from {file}: {error}") from error
    if not lines or not lines[0].strip():
        raise ValidationError(f"{file} has no passphrase on its first line")
    return Secret(lines[0].strip())


def operator() -> str:
    """Who runs this command, as the operating system names them: user@machine.

    The record keeps it, so no variable counts that anybody may set (LOGNAME, USER). SUDO_USER says who became root, and
    counts from root only, who is named beside it.
    """
    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid {uid}"
    behind = os.environ.get("SUDO_USER") if uid == 0 else None
    return f"{user}@{socket.gethostname()}" + (f" (sudo by {behind})" if behind else "")


def shown_size(size_bytes: int) -> str:
    """For people: MiB with one digit."""
    return f"{size_bytes / 1024**2:.1f} MiB"


class SizeLine:
    """A line on stderr that says how much is done, where somebody sees it."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._sizes: dict[str, int] = {}
        self._shown_at = 0.0
        self._is_seen = sys.stderr.isatty()

    @property
    def progress(self) -> Progress:
        return self._add

    def _add(self, name: str, size_bytes: int) -> None:
        self._sizes[name] = self._sizes.get(name, 0) + size_bytes
        now = time.monotonic()
        if self._is_seen and now - self._shown_at >= _SHOWN_EVERY_SECONDS:
            self._shown_at = now
            click.echo(f"\r{self._verb} {name}: {shown_size(self._sizes[name])}\033[K", err=True, nl=False)

    def end(self) -> None:
        if self._is_seen and self._shown_at:
            click.echo("\r\033[K", err=True, nl=False)
