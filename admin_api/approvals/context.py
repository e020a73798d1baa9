"""The context of one approval, read in the transaction that reads the approval."""

import asyncio
from typing import Final

from admin_api.approvals.context_schemas import ContextAnswer, context_answer
from admin_api.policies.names import names_of_policies
from headgate.actions.delegation_store import chain_of
from headgate.approvals.context_store import asked_action, identical_pending, similar_decisions
from headgate.approvals.model import Approval
from headgate.db.database import Connection
from headgate.tools.match import CatalogueIndex

_MOST_PARENTS: Final = 10


async def context_of(connection: Connection, approval: Approval, catalogue: CatalogueIndex) -> ContextAnswer | None:
    """None where the action is gone."""
    org_id = approval.org_id
    asked = await asked_action(connection, org_id, approval.action_id)
    if asked is None:
        return None
    call = (approval.agent_id, approval.digest)
    # In a thread: a request may have ten megabytes, and each text of it is read for hidden characters.
    return await asyncio.to_thread(
        context_answer,
        approval,
        asked,
        await chain_of(connection, org_id, asked.parent_action_id, most=_MOST_PARENTS),
        await similar_decisions(connection, org_id, asked),
        (await identical_pending(connection, org_id, [call])).get(call, []),
        catalogue,
        await names_of_policies(connection, org_id, asked.policy_ids),
    )
