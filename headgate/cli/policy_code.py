"""``headgate policy pull|push|import``: policies as files under version control."""

import sys
from pathlib import Path
from typing import BinaryIO, Final

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.policy_remote import apply_all, apply_step, read_remote
from headgate.cli.policy_write import write_folder
from headgate.cli.tables import safe, show_json, show_json_line
from headgate.cli.target import find_target, result_option, runtime_file_option
from headgate.kernel.errors import ValidationError
from headgate.policies.suites.bundle import read_bundle
from headgate.policies.suites.folder import read_folder
from headgate.policies.suites.model import Suite
from headgate.policies.suites.plan import Remote, Step, gone, plan

_FOLDER: Final = click.argument("folder", type=click.Path(path_type=Path, file_okay=False, exists=True))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--dry-run", is_flag=True, help="Show the changes without writing them.")
@click.option("--delete", is_flag=True, help="Remove files of objects that the organization does not have.")
@result_option
@runtime_file_option
def pull(folder: Path, dry_run: bool, delete: bool, as_json: bool, runtime_file: Path | None) -> None:
    """Write the organization's policies, data documents and modules to FOLDER. Does not change tests and cases."""
    remote = read_remote(ApiClient(find_target(runtime_file), is_patient=True))
    changes = list(write_folder(folder, remote, delete=delete, dry_run=dry_run))
    if as_json:
        show_json({"files": [{"change": verb, "file": str(file)} for verb, file in changes], "dry_run": dry_run})
        return
    for verb, file in changes:
        click.echo(f"{verb} {safe(file)}")
    if not changes:
        click.echo("nothing to write")


@click.command()
@_FOLDER
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@click.option("--delete", is_flag=True, help="Delete policies, documents and modules that are not in FOLDER.")
@click.option("--note", help="Note for the version history.")
@click.option("--one-by-one", is_flag=True, help="Send each change separately, if all are too large for one request.")
@result_option
@runtime_file_option
def push(
    folder: Path,
    dry_run: bool,
    delete: bool,
    note: str | None,
    one_by_one: bool,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Change the organization's policies, data documents and modules to match FOLDER.

    Matches policies by name. Does not change objects that are already the same. All changes take effect at the same
    time or not at all: if the API refuses one change, it refuses all. The API also checks a dry run.
    """
    client = ApiClient(find_target(runtime_file), is_patient=True)
    local, remote = read_folder(folder), read_remote(client)
    steps = plan(local, remote, delete=delete)
    _apply(client, steps, note, dry_run=dry_run, one_by_one=one_by_one, as_json=as_json)
    _show_left_alone(local, remote, delete=delete)


def show_folder_diff(folder: Path, *, delete: bool, runtime_file: Path | None) -> None:
    """What push would change, as unified diffs; status 1 where that is anything."""
    client = ApiClient(find_target(runtime_file), is_patient=True)
    local, remote = read_folder(folder), read_remote(client)
    steps = plan(local, remote, delete=delete)
    for step in steps:
        click.echo(f"{step.verb} {step.kind} {safe(step.name)}")
        for line in step.diff.splitlines():
            click.echo(safe(line.expandtabs(4)))
    _show_left_alone(local, remote, delete=delete)
    if steps:
        sys.exit(1)
    click.echo("no difference")


@click.command("import")
@click.argument("bundle", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@click.option("--note", help="Note for the version history.")
@result_option
@runtime_file_option
def import_bundle(bundle: BinaryIO, dry_run: bool, note: str | None, as_json: bool, runtime_file: Path | None) -> None:
    """Add the policies, data and lib.* modules of an OPA bundle (bundle.tar.gz).

    Each file becomes a policy, named after its package. A policy cannot read the rules of another policy, so shared
    rules of a bundle must be in packages lib.…. Adds nothing unless everything compiles.
    """
    from headgate.cli.policy_lint import lint_suite  # noqa: PLC0415 - the others try no policy

    suite = read_bundle(bundle.read())
    errors, _ = lint_suite(suite)
    if errors:
        raise ValidationError("\n".join(["nothing was imported:", *errors]))
    client = ApiClient(find_target(runtime_file), is_patient=True)
    _apply(client, plan(suite, read_remote(client), delete=False), note, dry_run=dry_run, as_json=as_json)


def _apply(
    client: ApiClient,
    steps: list[Step],
    note: str | None,
    *,
    dry_run: bool,
    as_json: bool,
    one_by_one: bool = False,
) -> None:
    """As JSON, a line for each change: where they are made one by one, the later ones may be refused."""
    show = _show_step_as_json if as_json else _show_step
    if not steps and not as_json:
        click.echo("nothing to change")
    elif one_by_one:
        for step in steps:
            show(step, [] if dry_run else apply_step(client, step, note), dry_run=dry_run)
    elif steps:
        for step, warnings in zip(steps, apply_all(client, steps, note, dry_run=dry_run), strict=True):
            show(step, warnings, dry_run=dry_run)


def _show_left_alone(local: Suite, remote: Remote, *, delete: bool) -> None:
    """What the organization has beyond the folder, which nobody sees in what was changed."""
    if not delete:
        for step in gone(local, remote):
            click.echo(f"not in the folder, kept (delete with --delete): {step.kind} {safe(step.name)}", err=True)


def _show_step_as_json(step: Step, warnings: list[str], *, dry_run: bool) -> None:
    show_json_line(
        {
            "change": step.verb.value, "kind": step.kind.value, "name": step.name, "id": step.policy_id,
            "warnings": warnings, "dry_run": dry_run,
        }
    )  # fmt: skip


def _show_step(step: Step, warnings: list[str], *, dry_run: bool) -> None:
    click.echo(f"{'would ' if dry_run else ''}{step.verb} {step.kind} {safe(step.name)}")
    for warning in warnings:
        click.echo(f"  warning: {safe(warning)}", err=True)
