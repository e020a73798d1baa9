"""What a command says on standard error of a policy that was saved or checked."""

import click

from headgate.cli.api_client import Document
from headgate.cli.tables import safe


def show_warnings(answer: Document, prefix: str = "") -> None:
    for warning in answer.get("warnings", []):
        click.echo(f"{prefix}warning: {safe(warning)}", err=True)
