"""``headgate policy suggest``: a policy made from what agents did, written beside its cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from headgate.cli.agent_name import agent_id_if_named
from headgate.cli.api_client import ApiClient
from headgate.cli.tables import safe, show_json
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import SuggestBody


@click.command()
@click.option("--agent", metavar="NAME|ID", help="Default: each agent separately.")
@click.option("--name", default="Suggested", show_default=True)
@click.option("--from", "start_date", help="ISO 8601. Default: one week before --to.")
@click.option("--to", "end_date", help="ISO 8601. Default: now.")
@click.option("--precision", type=click.Choice(["exact", "fields"]), default="exact", show_default=True)
@click.option("--minimum", type=click.IntRange(1), default=1, help="Omit calls that were recorded fewer times.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write FILE.rego and FILE.cases.yaml.")
@json_option
@runtime_file_option
def suggest(agent: str | None, out: Path | None, as_json: bool, runtime_file: Path | None, **fields: Any) -> None:
    """Suggest a policy that allows only the executed calls. Stores nothing."""
    client = ApiClient(find_target(runtime_file))
    fields["agent_id"] = agent_id_if_named(client, agent)
    body = {name: value for name, value in fields.items() if value is not None}
    answer = client.send(operations.suggest_policies, cast("SuggestBody", body))
    if as_json:
        show_json(answer)
        return
    if out is None:
        for line in answer["rego_policy"].splitlines():
            click.echo(safe(line.expandtabs(4)))
    else:
        import yaml  # noqa: PLC0415 - for these files alone

        stem = out.with_suffix("") if out.suffix == ".rego" else out
        Path(f"{stem}.rego").write_text(answer["rego_policy"], "utf-8")
        cases = yaml.safe_dump(answer["cases"], sort_keys=False, allow_unicode=True, width=110)
        Path(f"{stem}.cases.yaml").write_text(cases, "utf-8")
        click.echo(f"wrote {safe(stem)}.rego and {safe(stem)}.cases.yaml: headgate policy test {safe(stem.parent)}")
    click.echo(f"allows {answer['covered']} of {answer['seen']} executed calls", err=True)
    for one in answer["leaves_out"]:
        click.echo(f"leaves out: {safe(one)}", err=True)
    for one in answer["leaves_open"]:
        click.echo(f"leaves open: {safe(one)}", err=True)
