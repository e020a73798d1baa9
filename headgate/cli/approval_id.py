"""An approval request named on the command line: by its id, or by a part of it."""

from typing import Final

from headgate.cli.api_client import ApiClient
from headgate.cli.short_id import is_short, is_whole, matching, the_one
from headgate.client import operations
from headgate.kernel.ids import IdPrefix

_PAGE: Final = 200
_PAGES: Final = 5


def approval_id_of(client: ApiClient, approval: str) -> str:
    """Of a part, the only request with it, open or decided: what was decided meanwhile must not turn into another one.
    The newest 1,000 of both are looked at.

    Raises NotFoundError, ValidationError (several; it lists them).
    """
    if is_whole(IdPrefix.APPROVAL, approval):
        return approval
    found: dict[str, str] = {}
    if is_short(IdPrefix.APPROVAL, approval):
        found = _found(client, approval, None) | _found(client, approval, "pending")
    return the_one(approval, sorted(found.items()), what="approval request", listed_by="approvals list --status all")


def _found(client: ApiClient, approval: str, status: str | None) -> dict[str, str]:
    labels: dict[str, str] = {}
    cursor: str | None = None
    for _ in range(_PAGES):
        page = client.send(operations.list_approvals, status=status, limit=_PAGE, cursor=cursor)
        labels |= {one["id"]: one["summary"] for one in page["data"]}
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    return {one: labels[one] for one in matching(IdPrefix.APPROVAL, approval, labels)}
