"""The output of ``headgate audit verify`` and its exit status: 0 valid, 1 invalid, 2 not verified.

A script must not take an unreachable database for a tampered one, nor a range without sealed events for a valid record.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

import click

from headgate.cli.tables import safe, show_json
from headgate.reconciliation.model import Difference


class NotLookedAtError(click.ClickException):
    """The record was not verified: neither valid nor invalid."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """As every other error of a command."""
        click.echo(f"headgate: the audit log was NOT verified: {self.message}", err=True, file=file)


def show_verification(answer: Mapping[str, Any], as_json: bool) -> None:
    """Prints the answer of POST /admin/audit/verify; exits with status 1 if the record is invalid.

    Raises NotLookedAtError: the range has no sealed event.
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
        raise NotLookedAtError("no event was sealed in this period; change --start or --end")


def _valid(answer: Mapping[str, Any]) -> Iterator[str]:
    verified = f"the audit log is valid: {answer['events_verified']} events, up to {safe(answer['chain_end_hash'])}"
    if answer["checkpoints_verified"]:
        agreed = f"{answer['checkpoints_verified']} signed checkpoints agree, up to event {answer['signed_up_to']}"
        yield f"{verified}; {agreed}"
    else:
        yield f"{verified}; NO signed checkpoint was compared, so a complete rewrite would not be detected"
    if answer["payloads_erased"]:
        yield f"{answer['payloads_erased']} payloads are erased; an event (body.erased) records each erasure"
    for one in answer.get("restores", ()):
        yield (
            f"the log was restored from a backup at event {one['head_seq']}, by {safe(one['restored_by'])}"
            f" (event {one['seq']}, {safe(one['event_id'])}): what was recorded after that backup is lost"
        )
    if answer["actions_reconciled"]:
        yield f"{answer['actions_reconciled']} actions match the audit log, with their approvals, votes and executions"


def _differing(found: Sequence[Mapping[str, Any]]) -> list[str]:
    if not found:
        return []
    rows = [Difference(one["table"], one["id"], one["column"], one["expected"], one["found"]) for one in found]
    return ["THE TABLES DIFFER FROM THE AUDIT LOG:", *(f"  {safe(one.describe())}" for one in rows)]


def _broken(fault: Mapping[str, Any]) -> str:
    told = f"{safe(fault['reason'])}: {safe(fault['message'])}"
    if not fault["seq"] and fault["event_id"] is None:
        return f"THE AUDIT LOG CANNOT BE VERIFIED, {told}"
    event = "" if fault["event_id"] is None else f" ({safe(fault['event_id'])})"
    return f"THE AUDIT LOG IS BROKEN at event number {fault['seq']}{event}, {told}"
