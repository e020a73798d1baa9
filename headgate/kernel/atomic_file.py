"""Files that are there whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int) -> None:
    """Replace ``path``: readers see the old content or the new, and nobody sees any with wider rights than ``mode``.

    Raises OSError. The draft beside it has a name of its own (mkstemp: O_EXCL, 0600), so that no link that somebody
    put there is written through, and processes that write at the same time, in containers with the same process
    number too, do not write into each other's.
    """
    with _draft(path, content, mode) as draft:
        draft.replace(path)


def create_file(path: Path, content: bytes, *, mode: int) -> bool:
    """Make ``path`` unless it is there: of several that do so at the same moment one wins, whole. True: this one.

    Raises OSError.
    """
    with _draft(path, content, mode) as draft:
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return False
    return True


@contextmanager
def _draft(path: Path, content: bytes, mode: int) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)  # whatever the umask
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)
