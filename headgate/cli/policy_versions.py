"""``headgate policy update|versions|diff|restore``: changing a policy, and what it was before."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import click

from headgate.cli.actor_text import actor_text
from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.policy_cases import case_members, case_options
from headgate.cli.policy_file import complaints_about
from headgate.cli.policy_name import policy_id_of
from headgate.cli.policy_warnings import show_warnings
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import ActorAnswer, PolicyChange, Restoration
    from headgate.kernel.canonical_json import JsonValue


@click.command()
@click.argument("policy")
@click.option("--file", type=click.File("r", encoding="utf-8"), help="The new Rego; - for standard input.")
@click.option("--name")
@click.option("--description")
@click.option("--priority", type=click.IntRange(0, 1000))
@click.option("--enable/--disable", "enabled", default=None)
@click.option("--mode", type=click.Choice(["enforce", "shadow"]))
@click.option("--release", is_flag=True, help="Release a quarantined policy, so that it is evaluated.")
@click.option("--version", type=click.IntRange(1), help="Refuse if this is no longer the newest version.")
@case_options
@click.option("--note", help="Note for the version history.")
@json_option
@runtime_file_option
def update(
    policy: str,
    file: TextIO | None,
    release: bool,
    cases: TextIO | None,
    accept_failing_cases: bool,
    note: str | None,
    as_json: bool,
    runtime_file: Path | None,
    **fields: object,
) -> None:
    """Change a policy. Options that you omit keep their values."""
    body = {name: value for name, value in fields.items() if value is not None}
    if file is not None:
        body["rego_policy"] = file.read()
    if release:
        body["quarantine"] = None
    body |= case_members(cases, accept_failing_cases=accept_failing_cases)
    if note is not None:
        body["change_note"] = note
    client = ApiClient(find_target(runtime_file))
    policy_id = policy_id_of(client, policy)
    with complaints_about(file):
        answer = client.send(operations.update_policy, policy_id, cast("PolicyChange", body))
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer['id']} is at version {answer['version']}")
    show_warnings(answer, file=file)


@click.command()
@click.argument("policy")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def versions(client: ApiClient, policy: str, limit: int, as_json: bool) -> None:
    """List the versions of a policy, newest first. Use the id for a deleted policy."""
    answer = client.send(operations.list_policy_versions, policy_id_of(client, policy), limit=limit)
    if as_json:
        show_json(answer)
        return
    show_table(
        ("VERSION", "CHANGE", "WHEN", "WHO", "NOTE"),
        (
            (one["version"], one["change"], one["changed_at"], _who(one["changed_by"]), one["change_note"])
            for one in answer["data"]
        ),
    )


@click.command()
@click.argument("target")
@click.option("--from", "from_version", type=click.IntRange(1), help="Default: the version before --to.")
@click.option("--to", "to_version", type=click.IntRange(1), help="Default: the newest.")
@click.option("--delete", is_flag=True, help="For a folder: also show what push --delete would delete.")
@json_option
@runtime_file_option
def diff(
    target: str,
    from_version: int | None,
    to_version: int | None,
    delete: bool,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Show the changes between two versions of a policy or, if TARGET is a folder, the changes that push would make."""
    if Path(target).is_dir():
        from headgate.cli.policy_code import show_folder_diff  # noqa: PLC0415 - the others read no folder

        show_folder_diff(Path(target), delete=delete, runtime_file=runtime_file)
        return
    client = ApiClient(find_target(runtime_file))
    policy_id = policy_id_of(client, target)
    if to_version is None:
        to_version = client.send(operations.list_policy_versions, policy_id, limit=1)["data"][0]["version"]
    before = from_version or max(1, to_version - 1)
    answer = client.send(operations.get_policy_diff, policy_id, from_=before, to=to_version)
    if as_json:
        show_json(answer)
        return
    for name, change in answer["changes"].items():
        if name == "cases":
            _show_cases(change["from"], change["to"])
            continue
        click.echo(f"{name}: {safe(change['from'])} -> {safe(change['to'])}")
    for line in answer["diff"].splitlines():
        click.echo(safe(line.expandtabs(4)))


@click.command()
@click.argument("policy")
@json_option
@client_option
def index(client: ApiClient, policy: str, as_json: bool) -> None:
    """Show for which calls the index evaluates a policy, derived from its source."""
    answer = client.send(operations.get_policy_index, policy_id_of(client, policy))
    if as_json:
        show_json(answer)
        return
    rows = [("asked", answer["asked"]), *answer["says"].items()]
    show_table(("WHEN IT", "CALLS"), rows)


@click.command()
@click.argument("policy")
@click.argument("version", type=click.IntRange(1))
@click.option("--note", help="Note for the version history.")
@json_option
@runtime_file_option
def restore(policy: str, version: int, note: str | None, as_json: bool, runtime_file: Path | None) -> None:
    """Restore the content of VERSION as the newest version. Use the id to recover a deleted policy."""
    body: Restoration = {"version": version}
    if note is not None:
        body["change_note"] = note
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.restore_policy, policy_id_of(client, policy), body)
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer['id']} is at version {answer['version']}, with the content of version {version}")
    show_warnings(answer)


def _show_cases(before: JsonValue, after: JsonValue) -> None:
    """Line by line: all cases in one line would hide what changed in one of them."""
    from headgate.policies.suites.bundle import shown_json  # noqa: PLC0415 - for this alone

    old, new = shown_json(before).splitlines(), shown_json(after).splitlines()
    for line in unified_diff(old, new, "before/cases", "after/cases", lineterm=""):
        click.echo(safe(line))


def _who(actor: ActorAnswer | None) -> str:
    return "" if actor is None else actor_text(actor)
