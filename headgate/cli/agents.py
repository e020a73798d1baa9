"""``headgate agents``: who may send calls through the gate."""

from pathlib import Path

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.tables import show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option


@click.group()
def agents() -> None:
    """List and create agents."""


@agents.command("list")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@runtime_file_option
def list_all(limit: int, as_json: bool, runtime_file: Path | None) -> None:
    """List agents, newest first."""
    answer = ApiClient(find_target(runtime_file)).get("/admin/agents", {"limit": limit})
    if as_json:
        show_json(answer)
        return
    show_table(
        ("AGENT", "STATUS", "NAME", "CREATED"),
        ((one["id"], one["status"], one["name"], one["created_at"][:19]) for one in answer["data"]),
    )


@agents.command()
@click.argument("name")
@click.option("--description")
@json_option
@runtime_file_option
def create(name: str, description: str | None, as_json: bool, runtime_file: Path | None) -> None:
    """Create an agent; its key is printed this once."""
    body = {"name": name} if description is None else {"name": name, "description": description}
    answer = ApiClient(find_target(runtime_file)).post("/admin/agents", body)
    if as_json:
        show_json(answer)
        return
    click.echo(f"created {answer['id']}; its key, which is not shown again:", err=True)
    click.echo(answer["api_key"]["key"])
