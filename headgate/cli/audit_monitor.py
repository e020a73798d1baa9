"""``headgate audit monitor``: following a service's checkpoints as an outsider who keeps what it saw.

Each new checkpoint must be signed with a key that the monitor was given, and continue the last one that it kept. What
it keeps is what ``headgate audit verify --checkpoints`` is given later.
"""

import base64
import time
from pathlib import Path
from typing import Final

from msgspec import Struct

from headgate.cli.api_client import ApiClient
from headgate.cli.audit_restores import ProvenRestore, explaining, proven_restores, set_aside
from headgate.client import operations
from headgate.evidence.checkpoint import Checkpoint, parse_checkpoint
from headgate.evidence.merkle import ProofError, verify_consistency
from headgate.evidence.note import VerifierKey, parse_note, verify_note
from headgate.kernel.atomic_file import create_file
from headgate.kernel.errors import HeadgateError, NotFoundError, UnavailableError, ValidationError

_PATIENCE_SECONDS: Final = 120.0


class AlarmError(HeadgateError):
    """The service does not keep what it has signed, or does not sign any more."""


class Monitor(Struct):
    """``folder`` holds a file for each checkpoint that was seen; the largest is where it goes on."""

    client: ApiClient
    keys: list[VerifierKey]
    folder: Path
    patience_seconds: float = _PATIENCE_SECONDS
    _unreachable_since: float | None = None

    def look(self) -> Checkpoint | None:
        """The newest checkpoint, verified and kept; None: there is none yet. Raises AlarmError."""
        try:
            listed = self.client.send(operations.get_audit_checkpoints, latest=True)
        except UnavailableError as error:
            self._note_silence(error)
            return None
        self._unreachable_since = None
        if listed.get("problem") is not None:
            raise AlarmError(f"the service no longer signs checkpoints: {listed['problem']}")
        known = self._known()
        if not listed["data"]:
            if known is not None:
                raise AlarmError(f"the service no longer has a checkpoint, but {known.size} events were signed")
            return None
        note = str(listed["data"][0]["note"])
        newest = self.read(note)
        if known is not None:
            try:
                self._require_continuation(known, newest)
            except AlarmError as alarm:
                raise self._explained(alarm, known) from alarm
        self.folder.mkdir(parents=True, exist_ok=True)
        create_file(self.folder / f"{newest.size:015d}.checkpoint", note.encode(), mode=0o444)
        return newest

    def accept(self, event_id: str) -> tuple[ProvenRestore, list[Path]]:
        """Sets the checkpoints aside that a restore explains. Raises AlarmError, NotFoundError, ConflictError."""
        restores = proven_restores(self.client, self.read)
        restore = next((one for one in restores if one.event_id == event_id), None)
        if restore is None:
            raise NotFoundError(
                f"the log proves no restore {event_id}: name an event backup.restored that a signed checkpoint covers"
                " (one is signed within seconds)"
            )
        listed = self.client.send(operations.get_audit_checkpoints, latest=True)
        newest = self.read(str(listed["data"][0]["note"]))
        return restore, set_aside(self.folder, restore, newest, self.read, self._continues)

    def _continues(self, known: Checkpoint, newest: Checkpoint) -> bool:
        try:
            self._require_continuation(known, newest)
        except AlarmError:
            return False
        return True

    def _explained(self, alarm: AlarmError, known: Checkpoint) -> AlarmError:
        """The alarm, with the restore that the log proves, where one explains it."""
        try:
            restore = explaining(proven_restores(self.client, self.read), known)
        except HeadgateError:
            return alarm
        if restore is None:
            return alarm
        return AlarmError(
            f"the log was restored from a backup: {restore.describe()}. Events {restore.head_seq + 1} to"
            f" {known.size} of the log before are lost ({alarm.message}). If the restore is known to you: headgate"
            f" audit accept-restore {restore.event_id} --keep {self.folder} --key KEY"
        )

    def _note_silence(self, error: UnavailableError) -> None:
        now = time.monotonic()
        self._unreachable_since = self._unreachable_since or now
        if now - self._unreachable_since >= self.patience_seconds:
            patience = self.patience_seconds
            silence = (
                f"the service has not answered for {patience:.0f} s" if patience else "the service does not answer"
            )
            raise AlarmError(f"{silence}: {error.message}") from error

    def _known(self) -> Checkpoint | None:
        files = sorted(self.folder.glob("*.checkpoint"))
        return self.read(files[-1].read_text("utf-8")) if files else None

    def read(self, text: str) -> Checkpoint:
        """The checkpoint of a note that a trusted key signed. Raises AlarmError."""
        try:
            note = parse_note(text)
            checkpoint = parse_checkpoint(note)
            named = [
                VerifierKey(checkpoint.origin, key.public_key, key.kind)
                if checkpoint.origin.startswith(f"{key.name}/")
                else key
                for key in self.keys
            ]
            verify_note(note, named)
        except ValidationError as error:
            raise AlarmError(f"a checkpoint cannot be verified: {error.message}") from error
        return checkpoint

    def _require_continuation(self, known: Checkpoint, newest: Checkpoint) -> None:
        if newest.origin != known.origin:
            raise AlarmError(f"this is a different log: {newest.origin} instead of {known.origin}")
        if newest.size < known.size:
            raise AlarmError(f"the log has shrunk: {newest.size} events, but {known.size} were signed")
        path: tuple[bytes, ...] = ()
        if newest.size > known.size:
            path = self._proof(known, newest)
        try:
            verify_consistency(
                old_size=known.size, old_root=known.root, new_size=newest.size, new_root=newest.root, path=path
            )
        except ProofError as error:
            raise AlarmError(f"the log was forked or rewritten: {error}") from error

    def _proof(self, known: Checkpoint, newest: Checkpoint) -> tuple[bytes, ...]:
        try:
            answer = self.client.send(operations.get_audit_consistency, first=known.size, second=newest.size)
        except HeadgateError as error:
            raise AlarmError(
                f"the service does not prove that {newest.size} events continue {known.size}: {error.message}"
            ) from error
        return tuple(base64.b64decode(one) for one in answer["path"])
