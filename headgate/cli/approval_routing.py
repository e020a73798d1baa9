"""``headgate approvals reassign|escalate``: changes who is asked, and decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.approval_id import approval_id_of
from headgate.cli.client_option import client_option
from headgate.cli.tables import safe, show_json
from headgate.cli.target import json_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import ApprovalDetailAnswer, EscalateRequest, ReassignRequest


@click.command()
@click.argument("approval_id")
@click.argument("assignees", nargs=-1, required=True)
@click.option("--reason", help="Recorded in the audit log.")
@json_option
@client_option
def reassign(
    client: ApiClient, approval_id: str, assignees: tuple[str, ...], reason: str | None, as_json: bool
) -> None:
    """Replace the assignees. ASSIGNEES are email addresses, user ids or group:name. Votes are kept."""
    body: ReassignRequest = {"assignees": list(assignees)}
    if reason is not None:
        body["reason"] = reason
    _asked(client.send(operations.reassign_approval, approval_id_of(client, approval_id), body), as_json)


@click.command()
@click.argument("approval_id")
@click.option("--reason", help="Recorded in the audit log.")
@json_option
@client_option
def escalate(client: ApiClient, approval_id: str, reason: str | None, as_json: bool) -> None:
    """Escalate the request, once. Headgate adds the people in the policy's escalate_to and notifies all assignees."""
    body: EscalateRequest = {} if reason is None else {"reason": reason}
    _asked(client.send(operations.escalate_approval, approval_id_of(client, approval_id), body), as_json)


def _asked(answer: ApprovalDetailAnswer, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    names = ", ".join(one["email"] or one["id"] or "" for one in answer["assignees"]) or "any approver"
    click.echo(f"{safe(answer['id'])} waits for {safe(names)}")
