"""Making a proof pack: reading what the record holds about one action, and waiting for its checkpoint."""

import asyncio
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.db.database import Connection, Database
from headgate.evidence import pack_verifier
from headgate.evidence.attestation_store import AttestationKind, attestations_of, attested_size_from
from headgate.evidence.checkpoint import origin_of
from headgate.evidence.note import VerifierKey
from headgate.evidence.pack_archive import write_archive
from headgate.evidence.pack_members import PackSources, assemble, read_rows
from headgate.evidence.pack_store import (
    SealedRow,
    action_events,
    drop_event,
    policy_events,
    policy_texts,
    stored_request,
)
from headgate.evidence.prove import prove_inclusion
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.tree_store import first_checkpoint_from, get_checkpoint, load_tree
from headgate.kernel.errors import NotFoundError, UnavailableError
from headgate.retention.action_bodies import open_bodies
from headgate.retention.model import BodyState
from headgate.vault.service import Vault

_POLL_SECONDS: Final = 0.1


class ProofPack(Struct, frozen=True):
    """``content`` is the ZIP; ``size`` the number of events of the tree that it rests on."""

    action_id: str
    content: bytes
    size: int


async def make_pack(
    database: Database,
    org_id: str,
    action_id: str,
    catalogue: Mapping[str, bytes],
    vault: Vault,
    keys: SigningKeySource,
    *,
    wait_seconds: float,
) -> ProofPack:
    """``catalogue``: entries by digest (``CatalogueIndex.documents``); ``vault`` opens a request that was put away;
    ``keys``: the pack names those of them that signed its checkpoint. What was just recorded waits so long for its
    checkpoint. Raises NotFoundError, UnavailableError."""
    loop = asyncio.get_running_loop()
    until = loop.time() + wait_seconds
    while True:
        async with database.transaction(org_id) as connection:
            state, request = await _request(connection, org_id, action_id, vault)
            own = await action_events(connection, org_id, action_id)
            if not own:
                raise NotFoundError(f"the record has no event of action {action_id}")
            dropped = await drop_event(connection, org_id, action_id) if state is BodyState.DROPPED else None
            size = await _covering_size(connection, org_id, max(own[-1].seq, 0 if dropped is None else dropped.seq))
            if size is not None:
                sources = await _sources(connection, org_id, action_id, size, own, dropped, request, catalogue)
                sources = replace(sources, keys=_public_keys(keys, org_id))
                break
            tree = await load_tree(connection, org_id)
        if tree.problem is not None:
            raise UnavailableError(f"no checkpoint covers this action: {tree.problem}")
        if loop.time() >= until:
            raise UnavailableError(
                "no checkpoint covers this action yet: is a worker running? Try again in a few seconds",
                retry_after_seconds=5,
            )
        await asyncio.sleep(_POLL_SECONDS)
    content = await asyncio.to_thread(lambda: write_archive(assemble(sources)))
    return ProofPack(action_id, content, size)


async def _request(connection: Connection, org_id: str, action_id: str, vault: Vault) -> tuple[BodyState, str | None]:
    """Where it is, and its exact text; None: it was forgotten."""
    state, text = await stored_request(connection, org_id, action_id)
    if state is BodyState.CLEAR:
        return state, text
    bodies = await open_bodies(connection, org_id, action_id, vault) if state is BodyState.KEPT else None
    if state is BodyState.KEPT and bodies is None:
        raise UnavailableError("the stored bodies of the action are missing")
    return state, None if bodies is None else bodies.request


def _public_keys(source: SigningKeySource, org_id: str) -> list[VerifierKey]:
    """None where they are not at hand: a pack stands on its signatures, and its reader has the keys."""
    try:
        keys = source.load()
    except UnavailableError:
        return []
    return keys.verifier_keys(origin_of(keys.log_name, org_id))


async def _covering_size(connection: Connection, org_id: str, events: int) -> int | None:
    """The checkpoint that the pack rests on: time-stamped where there is such a one, else co-signed, else the first
    that covers the action. It stays the same until the action has new events or others attest."""
    for kind in (AttestationKind.TIMESTAMP, AttestationKind.COSIGNATURE):
        attested = await attested_size_from(connection, org_id, events, kind)
        if attested is not None:
            return attested
    first = await first_checkpoint_from(connection, org_id, events)
    return None if first is None else first.size


async def _sources(
    connection: Connection,
    org_id: str,
    action_id: str,
    size: int,
    own: list[SealedRow],
    dropped: SealedRow | None,
    request: str | None,
    catalogue: Mapping[str, bytes],
) -> PackSources:
    read, told = read_rows(own), () if dropped is None else (dropped,)
    made = await policy_events(connection, org_id, pack_verifier.all_policies(pack_verifier.decision_of(read)))
    rows = {row.seq: row for row in (*own, *made.values(), *told) if row.seq <= size}
    ordered = [rows[seq] for seq in sorted(rows)]
    return PackSources(
        action_id=action_id,
        note=(await get_checkpoint(connection, org_id, size)).note,
        attestations=tuple(await attestations_of(connection, org_id, size)),
        rows=tuple(ordered),
        paths=tuple(await prove_inclusion(connection, org_id, [row.seq - 1 for row in ordered], size)),
        request=request,
        policies=await policy_texts(connection, org_id, list(made)),
        catalogue_entry=catalogue.get(str(pack_verifier.submitted_of(read).get("catalogue_sha256"))),
    )
