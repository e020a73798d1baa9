"""``headgate policy lint``: compiles policies on this machine, without an instance."""

import asyncio
import sys
from pathlib import Path
from typing import Final

import click

from headgate.cli.tables import counted, safe, show_json
from headgate.cli.target import result_option
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import ValidationError
from headgate.policies.compile import CompiledPolicy, Libraries, PolicyRefusedError, compile_policy
from headgate.policies.hiding import hiding_warnings
from headgate.policies.suites.folder import read_folder, read_policy_file
from headgate.policies.suites.model import Suite
from headgate.policies.suites.run import as_rule_policy
from headgate.policies.trial import TrialReport, try_policies

_IN_A_CHILD_MAX: Final = 50
"""A child's seconds are for all of its policies."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@result_option
def lint(path: Path, strict: bool, as_json: bool) -> None:
    """Compile and check policies locally, and warn of probable mistakes. PATH is a folder or one file, NAME.rego."""
    suite = read_policy_file(path) if path.is_file() else read_folder(path)
    if not suite.policies and not suite.modules and not suite.documents:
        raise ValidationError(
            f"{safe(path)} contains no policy: expected NAME.rego, or the files that policies.yaml names"
        )
    errors, warnings = lint_suite(suite)
    if as_json:
        show_json({"errors": errors, "warnings": warnings})
    else:
        for error in errors:
            click.echo(f"error: {safe(error)}")
        for warning in warnings:
            click.echo(f"warning: {safe(warning)}")
        click.echo(f"{counted(len(errors), 'error')}, {counted(len(warnings), 'warning')}")
    if errors or (strict and warnings):
        sys.exit(1)


def lint_suite(suite: Suite) -> tuple[list[str], list[str]]:
    """Errors and warnings, with the file that each is about."""
    errors: list[str] = []
    warnings: list[str] = []
    data = canonical_bytes({"allowlist": {}, **suite.data})
    compiled: list[CompiledPolicy] = []  # Kept, so that each is compiled once for all that it is compared with.
    policies = [as_rule_policy(one) for one in suite.policies]
    outcomes = asyncio.run(_try_each([one.text for one in suite.policies], data, suite.modules))
    for position, (one, outcome) in enumerate(zip(suite.policies, outcomes, strict=True)):
        if isinstance(outcome, PolicyRefusedError):
            errors.append(_in_file(outcome.message, one.file))
            continue
        warnings += [_in_file(warning, one.file) for warning in outcome.warnings]
        compiled.append(compile_policy(one.text, data, suite.modules))
        warnings += hiding_warnings(policies[position], policies[:position], data, suite.modules)
    return errors, warnings


async def _try_each(texts: list[str], data: bytes, libraries: Libraries) -> list[TrialReport | PolicyRefusedError]:
    """A child ends with the first policy that is refused, and the next one tries the rest."""
    outcomes: list[TrialReport | PolicyRefusedError] = []
    while len(outcomes) < len(texts):
        outcomes += await try_policies(texts[len(outcomes) :][:_IN_A_CHILD_MAX], data, libraries)
    return outcomes


def _in_file(message: str, file: str) -> str:
    return message.replace("policy.rego", file, 1) if "policy.rego" in message else f"{file}: {message}"
