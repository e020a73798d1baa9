"""``headgate approvals``: what waits for a human, and the decision."""

from pathlib import Path

import click

from headgate.cli.api_client import ApiClient, Document
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option


@click.group()
def approvals() -> None:
    """List, show and decide what waits for a human."""


@approvals.command("list")
@click.option(
    "--status",
    type=click.Choice(["pending", "approved", "denied", "expired", "all"]),
    default="pending",
    show_default=True,
)
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@json_option
@runtime_file_option
def list_all(status: str, limit: int, as_json: bool, runtime_file: Path | None) -> None:
    """List approvals, newest first."""
    wanted = {"status": None if status == "all" else status, "limit": limit}
    answer = ApiClient(find_target(runtime_file)).get("/v1/approvals", wanted)
    if as_json:
        show_json(answer)
        return
    if not answer["data"]:
        click.echo("nothing waits (--status all: what was decided, too)" if status == "pending" else "none")
        return
    show_table(
        ("APPROVAL", "STATUS", "RISK", "CALL", "WHY", "EXPIRES"),
        (
            (
                one["id"],
                one["status"],
                one["decision"]["risk_level"],
                _call(one["action"]),
                one["decision"]["reason"],
                one["expires_at"][:19],
            )
            for one in answer["data"]
        ),
    )


@approvals.command()
@click.argument("approval_id")
@json_option
@runtime_file_option
def show(approval_id: str, as_json: bool, runtime_file: Path | None) -> None:
    """Show one approval with the whole call that it would let through."""
    answer = ApiClient(find_target(runtime_file)).get(f"/v1/approvals/{approval_id}")
    if as_json:
        show_json(answer)
        return
    show_fields(
        [
            ("approval", answer["id"]),
            ("status", answer["status"]),
            ("action", answer["action_id"]),
            ("agent", answer["agent_id"]),
            ("call", _call(answer["action"])),
            ("why", answer["decision"]["reason"]),
            ("risk", answer["decision"]["risk_level"]),
            ("policy", answer["decision"]["policy_id"]),
            ("approvals", f"{answer['current_approvals']} of {answer['required_approvals']}"),
            ("repeats", answer["repeats"]),
            ("expires", answer["expires_at"]),
            *((entry["event"], told(entry)) for entry in answer["history"] if entry["event"] != "requested"),
        ]
    )
    show_json(answer["action"]["params"])


@approvals.command()
@click.argument("approval_id")
@click.option("--comment", help="Kept in the record.")
@json_option
@runtime_file_option
def approve(approval_id: str, comment: str | None, as_json: bool, runtime_file: Path | None) -> None:
    """Let the call through, once."""
    body = {} if comment is None else {"comment": comment}
    _decided(ApiClient(find_target(runtime_file)).post(f"/v1/approvals/{approval_id}/approve", body), as_json)


@approvals.command()
@click.argument("approval_id")
@click.option("--reason", required=True, help="The agent is told it.")
@json_option
@runtime_file_option
def deny(approval_id: str, reason: str, as_json: bool, runtime_file: Path | None) -> None:
    """Refuse the call."""
    _decided(
        ApiClient(find_target(runtime_file)).post(f"/v1/approvals/{approval_id}/deny", {"reason": reason}), as_json
    )


def _decided(answer: Document, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    votes = (
        f" ({answer['current_approvals']} of {answer['required_approvals']})" if answer["status"] == "pending" else ""
    )
    click.echo(f"{safe(answer['id'])} is {safe(answer['status'])}{votes}")


def told(entry: Document) -> str:
    """What happened to an approval after it was asked for: when, by whom, and what they said."""
    by = entry["by"]
    who = "" if by is None else f" by {by['email'] or by['id']}"
    said = f": {entry['reason']}" if entry["reason"] else ""
    return f"{entry['at']}{who}{said}"


def _call(action: Document) -> str:
    params = action["params"]
    where = f" {params['host']}{params.get('path', '')}" if isinstance(params.get("host"), str) else ""
    return f"{action['tool']}.{action['operation']}{where}"
