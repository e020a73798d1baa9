"""``headgate approvals approve|deny|grant``: the decision, on one call or on several."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.approval_id import approval_id_of
from headgate.cli.client_option import client_option
from headgate.cli.grant_options import bounds_body, bounds_options, conditions_body
from headgate.cli.grants import said
from headgate.cli.tables import safe, show_json
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import (
        ApproveAndGrant,
        ApprovedAnswer,
        ApproveRequest,
        BulkDecisionRequest,
        DeniedAnswer,
        VoteDecision,
    )


@click.command()
@click.argument("approval_ids", nargs=-1, required=True)
@click.option("--identical", is_flag=True, help="Also decide all identical open requests.")
@click.option("--comment", help="Recorded in the audit log.")
@json_option
@client_option
def approve(
    client: ApiClient, approval_ids: tuple[str, ...], identical: bool, comment: str | None, as_json: bool
) -> None:
    """Approve the call, for one use. Several requests are decided one by one."""
    if identical or len(approval_ids) > 1:
        _decide_many(client, "approve", _whole(client, approval_ids), identical, comment, as_json)
        return
    body: ApproveRequest = {} if comment is None else {"comment": comment}
    _decided(client.send(operations.approve_approval, approval_id_of(client, approval_ids[0]), body), as_json)


@click.command()
@click.argument("approval_ids", nargs=-1, required=True)
@click.option("--identical", is_flag=True, help="Also decide all identical open requests.")
@click.option("--reason", required=True, help="The agent sees it.")
@json_option
@client_option
def deny(client: ApiClient, approval_ids: tuple[str, ...], identical: bool, reason: str, as_json: bool) -> None:
    """Deny the call. Several requests are decided one by one."""
    if identical or len(approval_ids) > 1:
        _decide_many(client, "deny", _whole(client, approval_ids), identical, reason, as_json)
        return
    approval_id = approval_id_of(client, approval_ids[0])
    _decided(client.send(operations.deny_approval, approval_id, {"reason": reason}), as_json)


@click.command()
@click.argument("approval_id")
@bounds_options
@click.option("--comment", help="Recorded in the audit log with the approval.")
@json_option
@runtime_file_option
def grant(
    approval_id: str,
    uses: int,
    duration: str,
    reason: str,
    conditions: tuple[str, ...],
    sum_bound: str | None,
    comment: str | None,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Approve the call and similar calls. Without --where, only identical calls."""
    body = bounds_body(uses, duration, reason, sum_bound)
    if conditions:
        body["conditions"] = conditions_body(conditions)
    if comment is not None:
        body["comment"] = comment
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.grant_approval, approval_id_of(client, approval_id), cast("ApproveAndGrant", body))
    if as_json:
        show_json(answer)
        return
    click.echo(f"{safe(answer['approval_id'])} is {safe(answer['status'])}; {said(answer['grant'])}")


def _whole(client: ApiClient, approval_ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(approval_id_of(client, one) for one in approval_ids)


def _decide_many(
    client: ApiClient,
    decision: VoteDecision,
    approval_ids: tuple[str, ...],
    identical: bool,
    reason: str | None,
    as_json: bool,
) -> None:
    """Exit status 1 where one or more could not be decided."""
    if identical and len(approval_ids) > 1:
        raise click.UsageError("--identical requires exactly one approval")
    body: BulkDecisionRequest = {"decision": decision}
    if identical:
        body["identical_to"] = approval_ids[0]
    else:
        body["ids"] = list(approval_ids)
    if reason is not None:
        body["reason"] = reason
    answer = client.send(operations.decide_approvals, body)
    if as_json:
        show_json(answer)
    else:
        for one in answer["results"]:
            if one["error"] is None:
                click.echo(f"{safe(one['id'])} is {safe(one['status'])}")
            else:
                click.echo(f"{safe(one['id'])} was not decided: {safe(one['error']['message'])}", err=True)
    if answer["failed"]:
        sys.exit(1)


def _decided(answer: ApprovedAnswer | DeniedAnswer, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    votes = (
        f" ({answer['current_approvals']} of {answer['required_approvals']})" if answer["status"] == "pending" else ""
    )
    click.echo(f"{safe(answer['id'])} is {safe(answer['status'])}{votes}")
