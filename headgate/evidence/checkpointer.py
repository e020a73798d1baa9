"""The worker's job: grow each organization's tree by what was sealed, and sign a checkpoint of it.

Recording never waits for this. Where no checkpoint may be signed (the key is missing or another one, the chain does
not continue what was signed), events are recorded and sealed all the same, and the reason stands in ``audit_trees``,
in the log and in the answer to whoever asks for checkpoints.
"""

from datetime import timedelta
from typing import Final

import structlog
from msgspec import Struct
from regorus import leaf_hashes

from headgate.audit.chain import prev_hash_of
from headgate.db.database import Connection, Database
from headgate.evidence.checkpoint import Checkpoint, origin_of, parse_checkpoint
from headgate.evidence.merkle import ProofError, verify_consistency
from headgate.evidence.note import parse_note, verify_note
from headgate.evidence.prove import prove_consistency
from headgate.evidence.signed_memory import SignedMemory
from headgate.evidence.signing_keys import SigningKeys, SigningKeySource
from headgate.evidence.tiles import TreeBuilder, edge_tiles
from headgate.evidence.tree_store import (
    Tree,
    chain_length,
    checkpoints_due,
    has_checkpoints,
    latest_checkpoint,
    load_tiles,
    load_tree,
    lock_tree,
    new_leaves,
    save_checkpoint,
    save_problem,
    save_tree,
)
from headgate.kernel.errors import ConflictError, HeadgateError, UnavailableError, ValidationError

_log = structlog.get_logger(__name__)

_BATCH_LEAVES: Final = 20_000
DEFAULT_EVERY: Final = timedelta(seconds=5)
DEFAULT_EVENTS: Final = 10_000


class InconsistentRecordError(ConflictError):
    """The record does not continue what was signed: somebody must look, and nothing is signed until then."""


class Checkpointer(Struct, frozen=True):
    """Any number of workers may have one: the tree's lock, and the memory of what was signed, keep them from harm."""

    database: Database
    keys: SigningKeySource
    memory: SignedMemory
    every: timedelta = DEFAULT_EVERY
    events: int = DEFAULT_EVENTS

    async def run(self) -> int:
        """A checkpoint for every organization that needs one; returns how many were signed.

        Raises UnavailableError where none could be.
        """
        async with self.database.single_statement() as connection:
            due = await checkpoints_due(connection, self.every, self.events)
        signed = 0
        for org_id in due:
            signed += await self.checkpoint(org_id)
        return signed

    async def checkpoint(self, org_id: str) -> bool:
        """Grow the tree to the chain's end and sign it. False: somebody else is at it, there is nothing new, or it
        may not be signed, which is noted. Raises UnavailableError where the database is away."""
        try:
            while await self._grow(org_id):
                pass
            return await self._sign(org_id)
        except (InconsistentRecordError, _NoKeyError) as error:
            async with self.database.transaction(org_id) as connection:
                tree = await load_tree(connection, org_id)
                await save_problem(connection, org_id, error.message)
            if tree.problem != error.message:
                _log.error("checkpoint_not_signed", org_id=org_id, reason=error.message)
            return False

    async def _grow(self, org_id: str) -> bool:
        """One batch; True: there may be more."""
        async with self.database.transaction(org_id) as connection:
            if not await lock_tree(connection, org_id):
                return False
            tree = await load_tree(connection, org_id)
            size = tree.frontier.size
            leaves = await new_leaves(connection, org_id, size, _BATCH_LEAVES)
            if leaves is None:
                await _require_whole_chain(connection, org_id, tree)
                return False
            if prev_hash_of(leaves.first_header) != tree.head_hash:
                raise InconsistentRecordError(
                    f"event {size + 1} does not follow event {size} as it was when it became a leaf of the tree"
                )
            builder = await _builder(connection, org_id, tree)
            builder.append(leaf_hashes(list(leaves.hashes)))
            await save_tree(connection, org_id, builder.frontier(), leaves.hashes[-1], builder.changed)
            return len(leaves.hashes) == _BATCH_LEAVES

    async def _sign(self, org_id: str) -> bool:
        async with self.database.transaction(org_id) as connection:
            if not await lock_tree(connection, org_id):
                return False
            tree = await load_tree(connection, org_id)
            latest = await latest_checkpoint(connection, org_id)
            if latest is not None and latest.size >= tree.frontier.size:
                if latest.size > tree.frontier.size:
                    raise InconsistentRecordError(
                        f"the tree has {tree.frontier.size} leaves, and a checkpoint of {latest.size} was signed"
                    )
                return False
            keys = await self._load_keys()
            checkpoint = Checkpoint(origin_of(keys.log_name, org_id), tree.frontier.size, tree.frontier.root())
            remembered = self._recall(org_id)
            for text in {one for one in (remembered, None if latest is None else latest.note) if one is not None}:
                await _require_continuation(connection, org_id, keys, text, checkpoint)
            note = await _signed(keys, checkpoint)
            await save_checkpoint(connection, org_id, checkpoint.size, note)
            await save_problem(connection, org_id, None)
            # Before the commit: a checkpoint that was signed and is not in the database is remembered all the same.
            self.memory.remember(org_id, note)
        return True

    async def _load_keys(self) -> SigningKeys:
        """The keys; made where nothing was ever signed. Raises _NoKeyError."""
        is_missing = self.keys.is_missing
        if is_missing:
            async with self.database.across_organizations() as connection:
                if await has_checkpoints(connection):
                    raise _NoKeyError(
                        f"the signing key is missing ({self.keys.file}), and checkpoints were signed with it before:"
                        " restore the file; a new key would start another log"
                    )
        try:
            keys = self.keys.create() if is_missing else self.keys.load()
        except UnavailableError as error:
            raise _NoKeyError(error.message) from error
        if not keys.signers:
            raise _NoKeyError(f"there is no private key in {self.keys.file}: nothing can be signed with it")
        return keys

    def _recall(self, org_id: str) -> str | None:
        """Raises _NoKeyError: a machine that does not know what it has signed does not sign."""
        try:
            return self.memory.recall(org_id)
        except UnavailableError as error:
            raise _NoKeyError(error.message) from error


