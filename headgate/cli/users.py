"""``headgate users``: the people of an organization, who may come in, where they are signed in, and second factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headgate.cli.api_client import ApiClient
from headgate.cli.client_option import client_option
from headgate.cli.named_id import USER, id_of
from headgate.cli.tables import safe, show_json, show_table
from headgate.cli.target import json_option
from headgate.client import operations

if TYPE_CHECKING:
    from headgate.client.types import StandingAnswer


@click.group()
def users() -> None:
    """Users: list, deactivate, reactivate, sign out, unlock, reset factors."""


@users.command("list")
@click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True)
@json_option
@client_option
def list_all(client: ApiClient, limit: int, as_json: bool) -> None:
    """List the people who have signed in, in the order of their first sign-in."""
    answer = client.send(operations.list_users, limit=limit)
    if as_json:
        show_json(answer)
        return
    show_table(
        ("USER", "EMAIL", "NAME", "ROLES", "ISSUER", "DEACTIVATED"),
        (
            (
                one["id"],
                one["email"],
                one["name"],
                ", ".join(one["roles"]),
                one["issuer"],
                (one["deactivated_at"] or "")[:19],
            )
            for one in answer["data"]
        ),
    )


@users.command()
@click.argument("user_id")
@json_option
@client_option
def deactivate(client: ApiClient, user_id: str, as_json: bool) -> None:
    """Deactivate a user with every issuer. The program keys that the user created stop working."""
    _standing(client.send(operations.deactivate_user, id_of(client, USER, user_id)), as_json=as_json)


@users.command()
@click.argument("user_id")
@json_option
@client_option
def reactivate(client: ApiClient, user_id: str, as_json: bool) -> None:
    """Reactivate a user."""
    _standing(client.send(operations.reactivate_user, id_of(client, USER, user_id)), as_json=as_json)


@users.command()
@click.argument("user_id")
@json_option
@client_option
def sessions(client: ApiClient, user_id: str, as_json: bool) -> None:
    """List the browser sessions of a user."""
    answer = client.send(operations.get_user_sessions, id_of(client, USER, user_id))
    if as_json:
        show_json(answer)
        return
    show_table(
        ("SESSION", "ADDRESS", "BROWSER", "SINCE", "LAST SEEN", "ENDS"),
        (
            (
                one["id"],
                one["address"],
                one["user_agent"],
                one["created_at"][:19],
                one["last_seen_at"][:19],
                one["expires_at"][:19],
            )
            for one in answer["data"]
        ),
    )


@users.command("sign-out")
@click.argument("user_id")
@json_option
@client_option
def sign_out(client: ApiClient, user_id: str, as_json: bool) -> None:
    """End all sessions and tokens of a user."""
    user_id = id_of(client, USER, user_id)
    answer = client.send(operations.delete_user_sessions, user_id)
    if as_json:
        show_json(answer)
        return
    click.echo(f"signed out {safe(user_id)} everywhere")


@users.command()
@click.argument("user_id")
@json_option
@client_option
def unlock(client: ApiClient, user_id: str, as_json: bool) -> None:
    """Unlock a user who entered too many wrong codes of a second factor."""
    answer = client.send(operations.unlock_user, id_of(client, USER, user_id))
    if as_json:
        show_json(answer)
        return
    click.echo(f"unlocked: {', '.join(answer['unlocked']) or 'nothing was locked'}")


@users.command("reset-factors")
@click.argument("user_id")
@json_option
@client_option
def reset_factors(client: ApiClient, user_id: str, as_json: bool) -> None:
    """Remove the authenticator app, the passkeys and the recovery codes of a user, and sign the user out everywhere."""
    answer = client.send(operations.delete_user_factors, id_of(client, USER, user_id))
    if as_json:
        show_json(answer)
        return
    click.echo(
        f"removed: authenticator apps {answer['authenticators_removed']}, passkeys {answer['passkeys_removed']},"
        f" recovery codes {answer['codes_voided']}; ended sessions: {answer['sessions_ended']}"
    )


def _standing(answer: StandingAnswer, *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer['id']}: {'deactivated' if answer['deactivated_at'] else 'active'}")
    for one in answer["also"]:
        state = "deactivated" if one["deactivated_at"] else "active"
        click.echo(f"the same person: {safe(one['id'])} at {safe(one['issuer'])}, {state}")
    for key in answer["keys"]:
        click.echo(f"key {safe(key)} {'stopped' if answer['deactivated_at'] else 'works'}")
    for key in answer["agent_keys"]:
        click.echo(f"key {safe(key)} belongs to an agent and keeps working: rotate it if the person may have kept it")
