"""``headgate nlp list``, ``create`` and ``test``: content policies of an instance."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, cast

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.short_id import is_short, is_whole, matching, the_one
from headgate.cli.tables import safe, show_fields, show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.cli.terminal import colored
from headgate.client import operations
from headgate.kernel.errors import NotFoundError
from headgate.kernel.ids import IdPrefix

if TYPE_CHECKING:
    from headgate.client.types import (
        FindingAnswer,
        NewNlpPolicy,
        NlpPolicyAnswer,
        NlpPolicyType,
        ScopeBody,
        TemplateAnswer,
    )

TYPES: Final = ("content_safety", "pii_detection", "intent_classification", "custom")
"""Those of the API's description (``NlpPolicyType``, which a test compares)."""

_PAGE: Final = 200


@click.command("list")
@json_option
@client_option
def list_policies(client: ApiClient, as_json: bool) -> None:
    """List content policies, oldest first."""
    found = all_policies(client)
    if as_json:
        show_json({"data": found})
        return
    if not found:
        click.echo("no content policies. Create one with headgate nlp create NAME --template pii_hold")
        return
    show_table(
        ("POLICY", "STATE", "TYPE", "MODEL", "THRESHOLD", "ON MATCH", "NAME"),
        (
            (
                one["id"],
                "enabled" if one["enabled"] else "disabled",
                one["type"],
                one["model"],
                one["threshold"],
                one["on_match"],
                one["name"],
            )
            for one in found
        ),
    )


@click.command()
@click.argument("name")
@click.option("--template", metavar="ID", help="Start from this template. An unknown ID lists the templates.")
@click.option("--type", "policy_type", type=click.Choice(TYPES), help="Without --template.")
@click.option("--provider", help="The provider. Default: the embedded models.")
@click.option("--model", help="The provider's model.")
@click.option("--prompt", help="The prompt for a language model.")
@click.option("--threshold", type=click.FloatRange(0, 1, min_open=True))
@click.option("--on-match", type=click.Choice(["deny", "require_approval", "tag", "mask"]))
@click.option("--tool", "tools", multiple=True, help="Only calls of this tool. Repeatable.")
@click.option("--disabled", is_flag=True, help="Create it disabled.")
@json_option
@runtime_file_option
def create(
    name: str,
    template: str | None,
    policy_type: NlpPolicyType | None,
    provider: str | None,
    model: str | None,
    prompt: str | None,
    threshold: float | None,
    on_match: str | None,
    tools: tuple[str, ...],
    disabled: bool,
    as_json: bool,
    runtime_file: Path | None,
) -> None:
    """Create a content policy. It applies to calls from now on."""
    if (template is None) == (policy_type is None):
        raise click.UsageError("give --template or --type")
    client = ApiClient(find_target(runtime_file))
    body: dict[str, object] = {"type": policy_type} if template is None else _from(client, template)
    given = {
        "provider": provider, "model": model, "prompt": prompt, "threshold": threshold, "on_match": on_match,
    }  # fmt: skip
    body |= {key: value for key, value in given.items() if value is not None}
    body |= {"name": name, "enabled": not disabled}
    if tools:
        scope = cast("ScopeBody", body.get("scope", {}))
        body["scope"] = {**scope, "tools": list(tools)}
    answer = client.send(operations.create_nlp_policy, cast("NewNlpPolicy", body))
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer['id']} is {'enabled' if answer['enabled'] else 'disabled'}")
    for warning in answer["warnings"]:
        click.echo(f"warning: {safe(warning)}", err=True)


@click.command()
@click.argument("policy")
@click.argument("file", type=click.File("r", encoding="utf-8"), default="-")
@json_option
@client_option
def test(client: ApiClient, policy: str, file: TextIO, as_json: bool) -> None:
    """Test POLICY, a name or an id, on the text in FILE or standard input. No call is affected."""
    answer = client.send(operations.test_nlp_policy, nlp_policy_id_of(client, policy), {"content": file.read()})
    if as_json:
        show_json(answer)
        return
    details = answer["details"]
    click.echo(colored(safe(answer["decision"])))
    show_fields(
        [
            ("outcome", details["outcome"]),
            ("risk", f"{answer['risk_score']:.2f}"),
            ("reasoning", answer["reasoning"] or None),
            # Findings name their issues themselves.
            ("issues", None if details["findings"] else ", ".join(details["detected_issues"]) or None),
            ("error", None if details["error"] is None else details["error"].replace("_", " ")),
            ("evaluated by", f"{details['provider']} {details['model']}, {answer['latency_ms']:.0f} ms"),
        ]
    )
    if details["findings"]:
        click.echo()
        show_table(("FINDING", "PLACE", "MASKED SAMPLE"), (_finding(one) for one in details["findings"]))


def _finding(one: FindingAnswer) -> tuple[str, str, str]:
    """As the dashboard writes it. A finding without an offset is in the member's name."""
    offset = "" if one["offset"] is None else f":{one['offset']}"
    steps = f" ({', '.join(one['steps'])})" if one["steps"] else ""
    return one["type"].replace("_", " "), f"{one['path']}{offset}{steps}", one["sample"]


def nlp_policy_id_of(client: ApiClient, policy: str) -> str:
    """Raises NotFoundError; ValidationError (several are called so)."""
    if is_whole(IdPrefix.NLP_POLICY, policy):
        return policy
    found = all_policies(client)
    names = {one["id"]: one["name"] for one in found}
    called_so = [(one["id"], one["name"]) for one in found if one["name"] == policy]
    if not called_so and is_short(IdPrefix.NLP_POLICY, policy):
        called_so = [(one, names[one]) for one in matching(IdPrefix.NLP_POLICY, policy, names)]
    return the_one(policy, called_so, what="content policy", listed_by="nlp list")


def all_policies(client: ApiClient) -> list[NlpPolicyAnswer]:
    found: list[NlpPolicyAnswer] = []
    while True:
        page = client.send(operations.list_nlp_policies, limit=_PAGE, offset=len(found))["data"]
        found += page
        if len(page) < _PAGE:
            return found


def _from(client: ApiClient, template: str) -> dict[str, object]:
    """Raises NotFoundError, which lists those that are there."""
    known = {one["id"]: one for one in client.send(operations.get_nlp_policies_templates)["data"]}
    if template not in known:
        lines = "\n".join(f"  {safe(one['id'])}  {safe(one['description'])}" for one in known.values())
        raise NotFoundError(f"no template {safe(template)}. Templates:\n{lines}")
    return body_of_template(known[template])


def body_of_template(found: TemplateAnswer) -> dict[str, object]:
    """What POST /admin/nlp-policies takes, but for the name."""
    kept = (
        "type", "description", "provider", "model", "prompt", "threshold", "on_match", "on_error", "on_unscannable",
        "scope",
    )  # fmt: skip
    values: dict[str, object] = {**found}
    return {key: values[key] for key in kept if values[key] is not None}
