"""Stores a reviewer's edit of an action, and reads the submitted action that the edit starts from."""

import json

from msgspec import Struct

from headgate.approvals.model import Approval
from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import NotFoundError


class ActionToEdit(Struct, frozen=True):
    """An explicit action as submitted, with its secrets masked."""

    action_id: str
    agent_id: str
    agent_name: str
    tool: str
    operation: str
    params: JsonObject
    context: JsonObject
    delegation: JsonObject
    is_call: bool
    """Whether Headgate carries out the action itself."""


async def action_to_edit(connection: Connection, approval: Approval) -> ActionToEdit:
    """Raises NotFoundError."""
    cursor = await connection.execute(
        "SELECT a.action_id, a.agent_id, g.name, a.tool, a.operation, a.request FROM actions a"
        " JOIN agents g ON g.org_id = a.org_id AND g.agent_id = a.agent_id WHERE a.org_id = %s AND a.action_id = %s",
        [approval.org_id, approval.action_id],
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFoundError(f"no action {approval.action_id}")
    request = json.loads(row["request"])
    return ActionToEdit(
        action_id=row["action_id"],
        agent_id=row["agent_id"],
        agent_name=row["name"],
        tool=row["tool"],
        operation=row["operation"],
        params=request["params"],
        context=request.get("context", {}),
        delegation=request.get("delegation", {}),
        is_call="http" in request,
    )


async def save_edit(connection: Connection, approval: Approval, request: bytes, decision: bytes) -> None:
    """Writes the edit; the caller holds the row's lock. ``request`` is masked."""
    edit = approval.edit
    if edit is None:
        raise ValueError("there is no edit to save")
    await connection.execute(
        "UPDATE approvals SET edited_request = %s, edited_digest = %s, edited_decision = %s, edited_by = %s,"
        " edited_at = %s WHERE org_id = %s AND approval_id = %s",
        [request.decode(), edit.digest, decision.decode(), edit.by, edit.at, approval.org_id, approval.approval_id],
    )
