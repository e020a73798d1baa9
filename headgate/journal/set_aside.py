"""Entries that the applier set aside: what they are, and whether one can be applied after its cause is mended. Pure."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from headgate.actions.entry_lane import SignedEntry, read_entries
from headgate.actions.recorded_entry import ActionEntry, OutcomeEntry, UnreadableEntryError
from headgate.db.arrays import elements_of, text_of
from headgate.journal.round import EventEntry
from headgate.kernel.entry_codes import Checker
from headgate.kernel.errors import ConflictError, ValidationError

ENTRY_ID: Final = re.compile("([0-9]{1,18})-([0-9]{1,9})", re.ASCII)


class SetAsideKind(StrEnum):
    """Of an entry. ``ATTESTATION`` says only what its process has written: there is nothing to apply in it."""

    ACTION = "action"
    OUTCOME = "outcome"
    EVENT = "event"
    ATTESTATION = "attestation"
    UNREADABLE = "unreadable"


class SetAside(NamedTuple):
    """One entry. ``is_event``: a single event, which has no code. ``failure``: why it was set aside."""

    journal_id: int
    position: int
    is_event: bool
    entry: bytes
    failure: str
    set_aside_at: datetime

    @property
    def entry_id(self) -> str:
        return f"{self.journal_id}-{self.position}"


def parse_entry_id(text: str) -> tuple[int, int]:
    """The number of the journal's row, and the place within it. Raises ValidationError."""
    found = ENTRY_ID.fullmatch(text)
    if found is None:
        raise ValidationError(
            f"not the name of an entry: {text}. Its form is NUMBER-NUMBER, as set-aside list prints it"
        )
    return int(found[1]), int(found[2])


def kind_of(one: SetAside) -> SetAsideKind:
    """By its bytes; who wrote them is not looked at."""
    try:
        found = _found(one)
        content = found.read() if isinstance(found, SignedEntry) else found
    except UnreadableEntryError:
        return SetAsideKind.UNREADABLE
    match content:
        case EventEntry():
            return SetAsideKind.EVENT
        case ActionEntry():
            return SetAsideKind.ACTION
        case OutcomeEntry():
            return SetAsideKind.OUTCOME
    return SetAsideKind.ATTESTATION


def action_of(one: SetAside) -> str | None:
    """The action that it is about."""
    try:
        found = _found(one)
        about = found.read() if isinstance(found, SignedEntry) else found
        if not isinstance(about, ActionEntry | OutcomeEntry | EventEntry):
            return None
        return text_of(about.action_id) or None
    except (UnreadableEntryError, UnicodeDecodeError):
        return None


def applicable(one: SetAside, org_id: str, checker: Checker) -> ActionEntry | OutcomeEntry | EventEntry:
    """What can be applied of it. Raises ConflictError."""
    try:
        found = _found(one)
    except UnreadableEntryError as error:
        raise _damaged(one) from error
    if isinstance(found, EventEntry):
        return found
    if not found.is_authentic(checker, org_id):
        raise ConflictError(
            f"entry {one.entry_id} has a code that fits none of the master keys. If another machine wrote it, give this"
            " one the same keys (HEADGATE_MASTER_KEYS_FILE). Otherwise it was changed in the database: keep it as"
            " evidence."
        )
    try:
        content = found.read()
    except UnreadableEntryError as error:
        raise _damaged(one) from error
    if not isinstance(content, ActionEntry | OutcomeEntry):
        raise ConflictError(f"entry {one.entry_id} is an attestation: it holds nothing to apply")
    return content


def _damaged(one: SetAside) -> ConflictError:
    return ConflictError(f"entry {one.entry_id} cannot be read: it was damaged. Keep it as evidence.")


def _found(one: SetAside) -> EventEntry | SignedEntry:
    """Raises UnreadableEntryError."""
    try:
        if one.is_event:
            return EventEntry(*elements_of(one.entry))
        [found] = read_entries(one.entry)
    except (ValueError, TypeError) as error:
        raise UnreadableEntryError(one.entry) from error
    return found
