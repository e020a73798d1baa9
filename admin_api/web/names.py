"""What people and agents are called whom the API names by their ids."""

from collections.abc import Iterable

from admin_api.web.api import Api
from headgate.agents.store import agent_names
from headgate.kernel.ids import IdPrefix
from headgate.organizations.store import find_users


async def names_of(api: Api, ids: Iterable[str | None]) -> dict[str, str]:
    """By id, of users and agents; without those that are not there."""
    wanted = {one for one in ids if one is not None}
    org_id = api.principal.org_id
    async with api.dependencies.database.transaction(org_id) as connection:
        users = await find_users(connection, org_id, [one for one in wanted if one.startswith(f"{IdPrefix.USER}_")])
        agents = await agent_names(connection, org_id, [one for one in wanted if one.startswith(f"{IdPrefix.AGENT}_")])
    return agents | {user_id: user.email or user.name or user_id for user_id, user in users.items()}
