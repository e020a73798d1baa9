"""The worker's job: tell each record, once, that another key signs its checkpoints, or that one has been retired.

Whoever changes the keys (``headgate audit key``, an editor, a deployment) needs no database for it, so what they did is
noticed where the keys are used. Which keys a record was told of stands beside its tree and changes with the events that
tell it, in one transaction under the tree's lock: neither a restart nor a second worker says it twice.
"""

from collections.abc import Sequence

import structlog
from msgspec import Struct

from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.evidence.checkpoint import origin_of
from headgate.evidence.note import VerifierKey, parse_note, verify_note
from headgate.evidence.signing_keys import SigningKeys, SigningKeySource
from headgate.evidence.signing_keys_store import load_told_keys, save_told_keys, signing_keys_due
from headgate.evidence.tree_store import latest_checkpoint, lock_tree
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError, ValidationError

_log = structlog.get_logger(__name__)


class KeyChronicle(Struct, frozen=True):
    """Any number of workers may have one. Keys are named by their identifiers in the keys' file."""

    database: Database
    keys: SigningKeySource
    clock: Clock

    async def run(self) -> int:
        """Every record that was told of other keys; returns how many events that took. Raises UnavailableError."""
        keys = self._load()
        if keys is None:
            return 0
        async with self.database.single_statement() as connection:
            due = await signing_keys_due(connection, _signing(keys))
        told = 0
        for org_id in due:
            told += await self.tell(org_id, keys)
        return told

    async def tell(self, org_id: str, keys: SigningKeys) -> int:
        """One organization's record; returns how many events that took. Raises UnavailableError."""
        async with self.database.transaction(org_id) as connection:
            if not await lock_tree(connection, org_id):
                return 0
            before = await self._told_before(connection, org_id, keys)
            if before is None:
                return 0
            events = self._events(org_id, before, keys)
            await append(connection, org_id, events)
            await save_told_keys(connection, org_id, _signing(keys))
        for event in events:
            _log.warning("signing_key_changed", org_id=org_id, change=event.event_type, key_id=event.data["key_id"])
        return len(events)

    def _load(self) -> SigningKeys | None:
        """None: nothing can be signed, which the checkpointer says where it has something to sign."""
        if self.keys.is_missing:
            return None
        try:
            keys = self.keys.load()
        except UnavailableError:
            return None
        return keys if keys.signers else None

    async def _told_before(self, connection: Connection, org_id: str, keys: SigningKeys) -> list[str] | None:
        """What the record was told, or what its last checkpoint was signed with. None: nothing was signed yet, or not
        with keys of this log, which is no rotation: the checkpointer refuses to go on with them, and says so."""
        latest = await latest_checkpoint(connection, org_id)
        if latest is None:
            return None
        try:
            known = keys.verifier_keys(origin_of(keys.log_name, org_id))
            signed_by = verify_note(parse_note(latest.note), known)
        except ValidationError:
            return None
        told = await load_told_keys(connection, org_id)
        return [_key_id(keys, one.public_key) for one in signed_by] if told is None else told

    def _events(self, org_id: str, before: Sequence[str], keys: SigningKeys) -> list[Event]:
        """``verifier_key``: as readers of this log know it; not there where the keys' file has lost it."""
        now = _signing(keys)
        named = {
            _key_id(keys, one.public_key): one.text for one in keys.verifier_keys(origin_of(keys.log_name, org_id))
        }
        changes = [(EventType.SIGNING_KEY_ROTATED, one) for one in now if one not in before]
        changes += [(EventType.SIGNING_KEY_RETIRED, one) for one in before if one not in now]
        at = self.clock()
        return [
            Event(
                event_type,
                at,
                SYSTEM,
                {"key_id": key_id, "signing_key_ids": list(now), "verifier_key": named.get(key_id)},
            )
            for event_type, key_id in changes
        ]


def _signing(keys: SigningKeys) -> list[str]:
    """Identifiers of those that sign, the current one first."""
    return [_key_id(keys, one.public_key) for one in keys.signers]


def _key_id(keys: SigningKeys, public_key: bytes) -> str:
    return VerifierKey(keys.log_name, public_key).key_id.hex()
