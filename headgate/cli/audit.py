"""``headgate audit``: whether the record is what was recorded, and proofs of it for others."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.audit_events import export_events, list_events, show_event
from headgate.cli.audit_keys import key
from headgate.cli.audit_set_aside import set_aside
from headgate.cli.audit_verdict import NotLookedAtError, show_verification
from headgate.cli.audit_verification import verify_by_api
from headgate.cli.client_option import client_option
from headgate.cli.named_id import ACTION, id_of
from headgate.cli.progress import progress_bar
from headgate.cli.tables import safe, show_json, show_json_line, show_table
from headgate.cli.target import find_target, json_option, result_option, runtime_file_option
from headgate.client import operations
from headgate.kernel.errors import HeadgateError, ValidationError
from headgate.kernel.secrets import Secret

if TYPE_CHECKING:
    from headgate.client.types import VerifyRequest


@click.group()
def audit() -> None:
    """Read, verify and export the audit log; proof packs."""


audit.add_command(list_events)
audit.add_command(show_event)
audit.add_command(export_events)
audit.add_command(key)
audit.add_command(set_aside)


@audit.command("pack")
@click.argument("action_id")
@click.option(
    "--output", type=click.Path(path_type=Path), help="Output file. Default: ACTION_ID.zip in the current folder."
)
@result_option
@client_option
def proof_pack(client: ApiClient, action_id: str, output: Path | None, as_json: bool) -> None:
    """Fetch the proof pack of an action."""
    action_id = id_of(client, ACTION, action_id)
    content = client.send(operations.get_audit_action_proof_pack, action_id)
    path = output or Path(f"{Path(action_id).name}.zip")
    path.write_bytes(content)
    if as_json:
        show_json({"file": str(path), "bytes": len(content)})
        return
    click.echo(f"{safe(path)}: {len(content)} bytes. Verify it: headgate verify {safe(path)} --key KEY")
    click.echo("headgate audit key show prints KEY. Give KEY to the verifier in advance.", err=True)


@audit.command()
@click.option("--start", "start_date", help="Only events sealed at or after this time (ISO 8601).")
@click.option("--end", "end_date", help="Only events sealed up to this time (ISO 8601).")
@click.option(
    "--checkpoints",
    "kept",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="A file or folder of exported checkpoints. The log must still contain the events that they cover, unchanged.",
)
@click.option(
    "--database-url",
    envvar="HEADGATE_AUDITOR_DATABASE_URL",
    help="Read this database instead of the API (HEADGATE_AUDITOR_DATABASE_URL).",
)
@click.option("--key", "keys", multiple=True, help="With --database-url: a verifier key, or a file of them.")
@click.option("--organization", help="With --database-url: the organization of the log. Default: the first one.")
@click.option("--segments", default=1, type=click.IntRange(1, 64), help="With --database-url: the number of processes.")
@json_option
@runtime_file_option
def verify(
    start_date: str | None,
    end_date: str | None,
    kept: tuple[Path, ...],
    database_url: str | None,
    keys: tuple[str, ...],
    organization: str | None,
    segments: int,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Verify the audit log: hash chain, signed checkpoints and tables. Exit status 1: invalid. 2: not verified, because
    the log was unreadable or no event was sealed between --start and --end.

    By default the API verifies, with the keys of the instance. For an independent check, read the database:
    --database-url (the role headgate_auditor is sufficient) with --key and --checkpoints that you stored elsewhere.
    """
    try:
        texts = read_checkpoints(kept)
        if database_url is not None:
            from headgate.cli.audit_database import verify_database  # noqa: PLC0415 - loads the database's driver

            answer: Mapping[str, Any] = verify_database(
                Secret(database_url), organization, texts, keys, start_date, end_date, segments=segments
            )
        else:
            dates = (("start_date", start_date), ("end_date", end_date))
            body = {name: value for name, value in dates if value is not None} | {"checkpoints": texts}
            answer = verify_by_api(ApiClient(find_target(runtime_file), is_patient=True), cast("VerifyRequest", body))
    except HeadgateError as error:
        raise NotLookedAtError(error.message) from error
    show_verification(answer, as_json)


