"""``headgate tools list``."""

from pathlib import Path

import click

from headgate.cli.local_data import data_dir_option, find_catalogues
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import json_option, runtime_file_option
from headgate.kernel.errors import NotFoundError


@click.command("list")
@click.option("--tool", help="Only this tool's operations.")
@json_option
@data_dir_option
@runtime_file_option
def list_tools(tool: str | None, as_json: bool, data_dir: Path | None, runtime_file: Path | None) -> None:
    """List the tools and operations of the catalogues of this instance."""
    from headgate.tools.listing import list_operations  # noqa: PLC0415 - help reads no catalogue

    rows = [
        [one.tool, one.operation, one.effect.value, one.method, one.description]
        for one in list_operations(find_catalogues(data_dir, runtime_file))
        if tool in (None, one.tool)
    ]
    if tool is not None and not rows:
        raise NotFoundError(f"no catalogue for the tool {safe(tool)}. headgate tools list shows all tools")
    if as_json:
        names = ("tool", "operation", "effect", "method", "description")
        show_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    show_table(("TOOL", "OPERATION", "EFFECT", "METHOD", "DESCRIPTION"), rows)
