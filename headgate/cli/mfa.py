"""``headgate mfa``: one's own second factor and recovery codes. Speaks as the person of HEADGATE_TOKEN."""

from pathlib import Path

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.tables import safe, show_json
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations


@click.group()
def mfa() -> None:
    """Enroll second factors; create recovery codes."""


@mfa.command()
@json_option
@client_option
def enrol(client: ApiClient, as_json: bool) -> None:
    """Add an authenticator (TOTP). Prints its secret, asks for a code, and prints a token with aal2."""
    begun = client.send(operations.enrol_mfa_totp)
    click.echo(f"Secret for the authenticator: {begun['secret']}", err=True)
    click.echo(f"The same as a URI, for a QR code: {begun['otpauth_uri']}", err=True)
    code = click.prompt("Six digits of the authenticator", err=True)
    answer = client.send(operations.activate_mfa_totp, {"code": code})
    if as_json:
        show_json(answer)
        return
    click.echo(answer["token"])
    click.echo("Enrolled. Create recovery codes with this token: headgate mfa codes", err=True)


@mfa.command("step-up")
@json_option
@client_option
def step_up(client: ApiClient, as_json: bool) -> None:
    """Exchange the current token and a code of the authenticator for a token with aal2, and print it."""
    code = click.prompt("Six digits of the authenticator", err=True)
    answer = client.send(operations.step_up_mfa_totp, {"code": code})
    if as_json:
        show_json(answer)
        return
    click.echo(answer["token"])


@mfa.command()
@json_option
@client_option
def codes(client: ApiClient, as_json: bool) -> None:
    """Create ten recovery codes and print them, once. Earlier codes no longer work. Needs a token with aal2."""
    answer = client.send(operations.generate_mfa_recovery_codes)
    if as_json:
        show_json(answer)
        return
    for one in answer["codes"]:
        click.echo(safe(one))
    click.echo(
        "Each code works once. The codes are shown only once. Store them apart from the authenticator.", err=True
    )


@mfa.command()
@json_option
@client_option
def status(client: ApiClient, as_json: bool) -> None:
    """Show how many recovery codes are left. Needs a token with aal2."""
    answer = client.send(operations.get_mfa_recovery_codes_status)
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer['unused']} of {answer['total']} recovery codes are left")


@mfa.command()
@json_option
@runtime_file_option
def recover(as_json: bool, runtime_file: Path | None) -> None:
    """Use a recovery code. Removes the authenticator and closes other sessions."""
    code = click.prompt("Recovery code", err=True, hide_input=True)
    answer = ApiClient(find_target(runtime_file)).send(operations.verify_mfa_recovery_codes, {"code": code})
    if as_json:
        show_json(answer)
        return
    click.echo(
        f"{answer['factors_removed']} factors removed, {answer['codes_voided']} other codes purged,"
        " other sessions closed"
    )


@mfa.command()
@json_option
@client_option
def unenrol(client: ApiClient, as_json: bool) -> None:
    """Remove the authenticator and all recovery codes. Needs a token with aal2."""
    answer = client.send(operations.delete_mfa_totp)
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer['factors_removed']} factors and {answer['codes_purged']} recovery codes removed")
