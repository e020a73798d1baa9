"""Applies an entry that was set aside, when an administrator orders it after repairing the cause.

The entry was counted when it was set aside, so only its code is checked here. The result is the one of an ordinary
round: an action that exists is refused, and an execution ends once.
"""

from headgate.actions.recorded_entry import OutcomeEntry
from headgate.audit.change import Change
from headgate.audit.model import EventType
from headgate.db.database import Database
from headgate.journal import store
from headgate.journal.apply import RoundRefusedError, refusals, require_applied, write_entries
from headgate.journal.set_aside import SetAside, action_of, applicable, kind_of
from headgate.journal.set_aside_store import find_set_aside, take_set_aside
from headgate.kernel.clock import rfc3339
from headgate.kernel.errors import ConflictError, NotFoundError, UnavailableError
from headgate.organizations.change import begin_change


async def apply_set_aside(database: Database, by: Change, journal_id: int, position: int) -> SetAside:
    """Applies it, deletes it from what is set aside, and records who did so, in one transaction.

    Raises NotFoundError: it is not set aside. ConflictError: it cannot be applied, with the reason; it stays set aside.
    UnavailableError.
    """
    if database.entry_codes is None:
        raise UnavailableError("the journal's entries cannot be checked without the master keys")
    checker = database.entry_codes.checker()
    await require_applied(database, by.org_id)  # what came before it is in its place
    async with begin_change(database, by) as change:
        await store.lock_chain_for_reader(change.connection, by.org_id)
        one = await find_set_aside(change.connection, by.org_id, journal_id, position)
        if one is None:
            raise NotFoundError(f"no entry {journal_id}-{position} is set aside")
        entry = applicable(one, by.org_id, checker)
        try:
            with refusals():
                planned = await write_entries(change.connection, by.org_id, [], [entry])
        except RoundRefusedError as error:
            raise ConflictError(
                f"entry {one.entry_id} still cannot be applied: {error.cause.splitlines()[0]}"
            ) from error
        if isinstance(entry, OutcomeEntry) and not planned.ended:
            raise ConflictError(f"entry {one.entry_id} is the outcome of an execution that has ended, or has no record")
        await take_set_aside(change.connection, by.org_id, journal_id, position)
        await change.record(
            EventType.JOURNAL_ENTRY_APPLIED,
            {
                "entry": one.entry_id,
                "kind": kind_of(one).value,
                "action_id": action_of(one),
                "failure": one.failure,
                "set_aside_at": rfc3339(one.set_aside_at),
            },
        )
    return one
