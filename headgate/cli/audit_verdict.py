"""What ``headgate audit verify`` says, and the status that it ends with: 0, 1 where the record is not what was
recorded, 2 where nobody could look, or there was nothing to look at. A script must not take a database that is away for
one that was tampered with, nor a time in which nothing was sealed for a valid record.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import click

from headgate.cli.tables import safe, show_json
from headgate.reconciliation.model import Difference


class NotLookedAtError(click.ClickException):
    """The record was not verified, whatever it is."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """As every other error of a command."""
        click.echo(f"headgate: the record was NOT verified: {self.message}", err=True, file=file)


def show_verification(answer: Mapping[str, Any], as_json: bool) -> None:
    """``answer`` is that of POST /admin/audit/verify. Status 1 where something is not what was recorded.

    Raises NotLookedAtError: nothing was sealed in the time that was asked for.
    """
    if as_json:
        show_json(answer)
    elif answer["valid"] and answer["events_verified"]:
        for line in _valid(answer):
            click.echo(line)
    elif not answer["valid"]:
        click.echo("\n".join(_differing(answer["differences"]) or [_broken(answer["fault"])]), err=True)
    if not answer["valid"]:
        sys.exit(1)
    if not answer["events_verified"]:
        raise NotLookedAtError("nothing was sealed in this time, so there was nothing to look at")


def _valid(answer: Mapping[str, Any]) -> Iterator[str]:
    verified = f"the record is valid: {answer['events_verified']} events, up to {safe(answer['chain_end_hash'])}"
    if answer["checkpoints_verified"]:
        agreed = f"{answer['checkpoints_verified']} signed checkpoints agree, up to event {answer['signed_up_to']}"
        yield f"{verified}; {agreed}"
    else:
        yield f"{verified}; NO signed checkpoint was compared, so all of it could have been written anew"
    if answer["payloads_erased"]:
        yield f"{answer['payloads_erased']} payloads were erased, each by an event of the record (body.erased)"
    if answer["actions_reconciled"]:
        yield f"{answer['actions_reconciled']} actions, their approvals, votes and executions are as it tells them"


def _differing(found: Sequence[Mapping[str, Any]]) -> list[str]:
    if not found:
        return []
    rows = [Difference(one["table"], one["id"], one["column"], one["expected"], one["found"]) for one in found]
    return ["THE TABLES ARE NOT WHAT THE RECORD TELLS:", *(f"  {safe(one.describe())}" for one in rows)]


def _broken(fault: Mapping[str, Any]) -> str:
    told = f"{safe(fault['reason'])}: {safe(fault['message'])}"
    if not fault["seq"] and fault["event_id"] is None:
        return f"THE RECORD CANNOT BE BELIEVED, {told}"
    event = "" if fault["event_id"] is None else f" ({safe(fault['event_id'])})"
    return f"THE RECORD IS BROKEN at event number {fault['seq']}{event}, {told}"
