"""Reads an organization's people: for its own administrators, and for the operator in any organization."""

from admin_api.dependencies import Dependencies
from admin_api.pagination import CountedPage, PageRequest, counted_page
from admin_api.users.schemas import UserAnswer, user_answer
from headgate.organizations.store import get_user, list_users


async def members_of(dependencies: Dependencies, org_id: str, page: PageRequest) -> CountedPage[UserAnswer]:
    """In the order of their first sign-in."""
    async with dependencies.database.transaction(org_id) as connection:
        users, total = await list_users(
            connection, org_id, limit=page.limit, offset=page.offset, exact_total=page.exact_total
        )
    return counted_page(page, [user_answer(one) for one in users], total.total, is_minimum=total.is_minimum)


async def member_of(dependencies: Dependencies, org_id: str, user_id: str) -> UserAnswer:
    """Raises NotFoundError."""
    async with dependencies.database.transaction(org_id) as connection:
        return user_answer(await get_user(connection, org_id, user_id))
