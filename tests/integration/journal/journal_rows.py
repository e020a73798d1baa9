"""Rows of the journal by what their entries say, and a row that the database's owner has changed."""

from regorus import from_lz4_block, lz4_block

from headgate.actions.entry_lane import SignedEntry, read_entries
from headgate.actions.recorded_entry import ActionEntry, OutcomeEntry
from headgate.db.arrays import text_of
from tests.integration.conftest import Superuser

_BLOCK_HEAD_BYTES = 5
"""Before an entry's block: its kind and the length of the block."""


def rows_about(superuser: Superuser, org_id: str, action_id: str) -> list[int]:
    """Numbers of the rows with an entry about the action."""
    return [number for number, entries in _rows(superuser, org_id) if any(_is_about(one, action_id) for one in entries)]


def has_attestation(superuser: Superuser, org_id: str) -> bool:
    """Whether a row says only what its process had written."""
    return any(entries and all(one.is_attestation for one in entries) for _, entries in _rows(superuser, org_id))


def change_action(superuser: Superuser, org_id: str, action_id: str, other: str) -> None:
    """Names another action where the entries name this one, and leaves their codes as they are."""
    for number, entries in _rows(superuser, org_id):
        changed = b"".join(_renamed(one, action_id.encode(), other.encode()) for one in entries)
        superuser.execute(
            "UPDATE journal SET entries = %s WHERE org_id = %s AND journal_id = %s", [changed, org_id, number]
        )


def _rows(superuser: Superuser, org_id: str) -> list[tuple[int, list[SignedEntry]]]:
    found = superuser.execute(
        "SELECT journal_id, entries FROM journal WHERE org_id = %s AND entries IS NOT NULL", [org_id]
    ).fetchall()
    return [(int(str(number)), list(read_entries(bytes(entries)))) for number, entries in found]  # type: ignore[arg-type]


def _is_about(one: SignedEntry, action_id: str) -> bool:
    entry = one.read()
    return isinstance(entry, ActionEntry | OutcomeEntry) and text_of(entry.action_id) == action_id


def _renamed(one: SignedEntry, action_id: bytes, other: bytes) -> bytes:
    entry = one.read()
    if not isinstance(entry, ActionEntry | OutcomeEntry):
        return one.raw
    fields = b"".join(entry)
    block = lz4_block(fields)
    before = len(one.raw) - _BLOCK_HEAD_BYTES - len(block)
    assert one.raw[before + _BLOCK_HEAD_BYTES :] == block and from_lz4_block(block, len(fields)) == fields
    changed = lz4_block(fields.replace(action_id, other))
    kind = one.raw[before : before + 1]
    return one.raw[:before] + kind + len(changed).to_bytes(4, "big") + changed