class _NoKeyError(HeadgateError):
    """No key may sign; the message says why."""


async def _signed(keys: SigningKeys, checkpoint: Checkpoint) -> str:
    """Raises _NoKeyError: a device does not sign."""
    try:
        return (await keys.sign(checkpoint)).render()
    except UnavailableError as error:
        raise _NoKeyError(error.message) from error


async def _builder(connection: Connection, org_id: str, tree: Tree) -> TreeBuilder:
    """Raises InconsistentRecordError where the stored tiles are not those of the stored frontier."""
    edge = await load_tiles(connection, org_id, edge_tiles(tree.frontier.size))
    try:
        builder = TreeBuilder(tree.frontier.size, edge)
    except ValueError as error:
        raise InconsistentRecordError(f"the stored tree is damaged: {error}") from error
    if builder.frontier() != tree.frontier:
        raise InconsistentRecordError("the stored tree is damaged: its tiles have another root than its frontier")
    return builder


async def _require_whole_chain(connection: Connection, org_id: str, tree: Tree) -> None:
    length = await chain_length(connection, org_id)
    if length < tree.frontier.size:
        raise InconsistentRecordError(
            f"the chain ends at event {length}, and its tree has {tree.frontier.size}: events at the end are missing"
        )
    if length > tree.frontier.size:
        raise InconsistentRecordError(f"event {tree.frontier.size + 1} is missing, and later ones are there")


async def _require_continuation(
    connection: Connection, org_id: str, keys: SigningKeys, signed_before: str, checkpoint: Checkpoint
) -> None:
    """Raises InconsistentRecordError, _NoKeyError."""
    try:
        note = parse_note(signed_before)
        before = parse_checkpoint(note)
    except ValidationError as error:
        raise InconsistentRecordError(f"the last checkpoint is malformed: {error.message}") from error
    try:
        verify_note(note, keys.verifier_keys(checkpoint.origin))
    except ValidationError as error:
        raise _NoKeyError(f"the last checkpoint was not signed by a key that is known here: {error.message}") from error
    try:
        if before.size > checkpoint.size:
            raise ProofError(f"it has {checkpoint.size} leaves")
        path = await prove_consistency(connection, org_id, before.size, checkpoint.size)
        verify_consistency(
            old_size=before.size, old_root=before.root, new_size=checkpoint.size, new_root=checkpoint.root, path=path
        )
    except (ProofError, UnavailableError) as error:
        raise InconsistentRecordError(
            f"the tree does not continue the checkpoint of {before.size} events that was signed before: {error}"
        ) from error
