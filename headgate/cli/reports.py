"""``headgate reports``: reports about the record, for auditors and for programs."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from headgate.cli.actor_text import People
from headgate.cli.api_client import ApiClient, ApiError
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.named_id import REPORT, id_of
from headgate.cli.progress import progress_bar
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import json_option, result_option
from headgate.client import operations
from headgate.reports.model import ReportFormat, ReportStatus, ReportType, Section

if TYPE_CHECKING:
    from headgate.client.types import NewReport, ReportAnswer

_PAUSE_SECONDS: Final = 0.5
_PERCENT: Final = 100
_output_option = click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Output file. Default: the report's name in the current folder.",
)


@click.group()
def reports() -> None:
    """Reports on the audit log: create, list, show, download."""


@reports.command()
@click.argument("report_type", metavar="TYPE", type=click.Choice([one.value for one in ReportType]))
@click.option(
    "--format", "form", type=click.Choice([one.value for one in ReportFormat]), default="pdf", show_default=True
)
@click.option(
    "--from", "start_date", help="Only events sealed at or after this time (ISO 8601). Default: the first event."
)
@click.option("--to", "end_date", help="Only events sealed up to this time (ISO 8601). Default: now.")
@click.option(
    "--include", multiple=True, type=click.Choice([one.value for one in Section]),
    help="A section of the report. Repeatable. Default: the standard sections of the type.",
)  # fmt: skip
@click.option(
    "--checkpoint", type=click.IntRange(1), help="Base the report on the checkpoint with this number of events."
)
@_output_option
@click.option("--no-wait", is_flag=True, help="Create the report and do not wait for it.")
@json_option
@client_option
def create(
    client: ApiClient,
    report_type: str,
    form: str,
    start_date: str | None,
    end_date: str | None,
    include: tuple[str, ...],
    checkpoint: int | None,
    output: Path | None,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Create a report and download it. TYPE is compliance, activity, approvals, policy_changes or access."""
    body = {
        "type": report_type, "format": form, "start_date": start_date, "end_date": end_date,
        "include": list(include) or None, "checkpoint_size": checkpoint,
    }  # fmt: skip
    given = {name: value for name, value in body.items() if value is not None}
    report = client.send(operations.create_audit_report, cast("NewReport", given))
    if not no_wait:
        report = _waited(client, report)
    if as_json:
        show_json(report)
    if no_wait:
        if not as_json:
            click.echo(
                f"{safe(report['id'])}: download it when it is ready: headgate reports download {safe(report['id'])}"
            )
        return
    if report["status"] == "failed":
        raise ApiError(f"the report {report['id']} failed: {report['error']}")
    written = _written(client, report, output)
    if not as_json:
        click.echo(f"{safe(written)}: {report['size_bytes']} bytes, {safe(report['sha256'])}")
        click.echo(_rests_on(report))


@reports.command("list")
@click.option("--type", "report_type", type=click.Choice([one.value for one in ReportType]))
@click.option("--status", type=click.Choice([one.value for one in ReportStatus]))
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, report_type: str | None, status: str | None, limit: int, as_json: bool) -> None:
    """List reports, newest first."""
    answer = client.send(operations.list_audit_reports, type=report_type, status=status, limit=limit)
    if as_json:
        show_json(answer)
    elif not answer["data"]:
        click.echo("no reports. Create one with headgate reports create compliance")
    else:
        show_table(
            ("REPORT", "TYPE", "FORMAT", "FROM", "TO", "STATUS", "CHECKPOINT"),
            (
                (
                    one["id"], one["type"], one["format"], (one["start_date"] or "first event")[:11].rstrip("T"),
                    one["end_date"][:10], _status(one), "" if one["checkpoint"] is None else one["checkpoint"]["size"],
                )
                for one in answer["data"]
            ),
        )  # fmt: skip


@reports.command()
@click.argument("report_id")
@json_option
@client_option
def show(client: ApiClient, report_id: str, as_json: bool) -> None:
    """Show the progress of a report and its checkpoint."""
    report = client.send(operations.get_audit_report, id_of(client, REPORT, report_id))
    if as_json:
        show_json(report)
        return
    asked_by = People(client).text(report["created_by"])
    events = None if report["first_event"] is None else f"{report['first_event']} to {report['last_event']}"
    show_fields(
        [
            ("report", report["id"]), ("type", f"{report['type']}, {report['format']}"), ("status", _status(report)),
            ("from", report["start_date"] or "the first event"), ("to", report["end_date"]),
            ("include", ", ".join(report["include"])), ("events", events),
            ("asked for by", f"{asked_by}, {report['created_at']}"), ("bytes", report["size_bytes"]),
            ("sha256", report["sha256"]), ("error", report["error"]),
        ]
    )  # fmt: skip
    if report["status"] == "ready":
        click.echo(_rests_on(report))


@reports.command()
@click.argument("report_id")
@_output_option
@result_option
@client_option
def download(client: ApiClient, report_id: str, output: Path | None, as_json: bool) -> None:
    """Download a report. Waits until it is ready."""
    report = _waited(client, client.send(operations.get_audit_report, id_of(client, REPORT, report_id)))
    if report["status"] == "failed":
        raise ApiError(f"the report failed: {report['error']}")
    written = _written(client, report, output)
    if as_json:
        show_json({"file": str(written), "bytes": report["size_bytes"], "sha256": report["sha256"]})
        return
    click.echo(f"{safe(written)}: {report['size_bytes']} bytes, {safe(report['sha256'])}")


@reports.command()
@click.argument("report_id")
@yes_option
@json_option
@client_option
def delete(client: ApiClient, report_id: str, yes: bool, as_json: bool) -> None:
    """Delete a report with its file. The audit log still shows that it existed."""
    report_id = id_of(client, REPORT, report_id)
    confirm(f"Delete the report {safe(report_id)} with its file?", yes=yes)
    answer = client.send(operations.delete_audit_report, report_id)
    if as_json:
        show_json(answer)
        return
    click.echo(f"deleted {safe(report_id)}")


def _waited(client: ApiClient, report: ReportAnswer) -> ReportAnswer:
    shown = 0
    with progress_bar(_PERCENT, "creating the report") as progress:
        while report["status"] in ("queued", "running"):
            time.sleep(_PAUSE_SECONDS)
            report = client.send(operations.get_audit_report, report["id"])
            progress(report["progress"]["percent"] - shown)
            shown = report["progress"]["percent"]
    return report


def _written(client: ApiClient, report: ReportAnswer, output: Path | None) -> Path:
    """Whole or not at all: the digest is compared before the file gets its name. Raises ApiError."""
    path = output or Path(report["file_name"])
    digest = hashlib.sha256()
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in client.pieces(operations.get_audit_report_download, report["id"]):
                digest.update(piece)
                file.write(piece)
        if f"sha256:{digest.hexdigest()}" != report["sha256"]:
            raise ApiError("The downloaded file is damaged: its SHA-256 differs from the report's.")
        Path(draft).replace(path)
    finally:
        Path(draft).unlink(missing_ok=True)
    return path


def _status(report: ReportAnswer) -> str:
    if report["status"] == "running":
        return f"{report['progress']['stage']}, {report['progress']['percent']}%"
    return str(report["status"])


def _rests_on(report: ReportAnswer) -> str:
    checkpoint = report["checkpoint"]
    if checkpoint is None:
        return "it is not based on a signed checkpoint. Is a worker signing? (headgate audit key)"
    return f"it is based on the checkpoint of {checkpoint['size']} events, root {safe(checkpoint['root'])}"
