"""Files of an instance that only its owner may read."""

from pathlib import Path

from headgate.kernel.atomic_file import replace_file
from headgate.runtime.folders import disk_error


def write_private(path: Path, content: bytes) -> None:
    """Replace ``path`` (0600): readers see the old content or the new. Raises UnavailableError."""
    try:
        replace_file(path, content, mode=0o600)
    except OSError as error:
        raise disk_error(error, path) from error