@audit.command("export")
@click.option("--from", "start_date", help="Only actions submitted at or after this time (ISO 8601).")
@click.option("--to", "end_date", help="Only actions submitted up to this time (ISO 8601).")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="A folder, or a file for --bundle.")
@click.option("--bundle", is_flag=True, help="One ZIP of all packs instead of a folder.")
@result_option
@runtime_file_option
def export(
    start_date: str | None, end_date: str | None, output: Path, bundle: bool, as_json: bool, runtime_file: Path | None
) -> None:
    """Export the proof packs of many actions, with a manifest."""
    from headgate.cli.audit_export import actions_between, fetch_packs, write_bundle, write_folder  # noqa: PLC0415

    client = ApiClient(find_target(runtime_file), is_patient=True)
    action_ids = actions_between(client, start_date, end_date)
    write = write_bundle if bundle else write_folder
    with progress_bar(len(action_ids), "packs") as progress:
        packs = fetch_packs(client, action_ids, progress)
        count = write(packs, output, {"from": start_date, "to": end_date})
    if as_json:
        show_json({"file": str(output), "packs": count})
        return
    click.echo(f"{safe(output)}: {count} proof packs. Verify them: headgate audit inspect {safe(output)} --key KEY")


@audit.command("inspect")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--key", "keys", multiple=True, required=True, help="A verifier key of the service, or a file of them.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, one object per line.")
def inspect_export(path: Path, keys: tuple[str, ...], as_json: bool) -> None:
    """Verify and list the proof packs of an export. Exit status 1 if one is invalid. Needs no instance."""
    from headgate.cli.audit_export import inspect  # noqa: PLC0415 - loaded by this command only
    from headgate.evidence.pack_verifier import InvalidError, RefusedError, read_keys  # noqa: PLC0415

    try:
        found = list(inspect(path, read_keys(keys)))
    except (InvalidError, RefusedError) as error:
        raise ValidationError(str(error)) from error
    bad = [one for one in found if one.report is None]
    if as_json:
        for one in found:
            show_json_line(one.report or {"valid": False, "file": one.name, "reason": one.reason})
    else:
        columns = ("action", "tool", "decision", "status", "submitted")
        names = ("action_id", "tool", "decision", "status", "created_at")
        show_table(columns, [[one.report[name] for name in names] for one in found if one.report is not None])
        for one in bad:
            click.echo(f"NOT VALID: {safe(one.name)}: {safe(one.reason)}", err=True)
    if bad:
        sys.exit(1)


@audit.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--key", "keys", multiple=True, required=True, help="A verifier key of the service, or a file of them.")
@click.option(
    "--database-url",
    envvar="HEADGATE_OWNER_DATABASE_URL",
    required=True,
    help="URL of an empty database, for its owner role (HEADGATE_OWNER_DATABASE_URL).",
)
@result_option
def import_packs(path: Path, keys: tuple[str, ...], database_url: str, as_json: bool) -> None:
    """Import an export into an empty database, to read it with a separate API. The data is read-only.

    Verifies all packs first. Imports nothing if a pack is invalid or the database is not empty.
    """
    from headgate.cli.audit_import import import_export  # noqa: PLC0415 - loads the database's driver
    from headgate.evidence.pack_verifier import InvalidError, RefusedError, read_keys  # noqa: PLC0415

    try:
        trusted = read_keys(keys)
    except (InvalidError, RefusedError) as error:
        raise ValidationError(str(error)) from error
    record = import_export(path, trusted, Secret(database_url))
    if as_json:
        show_json({"org_id": record.org_id, "actions": len(record.actions), "events": len(record.events)})
        return
    click.echo(
        f"{len(record.actions)} actions and {len(record.events)} events of {safe(record.org_id)} imported, read-only"
    )


