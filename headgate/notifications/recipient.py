"""Resolves a channel's ``recipient``: the person whose right to vote its links give."""

from headgate.db.database import Connection
from headgate.notifications.model import Channel
from headgate.organizations.store import find_users, find_users_by_email


async def user_behind(connection: Connection, org_id: str, channel: Channel) -> str | None:
    """The one user that the recipient names; None if it names a group or several users."""
    if channel.recipient is None:
        return None
    if channel.recipient.startswith("usr_"):
        return next(iter(await find_users(connection, org_id, [channel.recipient])), None)
    users = await find_users_by_email(connection, org_id, channel.recipient)
    return users[0].user_id if len(users) == 1 else None
