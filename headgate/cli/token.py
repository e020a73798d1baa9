"""``headgate token``: a token for a person, where there is no identity provider."""

from datetime import timedelta
from pathlib import Path

import click

from headgate.cli.local_data import data_dir_option, find_data
from headgate.cli.tables import show_json
from headgate.cli.target import result_option, runtime_file_option
from headgate.kernel.clock import system_clock
from headgate.organizations.local_issuer import open_local_issuer
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role


@click.command()
@click.option("--user", required=True, help="The user: a name or an email address.")
@click.option(
    "--role",
    "roles",
    type=click.Choice([role.value for role in Role]),
    multiple=True,
    required=True,
    help="Repeatable.",
)
@click.option("--organization", default=DEFAULT_ORGANIZATION_ID, show_default="the first one")
@click.option(
    "--aal",
    type=click.Choice(["aal1", "aal2"]),
    default="aal1",
    show_default=True,
    help="The assurance level of the sign-in.",
)
@click.option("--hours", type=click.IntRange(1, 24 * 30), default=24, show_default=True, help="Validity.")
@result_option
@data_dir_option
@runtime_file_option
def token(
    user: str,
    roles: tuple[str, ...],
    organization: str,
    aal: str,
    hours: int,
    as_json: bool,
    data_dir: Path | None,
    runtime_file: Path | None,
) -> None:
    """Create a token for a person, signed with this instance's key, and print it. It is not stored."""
    issuer = open_local_issuer(find_data(data_dir, runtime_file).issuer)
    minted = issuer.mint(
        org_id=organization,
        subject=user,
        email=user if "@" in user else None,
        name=None if "@" in user else user,
        roles=[Role(role) for role in roles],
        aal=aal,
        now=system_clock(),
        lifetime=timedelta(hours=hours),
    )
    if as_json:
        show_json({"token": minted.reveal(), "user": user, "roles": sorted(roles), "aal": aal, "valid_hours": hours})
        return
    click.echo(minted.reveal())
