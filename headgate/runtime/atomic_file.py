"""Files that are there whole or not at all."""

import contextlib
import os
from pathlib import Path

from headgate.runtime.folders import disk_error


def write_private(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replace ``path``: readers see the old content or the new, nobody else sees any. Raises UnavailableError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        # O_EXCL: a link that somebody put here is not written through.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)  # whatever the umask
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise disk_error(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
