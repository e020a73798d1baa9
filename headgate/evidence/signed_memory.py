"""What this machine has signed: one file an organization, outside the database.

A log must never sign two checkpoints of which one does not continue the other (C2SP tlog-checkpoint, "Signatures").
What was signed before cannot be asked of the database, which is what is doubted.
"""

from pathlib import Path

from msgspec import Struct

from headgate.kernel.atomic_file import replace_file
from headgate.kernel.errors import UnavailableError


class SignedMemory(Struct, frozen=True):
    """``folder`` is made at the first use (0700)."""

    folder: Path

    def recall(self, org_id: str) -> str | None:
        """The last signed note, as text; None: nothing was signed here. Raises UnavailableError."""
        try:
            return self._file(org_id).read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise UnavailableError(
                f"the note of the last signed checkpoint cannot be read: {self._file(org_id)}"
            ) from error

    def remember(self, org_id: str, note: str) -> None:
        """Raises UnavailableError."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._file(org_id), note.encode(), mode=0o600)
        except OSError as error:
            raise UnavailableError(
                f"the note of the signed checkpoint cannot be written: {self._file(org_id)}: {error.strerror}"
            ) from error

    def _file(self, org_id: str) -> Path:
        return self.folder / f"{org_id}.checkpoint"