@audit.command()
@click.option("--key", "keys", multiple=True, required=True, help="A verifier key of the service, or a file of them.")
@click.option(
    "--keep", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder for the checkpoints."
)
@click.option("--interval", default=10, show_default=True, type=click.IntRange(1), help="Seconds between two checks.")
@click.option("--once", is_flag=True, help="Check once and exit, for a scheduler.")
@click.option("--json", "as_json", is_flag=True, help="Print each new checkpoint as one line of JSON.")
@runtime_file_option
def monitor(
    keys: tuple[str, ...], keep: Path, interval: int, once: bool, as_json: bool, runtime_file: Path | None
) -> None:
    """Follow and store a service's checkpoints. Exit status 1, with the reason, if one contradicts an earlier one.

    Run it on a machine that the service's administrators do not control.
    """
    from headgate.cli.audit_monitor import Monitor  # noqa: PLC0415 - loaded by this command only
    from headgate.evidence.note import parse_verifier_key  # noqa: PLC0415

    trusted = [parse_verifier_key(one) for one in _key_texts(keys)]
    client = ApiClient(find_target(runtime_file))
    # Who looks once has nobody to wait for: no answer is an alarm, and not "nothing was signed".
    watching = Monitor(client, trusted, keep, patience_seconds=0) if once else Monitor(client, trusted, keep)
    shown: int | None = None
    while True:
        seen = watching.look()
        if as_json and seen is not None and seen.size != shown:
            shown = seen.size
            show_json_line({"origin": seen.origin, "size": seen.size, "root": seen.root.hex()})
        if once and as_json:
            return
        if once:
            click.echo(
                "no checkpoint is signed yet"
                if seen is None
                else f"{seen.size} events, consistent with all earlier checkpoints"
            )
            return
        time.sleep(interval)


@audit.command("accept-restore")
@click.argument("event_id")
@click.option("--key", "keys", multiple=True, required=True, help="A verifier key of the service, or a file of them.")
@click.option(
    "--keep",
    required=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with the checkpoints of a monitor, a witness, or a worker (DATA/evidence/signed).",
)
@result_option
@runtime_file_option
def accept_restore(event_id: str, keys: tuple[str, ...], keep: Path, as_json: bool, runtime_file: Path | None) -> None:
    """Accept that a restore from a backup lost events, which the log proves with the event EVENT_ID.

    Checkpoints in the folder that cover lost events are renamed (.lost-EVENT_ID), and monitor, witness and verify go on
    without them. Exit status 1 if the restore does not explain all differences: then nothing is renamed.
    """
    from headgate.cli.audit_monitor import Monitor  # noqa: PLC0415 - loaded by this command only
    from headgate.evidence.note import parse_verifier_key  # noqa: PLC0415

    trusted = [parse_verifier_key(one) for one in _key_texts(keys)]
    restore, lost = Monitor(ApiClient(find_target(runtime_file)), trusted, keep).accept(event_id)
    if as_json:
        show_json({"event_id": restore.event_id, "head_seq": restore.head_seq, "set_aside": [str(one) for one in lost]})
        return
    click.echo(f"accepted: {safe(restore.describe())}; {len(lost)} checkpoints of lost events set aside")


def _key_texts(given: Iterable[str]) -> list[str]:
    return [line for one in given for line in (Path(one).read_text("utf-8") if Path(one).is_file() else one).split()]


def read_checkpoints(paths: Iterable[Path]) -> list[str]:
    """Every file, and every file below every folder that is called like a checkpoint. Raises ValidationError for a
    folder without any: the record would seem to agree with what was never read."""
    texts: list[str] = []
    for path in paths:
        files = sorted(path.rglob("*.checkpoint")) if path.is_dir() else [path]
        if not files:
            raise ValidationError(f"{path} contains no checkpoint. Checkpoint files have names that end in .checkpoint")
        texts += [one.read_text("utf-8") for one in files]
    return texts
