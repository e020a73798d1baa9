"""A page of keys, whoever's they are."""

from datetime import datetime

from admin_api.keys.schemas import KeyAnswer, key_answer
from admin_api.pagination import CamelPagination, CursorPagination, ListRequest, Page, cursor_page
from headgate.agents.key_listing_store import KeyFilter, list_keys
from headgate.db.database import Connection


async def keys_page(
    connection: Connection, org_id: str, wanted: KeyFilter, request: ListRequest, now: datetime
) -> Page[KeyAnswer, CursorPagination] | Page[KeyAnswer, CamelPagination]:
    """Newest first."""
    found = await list_keys(
        connection,
        org_id,
        wanted,
        now=now,
        limit=request.limit,
        offset=request.offset,
        cursor=request.cursor,
        exact_total=request.exact_total,
    )
    return cursor_page(request, [key_answer(key, now) for key in found.keys], found)
