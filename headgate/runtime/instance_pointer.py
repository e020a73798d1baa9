"""Which instance this user started last, so that client commands find it from any folder.

One line with the path of a runtime file (``headgate.runtime.runtime_file``), which exists only while its instance is
ready: a pointer to an instance that has stopped leads nowhere and needs no cleaning up.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from headgate.runtime.private_file import write_private


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The XDG base directory specification's place for a user's state."""
    home = environment.get("XDG_STATE_HOME")
    base = Path(home) if home and Path(home).is_absolute() else Path("~/.local/state").expanduser()
    return base / "headgate"


def pointer_file(environment: Mapping[str, str] = os.environ) -> Path:
    return state_folder(environment) / "instance"


def point_to(runtime_file: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Raises UnavailableError, OSError where the user's state cannot be written."""
    file = pointer_file(environment)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(file, f"{runtime_file}\n".encode())


def last_started(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The runtime file; None where this user started none."""
    try:
        return Path(pointer_file(environment).read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return None
