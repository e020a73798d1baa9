"""What a command says on standard error of a policy that was saved or checked."""

from collections.abc import Mapping
from typing import Any, TextIO

import click

from headgate.cli.policy_file import in_file
from headgate.cli.tables import safe


def show_warnings(answer: Mapping[str, Any], prefix: str = "", file: TextIO | None = None) -> None:
    for warning in answer.get("warnings", []):
        click.echo(f"{prefix}warning: {safe(in_file(str(warning), file))}", err=True)
