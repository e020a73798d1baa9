"""What a call that runs later needs is written with its decision, or its vote: in that transaction, or not at all."""

from datetime import datetime
from typing import Final

from headgate.db.database import Connection
from headgate.executions.kept_call import kept_text, vault_name
from headgate.executions.store import forget_kept_call, queue_execution
from headgate.executions.store import keep_call as insert_call
from headgate.kernel.ids import IdPrefix, new_id
from headgate.protocols.draft import ActionDraft, Effect
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault

ALLOWED_PRIORITY: Final = 0
APPROVED_PRIORITY: Final = 10
"""A person has waited for it, or is waiting."""


async def keep_call(
    connection: Connection,
    org_id: str,
    action_id: str,
    agent_id: str,
    draft: ActionDraft,
    vault: Vault,
    catalogue: CatalogueIndex,
) -> None:
    """Keep the call of an action that has one. Raises UnavailableError where it cannot be encrypted."""
    if draft.call is None:
        return
    await vault.keep(connection, org_id, vault_name(action_id), kept_text(draft))
    await insert_call(
        connection,
        org_id,
        action_id,
        agent_id,
        tool=draft.tool,
        operation=draft.operation,
        destination=f"{draft.call.host}:{draft.call.port}",
        repeatable=is_repeatable(draft, catalogue),
    )


async def keep_other_call(
    connection: Connection,
    org_id: str,
    action_id: str,
    agent_id: str,
    draft: ActionDraft,
    vault: Vault,
    catalogue: CatalogueIndex,
) -> None:
    """In place of the one that was kept with the approval, of what a reviewer has made of the action: another call, or
    none, which its agent carries out. Raises UnavailableError where it cannot be encrypted."""
    await forget_kept_call(connection, org_id, action_id)
    await vault.forget(connection, org_id, vault_name(action_id))
    await keep_call(connection, org_id, action_id, agent_id, draft, vault, catalogue)


def is_repeatable(draft: ActionDraft, catalogue: CatalogueIndex) -> bool:
    """As its catalogue declares; what no catalogue lists, only where it reads."""
    entry = catalogue.tools.get(draft.tool, {}).get(draft.operation)
    return draft.effect is Effect.READ if entry is None else entry.sending.repeatable


async def queue_call(connection: Connection, org_id: str, action_id: str, at: datetime, *, priority: int) -> str | None:
    """The new execution's id; None where nothing is kept: the agent carries the action out itself."""
    execution_id = new_id(IdPrefix.EXECUTION)
    queued = await queue_execution(connection, org_id, action_id, execution_id, at, priority=priority)
    return execution_id if queued else None
