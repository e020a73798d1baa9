"""``headgate tools``: tool catalogues."""

from typing import Final

import click

from headgate.cli.lazy_group import LazyGroup, Place

_ELSEWHERE: Final[dict[str, Place]] = {
    "check": ("headgate.cli.catalogues:check", "Check catalogue files together with the catalogues of this instance."),
    "import": (
        "headgate.cli.catalogues:import_document",
        "Create a catalogue from an OpenAPI document (3.0 or 3.1, JSON or YAML).",
    ),
    "list": ("headgate.cli.tool_list:list_tools", "List the tools and operations of the catalogues of this instance."),
}


@click.group(cls=LazyGroup, elsewhere=_ELSEWHERE)
def tools() -> None:
    """Tool catalogues: list, check, import OpenAPI documents."""
