"""Ends executions that wait or run in a database that was restored.

What the backup shows as queued or running may have run to its end since. So nothing is sent again: each ends as failed,
and its call is deleted, so that nobody retries it by mistake.
"""

from typing import Final

from headgate.actions.execution_store import fail_executions, find_executions
from headgate.audit.model import SYSTEM, EventType, payload_text
from headgate.executions.store import delete_calls, queued_executions, running_executions, settle_unsent
from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.change import OrganizationChange

NOT_RUN: Final = "not run: the instance was restored from a backup, and this execution may have run after the backup"
OUTCOME_UNKNOWN: Final = "outcome unknown: it ran when the backup was made from which the instance was restored"


async def withdraw_executions(change: OrganizationChange) -> tuple[int, int]:
    """How many had been queued, and how many had been running."""
    connection, org_id = change.connection, change.org_id
    queued = await queued_executions(connection, org_id)
    for execution_id in queued:
        failed: JsonObject = {"execution_id": execution_id, "error": NOT_RUN}
        await settle_unsent(connection, org_id, execution_id, change.at, NOT_RUN, payload_text(SYSTEM, failed))
    found = await find_executions(connection, org_id, await running_executions(connection, org_id))
    ended = await fail_executions(connection, org_id, found, error=OUTCOME_UNKNOWN, at=change.at)
    for one in ended:
        data: JsonObject = {"execution_id": one.execution_id, "error": OUTCOME_UNKNOWN}
        await change.record(EventType.EXECUTION_FAILED, data, action_id=one.action_id, agent_id=one.agent_id)
    await delete_calls(connection, org_id)
    return len(queued), len(ended)
