"""The people among whom a page lets an administrator choose."""

from admin_api.pagination import MAX_LIMIT, PageRequest
from admin_api.users.routes import list_all
from admin_api.users.schemas import UserAnswer
from admin_api.web.api import Api


async def active_people(api: Api) -> list[UserAnswer]:
    """The first ones, in the order of their first sign-in. Raises ForbiddenError."""
    found = await api.call(list_all, PageRequest(MAX_LIMIT), api.principal, api.dependencies)
    return [one for one in found.data if one.deactivated_at is None]
