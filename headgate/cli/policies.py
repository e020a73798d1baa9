"""``headgate policy``: the rule policies of the organization."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.lazy_group import LazyGroup, Place
from headgate.cli.policy_cases import case_members, case_options
from headgate.cli.policy_file import complaints_about
from headgate.cli.policy_name import policy_id_of
from headgate.cli.policy_warnings import show_warnings
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import NewPolicy, PolicyAnswer, PolicyDetailAnswer, ShadowAnswer

_STANDARD_INPUT: Final = "<stdin>"
"""What click calls it."""


_ELSEWHERE: Final[dict[str, Place]] = {
    "diff": (
        "headgate.cli.policy_versions:diff",
        "Show the changes between two versions of a policy or, if TARGET is a folder, the...",
    ),
    "dry-run": (
        "headgate.cli.policy_dry_run:dry_run",
        "Show what all policies together, and each policy alone, would decide about a call.",
    ),
    "enable": (
        "headgate.cli.policy_enable:enable",
        "Enable the content policies of PROFILE, balanced or strict, and create missing ones.",
    ),
    "import": (
        "headgate.cli.policy_code:import_bundle",
        "Add the policies, data and lib.* modules of an OPA bundle (bundle.tar.gz).",
    ),
    "index": (
        "headgate.cli.policy_versions:index",
        "Show for which calls the index evaluates a policy, derived from its source.",
    ),
    "lint": (
        "headgate.cli.policy_lint:lint",
        "Compile and check policies locally, and warn of probable mistakes. PATH is a folder or one file, NAME.rego.",
    ),
    "pull": (
        "headgate.cli.policy_code:pull",
        "Write the organization's policies, data documents and modules to FOLDER.",
    ),
    "push": (
        "headgate.cli.policy_code:push",
        "Change the organization's policies, data documents and modules to match FOLDER.",
    ),
    "replay": (
        "headgate.cli.policy_replay:replay",
        "Evaluate recorded actions again with the current POLICY, with --file instead of it,...",
    ),
    "restore": ("headgate.cli.policy_versions:restore", "Restore the content of VERSION as the newest version."),
    "simulate": (
        "headgate.cli.policy_dry_run:simulate",
        "Show what one policy, one of its versions, or a draft would decide about a call.",
    ),
    "suggest": ("headgate.cli.policy_suggest:suggest", "Suggest a policy that allows only the executed calls."),
    "test": (
        "headgate.cli.policy_test:test",
        "Run the tests of the policies in FOLDER: rules test_…, NAME.cases.yaml, and...",
    ),
    "update": ("headgate.cli.policy_versions:update", "Change a policy."),
    "versions": ("headgate.cli.policy_versions:versions", "List the versions of a policy, newest first."),
}


@click.group(cls=LazyGroup, elsewhere=_ELSEWHERE)
def policy() -> None:
    """Rego policies: add, change, test, compare, restore. POLICY is a name or an id."""


@policy.command("list")
@click.option("--limit", type=click.IntRange(1, 200), default=200, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, limit: int, as_json: bool) -> None:
    """List policies in the order in which they run."""
    answer = client.send(operations.list_policies, limit=limit)
    if as_json:
        show_json(answer)
        return
    rows = sorted(answer["data"], key=lambda one: (one["priority"], one["id"]))
    show_table(
        ("POLICY", "PRIORITY", "STATE", "VERSION", "NAME"),
        ((one["id"], one["priority"], _state(one), one["version"], one["name"]) for one in rows),
    )


@policy.command()
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--name", help="Default: the file name. Required with -.")
@click.option("--description")
@click.option("--priority", type=click.IntRange(0, 1000), help="A lower number runs first. Default: 100.")
@click.option("--disabled", is_flag=True, help="Store the policy disabled.")
@click.option("--shadow", is_flag=True, help="Evaluate it and record its decisions, but do not enforce them.")
@case_options
@click.option("--note", help="Note for the version history.")
@json_option
@runtime_file_option
def add(
    file: TextIO,
    name: str | None,
    description: str | None,
    priority: int | None,
    disabled: bool,
    shadow: bool,
    cases: TextIO | None,
    accept_failing_cases: bool,
    note: str | None,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Add the Rego policy in FILE (- for standard input). It applies from the next call on."""
    if name is None and file.name == _STANDARD_INPUT:
        raise click.UsageError("a policy from standard input requires --name")
    body: dict[str, Any] = {
        "name": name or Path(file.name).stem,
        "rego_policy": file.read(),
        "enabled": not disabled,
    }
    optional = (("description", description), ("priority", priority), ("change_note", note))
    body |= {key: value for key, value in optional if value is not None}
    if shadow:
        body["mode"] = "shadow"
    body |= case_members(cases, accept_failing_cases=accept_failing_cases)
    with complaints_about(file):
        answer = ApiClient(find_target(runtime_file)).send(operations.create_policy, cast("NewPolicy", body))
    if as_json:
        show_json(answer)
        return
    click.echo(f"added {answer['id']}")
    show_warnings(answer, file=file)


@policy.command()
@click.argument("policy")
@json_option
@client_option
def show(client: ApiClient, policy: str, as_json: bool) -> None:
    """Show one policy with its source."""
    answer = client.send(operations.get_policy, policy_id_of(client, policy))
    if as_json:
        show_json(answer)
        return
    show_fields(
        [
            ("policy", answer["id"]),
            ("name", answer["name"]),
            ("description", answer["description"]),
            ("priority", answer["priority"]),
            ("mode", answer["mode"]),
            ("state", _state(answer)),
            ("version", answer["version"]),
            ("test cases", len(answer["cases"])),
            ("quarantine", answer["quarantine"]),
            ("to release it", f"headgate policy update {answer['id']} --release" if answer["quarantine"] else None),
            *_shadow(answer.get("shadow")),
        ]
    )
    click.echo()
    for line in answer["rego_policy"].splitlines():
        click.echo(safe(line.expandtabs(4)))


@policy.command()
@click.argument("policy")
@click.option("--note", help="Note for the version history.")
@yes_option
@json_option
@client_option
def delete(client: ApiClient, policy: str, note: str | None, yes: bool, as_json: bool) -> None:
    """Delete a policy. Its versions are kept, and restore recovers it."""
    policy_id = policy_id_of(client, policy)
    confirm(f"Delete the policy {safe(policy)}?", yes=yes)
    answer = client.send(operations.delete_policy, policy_id, change_note=note)
    if as_json:
        show_json(answer)
        return
    click.echo(f"deleted {policy_id}")


def _shadow(tally: ShadowAnswer | None) -> list[tuple[str, object]]:
    if tally is None:
        return []
    said = ", ".join(f"{count} {verdict}" for verdict, count in tally["said"].items())
    changes = ", ".join(f"{count} {change}" for change, count in tally["changes"].items())
    return [("evaluated for", tally["asked"]), ("said", said), ("would change", changes or "nothing")]


def _state(one: PolicyAnswer | PolicyDetailAnswer) -> str:
    if one["quarantine"] is not None:
        return "quarantined"
    if not one["enabled"]:
        return "disabled"
    return "shadow" if one["mode"] == "shadow" else "enabled"
