"""Reads the bodies of an action that retention keeps encrypted, in place of those in its rows."""

import json

from msgspec.structs import replace

from headgate.actions.model import ActionDetail
from headgate.actions.store import recorded_request
from headgate.db.database import Connection
from headgate.retention.action_bodies import open_bodies
from headgate.retention.bodies import ActionBodies
from headgate.retention.model import BodyState
from headgate.vault.service import Vault


async def with_kept_bodies(connection: Connection, org_id: str, detail: ActionDetail, vault: Vault) -> ActionDetail:
    """Returns the action with its kept bodies, or without them if they were dropped or erased. Raises UnavailableError
    if they cannot be decrypted."""
    if detail.action.body_state != BodyState.KEPT:
        return detail
    kept = await open_bodies(connection, org_id, detail.action.action_id, vault)
    return detail if kept is None else _with(detail, kept)


def _with(detail: ActionDetail, kept: ActionBodies) -> ActionDetail:
    action, approval = detail.action, detail.approval
    execution = action.execution
    if execution is not None and execution.execution_id in kept.results:
        execution = replace(execution, result=json.loads(kept.results[execution.execution_id]))
    edited = kept.edited_request
    if edited is not None and approval is not None and approval.edit is not None:
        approval = replace(approval, edit=replace(approval.edit, params=json.loads(edited)["params"]))
    action = replace(action, request=recorded_request(json.loads(kept.request)), execution=execution)
    return replace(detail, action=action, approval=approval)
