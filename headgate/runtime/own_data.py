"""Which data directories are this user's own: those in which this user has started an instance.

Client commands look for ``.headgate`` in the current folder, and a repository or an archive of somebody else may have
one. Its runtime file would send tokens and calls to an address of theirs, and the files of its database can name
programs to run. So a directory of one's own holds a random mark, which the user's state keeps with the path: owner and
mode prove nothing, because what is unpacked belongs to who unpacks it.
"""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headgate.configuration.data_directory import DataDirectory
from headgate.runtime.instance_pointer import state_folder
from headgate.runtime.private_file import write_private

_MARK: Final = re.compile(rb"[0-9a-f]{32}")
_MARK_BYTES: Final = 32


def make_own(data: DataDirectory, environment: Mapping[str, str] = os.environ) -> None:
    """Raises UnavailableError, OSError where the directory or the user's state cannot be written."""
    if is_own(data, environment):
        return
    mark = secrets.token_hex(_MARK_BYTES // 2)
    entry = _entry(mark, environment)
    entry.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(entry, f"{data.root.resolve()}\n".encode())
    write_private(data.mark_file, mark.encode())


def is_own(data: DataDirectory, environment: Mapping[str, str] = os.environ) -> bool:
    try:
        with data.mark_file.open("rb") as file:
            mark = file.read(_MARK_BYTES + 1)
        if _MARK.fullmatch(mark) is None:
            return False
        return _entry(mark.decode(), environment).read_text("utf-8") == f"{data.root.resolve()}\n"
    except (OSError, UnicodeDecodeError):
        return False


def _entry(mark: str, environment: Mapping[str, str]) -> Path:
    return state_folder(environment) / "data" / mark
