"""``headgate login``: sign in with a browser, where there is no identity provider."""

import os
from datetime import timedelta
from pathlib import Path

import click

from headgate.cli.local_data import data_dir_option, find_data
from headgate.cli.shown_address import shown_address
from headgate.cli.tables import show_json
from headgate.cli.target import find_instance, result_option, runtime_file_option
from headgate.configuration.settings import read_settings
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from headgate.organizations.dashboard_address import dashboard_address
from headgate.organizations.local_issuer import open_local_issuer
from headgate.organizations.model import DEFAULT_ORGANIZATION_ID, Role
from headgate.organizations.sign_in_address import FIRST_ADMINISTRATOR, sign_in_address


@click.command()
@click.option("--user", default=FIRST_ADMINISTRATOR, show_default=True, help="A name or an email address.")
@click.option(
    "--role",
    "roles",
    type=click.Choice([role.value for role in Role]),
    multiple=True,
    help="Repeatable. Default: admin; for the user administrator also operator.",
)
@click.option("--organization", default=DEFAULT_ORGANIZATION_ID, show_default="the first one")
@click.option("--minutes", type=click.IntRange(1, 60), default=10, show_default=True, help="Validity.")
@click.option("--print-url", "only_url", is_flag=True, help="Print only the link, for scripts.")
@result_option
@data_dir_option
@runtime_file_option
def login(
    user: str,
    roles: tuple[str, ...],
    organization: str,
    minutes: int,
    only_url: bool,
    as_json: bool,
    data_dir: Path | None,
    runtime_file: Path | None,
) -> None:
    """Print a link that signs a user in with a browser, once. This instance's key signs it.

    On a terminal the link leads to the dashboard's own host name, which browsers resolve. Scripts get the address of
    the API.
    """
    if not roles:
        # The rights of a person are those of the newest token: without its role the operator would lose it here.
        is_first = (user, organization) == (FIRST_ADMINISTRATOR, DEFAULT_ORGANIZATION_ID)
        roles = (Role.ADMIN.value, Role.OPERATOR.value) if is_first else (Role.ADMIN.value,)
    issuer = open_local_issuer(find_data(data_dir, runtime_file).issuer)
    address = _api_address(runtime_file)
    if not (only_url or as_json):
        address = shown_address(dashboard_address(issuer, address), address)
    url = sign_in_address(
        issuer,
        address,
        org_id=organization,
        user=user,
        roles=[Role(role) for role in roles],
        now=system_clock(),
        lifetime=timedelta(minutes=minutes),
    ).reveal()
    if as_json:
        show_json({"url": url, "user": user, "roles": sorted(roles), "valid_minutes": minutes})
        return
    click.echo(url)
    if not only_url:
        granted = ", ".join(sorted(roles))
        click.echo(f"Signs in as {user} ({granted}), once, within {minutes} minutes. Dashboard: {address}/", err=True)


def _api_address(runtime_file: Path | None) -> str:
    """The running instance's. Where the parts run by themselves: HEADGATE_PUBLIC_API_URL. Raises UnavailableError."""
    try:
        return find_instance(runtime_file, other_ways=", or set HEADGATE_PUBLIC_API_URL as for the API").api_url
    except UnavailableError:
        public = read_settings().public_api_url
        if runtime_file is not None or os.environ.get("HEADGATE_RUNTIME_FILE") or public is None:
            raise
        return public
