"""The bodies of actions: put away encrypted after a while, dropped by policy, erased when somebody asks for it.

A round takes a bounded number of actions in one transaction, from where the last one stopped; identifiers sort by time,
so that the primary key leads there. What is passed over (still in use, or held) is noted and looked at again. Killed
between any two statements, a round has not happened.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from headgate.db.database import Connection
from headgate.kernel.errors import UnavailableError
from headgate.kernel.ids import IdPrefix, earliest_id
from headgate.retention.bodies import ActionBodies, envelope_name, parse_bodies
from headgate.retention.body_store import (
    forget,
    get_body,
    lock_clear_bodies,
    lock_later_results,
    put_away,
    put_results_away,
    save_key,
    stale_keys,
    unsettled,
)
from headgate.retention.model import BodyState
from headgate.retention.retained_kind import Dropped, RetainedKind
from headgate.retention.sweep_store import (
    Candidate,
    next_actions,
    progress_of,
    save_progress,
    save_waiting,
    waiting_actions,
)
from headgate.vault.service import Vault

ENCRYPT: Final = "encrypt"
_DROP: Final = "drop_bodies"
_BATCH: Final = 500
_WAITING: Final = 200


async def drop_bodies(connection: Connection, org_id: str, before: datetime) -> Dropped:
    """Forget what actions made before that moment sent and got."""
    looked = await _look(connection, org_id, _DROP, before)
    there = [one.action_id for one in looked if one.state in (BodyState.CLEAR, BodyState.KEPT)]
    dropped = await forget(connection, org_id, there, BodyState.DROPPED)
    await _note(connection, org_id, _DROP, looked, wait=set(there) - set(dropped))
    if not dropped:
        return Dropped(0, more=len(looked) >= _BATCH)
    return Dropped(
        len(dropped), {"first_action_id": dropped[0], "last_action_id": dropped[-1]}, more=len(looked) >= _BATCH
    )


async def erase_bodies(connection: Connection, org_id: str, action_ids: Sequence[str]) -> int:
    """Of these actions; how many had any."""
    return len(await forget(connection, org_id, action_ids, BodyState.ERASED))


ACTION_BODIES: Final = RetainedKind("bodies", drop_bodies, erase_bodies)


async def put_bodies_away(connection: Connection, org_id: str, before: datetime, vault: Vault) -> tuple[int, bool]:
    """Encrypt those of actions made before that moment; how many, and whether there may be more. Raises
    UnavailableError where there is no master key: they stay where they are."""
    looked = await _look(connection, org_id, ENCRYPT, before)
    clear = [one.action_id for one in looked if one.state is BodyState.CLEAR]
    found = await lock_clear_bodies(connection, org_id, clear)
    sealed = {
        action_id: vault.seal(org_id, envelope_name(action_id), bodies.text()) for action_id, bodies in found.items()
    }
    moved = await put_away(connection, org_id, sealed) if sealed else 0
    kept = [one.action_id for one in looked if one.state is BodyState.KEPT]
    running = await unsettled(connection, org_id, kept)
    moved += await _put_later_results_away(connection, org_id, kept, vault)
    await _note(connection, org_id, ENCRYPT, looked, wait=set(clear) - set(found) | running)
    return moved, len(looked) >= _BATCH


async def _put_later_results_away(connection: Connection, org_id: str, action_ids: Sequence[str], vault: Vault) -> int:
    """What a retry, or an agent's report, brought after the bodies were put away joins them, under a new key."""
    moved = 0
    for action_id, results in (await lock_later_results(connection, org_id, action_ids)).items():
        bodies = await open_bodies(connection, org_id, action_id, vault)
        if bodies is None:
            raise UnavailableError(f"the bodies of {action_id} are missing from storage")
        joined = replace(bodies, results={**bodies.results, **results})
        envelope = vault.seal(org_id, envelope_name(action_id), joined.text())
        moved += await put_results_away(connection, org_id, action_id, envelope)
    return moved


async def open_bodies(connection: Connection, org_id: str, action_id: str, vault: Vault) -> ActionBodies | None:
    """What was put away; None: nothing is, or it was forgotten. Raises UnavailableError where it does not open."""
    envelope = await get_body(connection, org_id, action_id)
    if envelope is None:
        return None
    return parse_bodies(vault.unseal(org_id, envelope_name(action_id), envelope))


async def rewrap_keys(connection: Connection, org_id: str, vault: Vault) -> int:
    """Bring data keys under the current master key, a bounded number; no body is touched. Raises UnavailableError."""
    stale = await stale_keys(connection, org_id, vault.current_key_id, _BATCH)
    for action_id, kind, envelope in stale:
        name = envelope_name(action_id, kind)
        await save_key(connection, org_id, action_id, kind, vault.rewrapped(org_id, name, envelope))
    return len(stale)


async def _look(connection: Connection, org_id: str, task: str, before: datetime) -> list[Candidate]:
    end = earliest_id(IdPrefix.ACTION, before)
    after = await progress_of(connection, org_id, task)
    fresh = await next_actions(connection, org_id, after, end, _BATCH)
    if fresh:
        await save_progress(connection, org_id, task, fresh[-1].action_id)
        return fresh
    return await waiting_actions(connection, org_id, task, end, _WAITING)


async def _note(connection: Connection, org_id: str, task: str, looked: Sequence[Candidate], *, wait: set[str]) -> None:
    await save_waiting(
        connection, org_id, task, wait=wait, done=[one.action_id for one in looked if one.action_id not in wait]
    )
