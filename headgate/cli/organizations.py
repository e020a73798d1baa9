"""``headgate org``: the operator's view of organizations, and who belongs to them. Each takes a name or an id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.named_id import MEMBER, ORGANIZATION, id_of
from headgate.cli.tables import show_json, show_table
from headgate.cli.target import find_target, json_option, runtime_file_option
from headgate.client import operations
from headgate.organizations.model import GRANTABLE_ROLES

if TYPE_CHECKING:
    from headgate.client.types import GrantedRoles, MemberRole, NewInvitation, PrivateDestination, PrivateDestinations

_ROLES = click.Choice(sorted(role.value for role in GRANTABLE_ROLES))


@click.group()
def org() -> None:
    """Organizations: list, create, invite members, assign roles."""


@org.command("list")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@click.option("--cursor", help="Continue after this organization.")
@json_option
@client_option
def list_all(client: ApiClient, limit: int, cursor: str | None, as_json: bool) -> None:
    """List organizations, newest first."""
    answer = client.send(operations.list_organizations, limit=limit, cursor=cursor)
    if as_json:
        show_json(answer)
        return
    show_table(
        ("ORGANIZATION", "NAME", "CREATED"),
        ((one["id"], one["name"], one["created_at"][:19]) for one in answer["data"]),
    )


@org.command()
@click.argument("name")
@json_option
@client_option
def create(client: ApiClient, name: str, as_json: bool) -> None:
    """Create an organization with the default policies. Then invite an administrator."""
    answer = client.send(operations.create_organization, {"name": name})
    if as_json:
        show_json(answer)
        return
    click.echo(answer["id"])


@org.command()
@click.argument("organization")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def members(client: ApiClient, organization: str, limit: int, as_json: bool) -> None:
    """List the people of an organization."""
    answer = client.send(operations.list_organization_members, id_of(client, ORGANIZATION, organization), limit=limit)
    if as_json:
        show_json(answer)
        return
    show_table(
        ("USER", "EMAIL", "NAME", "ROLES", "GRANTED", "DEACTIVATED"),
        (
            (
                one["id"],
                one["email"],
                one["name"],
                ", ".join(one["roles"]),
                ", ".join(one["granted_roles"]),
                (one["deactivated_at"] or "")[:19],
            )
            for one in answer["data"]
        ),
    )


@org.command()
@click.argument("organization")
@click.argument("user")
@click.argument("roles", nargs=-1, type=_ROLES)
@json_option
@runtime_file_option
def roles(
    organization: str, user: str, roles: tuple[MemberRole, ...], as_json: bool, runtime_file: Path | None
) -> None:
    """Set the ROLES that a user has in addition to the roles of the token. Without ROLES, remove them."""
    body: GrantedRoles = {"roles": list(roles)}
    client = ApiClient(find_target(runtime_file))
    org_id = id_of(client, ORGANIZATION, organization)
    answer = client.send(operations.put_organization_member_roles, org_id, id_of(client, MEMBER, user, org_id), body)
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer['id']}: {', '.join(answer['roles']) or 'no roles'}")


@org.command()
@click.argument("organization")
@click.argument("email")
@click.option("--role", "roles", type=_ROLES, multiple=True, required=True, help="Repeatable.")
@click.option("--hours", type=click.IntRange(1, 24 * 30), default=72, show_default=True, help="Validity.")
@json_option
@runtime_file_option
def invite(
    organization: str, email: str, roles: tuple[MemberRole, ...], hours: int, as_json: bool, runtime_file: Path | None
) -> None:
    """Invite a person by email address. Prints the invitation link, once."""
    body: NewInvitation = {"email": email, "roles": list(roles), "expires_in_hours": hours}
    client = ApiClient(find_target(runtime_file))
    answer = client.send(operations.create_organization_invitation, id_of(client, ORGANIZATION, organization), body)
    if as_json:
        show_json(answer)
        return
    click.echo(answer["address"])
    if answer["mailed_by"] is not None:
        click.echo(f"also sent by email, by the channel {answer['mailed_by']}", err=True)


@org.command()
@click.argument("organization")
@json_option
@client_option
def invitations(client: ApiClient, organization: str, as_json: bool) -> None:
    """List an organization's invitations, newest first."""
    answer = client.send(operations.list_organization_invitations, id_of(client, ORGANIZATION, organization))
    if as_json:
        show_json(answer)
        return
    show_table(
        ("INVITATION", "EMAIL", "ROLES", "STATUS", "ENDS"),
        (
            (one["id"], one["email"], ", ".join(one["roles"]), one["status"], one["expires_at"][:19])
            for one in answer["data"]
        ),
    )


@org.command("private-destinations")
@click.argument("organization")
@click.option("--allow", "allowed", metavar="HOST[:PORT]", multiple=True, help="Repeatable. Replaces the list.")
@click.option("--none", "is_none", is_flag=True, help="Allow none.")
@json_option
@runtime_file_option
def private_destinations(
    organization: str, allowed: tuple[str, ...], is_none: bool, as_json: bool, runtime_file: Path | None
) -> None:
    """Show or replace the private addresses that an organization's allowlist may open.

    HOST is an address, a network (10.1.0.0/16) or a name. Write IPv6 with a port in brackets: [fd00::1]:8443.
    """
    if allowed and is_none:
        raise click.UsageError("give either --allow or --none")
    client = ApiClient(find_target(runtime_file))
    org_id = id_of(client, ORGANIZATION, organization)
    if allowed or is_none:
        body: PrivateDestinations = {"destinations": [_destination(one) for one in allowed]}
        answer = client.send(operations.put_organization_private_destinations, org_id, body)
    else:
        answer = client.send(operations.get_organization_private_destinations, org_id)
    if as_json:
        show_json(answer)
    elif answer["unrestricted"]:
        click.echo("every private address that the organization's allowlist names")
    elif not answer["destinations"]:
        click.echo("no private address")
    else:
        rows = ((one["host"], ", ".join(map(str, one["ports"])) or "all") for one in answer["destinations"])
        show_table(("HOST", "PORTS"), rows)


def _destination(text: str) -> PrivateDestination:
    """An IPv6 address without brackets has no port."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or (":" in host and not host.endswith("]")):
        return {"host": text}
    return {"host": host.strip("[]"), "ports": [int(port)]}
