"""``headgate policy enable``: the content policies of a profile, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.nlp_policies import all_policies, body_of_template
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import json_option
from headgate.client import operations
from headgate.kernel.errors import NotFoundError

if TYPE_CHECKING:
    from headgate.client.types import NewNlpPolicy, NlpPolicyAnswer, NlpPolicyChange, TemplateAnswer


@click.command()
@click.argument("profile")
@json_option
@client_option
def enable(client: ApiClient, profile: str, as_json: bool) -> None:
    """Enable the content policies of PROFILE, balanced or strict, and create missing ones. A second run changes
    nothing. Policies that you changed keep your changes."""
    existing = {one["name"]: one for one in all_policies(client)}
    done = [_enabled(client, one, existing.get(one["name"])) for one in _templates_of(client, profile)]
    if as_json:
        show_json({"data": [{"id": one["id"], "name": one["name"], "change": change} for one, change in done]})
        return
    show_table(
        ("POLICY", "CHANGE", "ON MATCH", "NAME"), ((p["id"], change, p["on_match"], p["name"]) for p, change in done)
    )


def _enabled(
    client: ApiClient, template: TemplateAnswer, existing: NlpPolicyAnswer | None
) -> tuple[NlpPolicyAnswer, str]:
    if existing is None:
        body = cast("NewNlpPolicy", body_of_template(template) | {"name": template["name"]})
        return client.send(operations.create_nlp_policy, body), "created"
    if existing["enabled"]:
        return existing, "unchanged"
    changed: NlpPolicyChange = {"enabled": True, "version": existing["version"]}
    return client.send(operations.update_nlp_policy, existing["id"], changed), "enabled"


def _templates_of(client: ApiClient, profile: str) -> list[TemplateAnswer]:
    """Raises NotFoundError, which lists the profiles."""
    known = client.send(operations.get_nlp_policies_templates)["data"]
    found = [one for one in known if profile in one["profiles"]]
    if not found:
        names = sorted({name for one in known for name in one["profiles"]})
        raise NotFoundError(
            f"no profile {safe(profile)}. Profiles: {', '.join(names)}. A profile is a set of content policies. To"
            " enable one rule policy: headgate policy update POLICY --enable"
        )
    return found
