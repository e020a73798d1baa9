"""Resolves a channel's ``recipient``: the person whose right to vote its links give."""

from collections.abc import Collection

from headgate.db.database import Connection
from headgate.organizations.store import find_users, users_of_emails


async def users_behind(connection: Connection, org_id: str, recipients: Collection[str]) -> dict[str, str]:
    """The one user that each of these names, without those that name a group or several users."""
    ids = {one for one in recipients if one.startswith("usr_")}
    known = await find_users(connection, org_id, ids)
    addressed = await users_of_emails(connection, org_id, set(recipients) - ids)
    return {one: one for one in known} | {one: users[0] for one, users in addressed.items() if len(users) == 1}
