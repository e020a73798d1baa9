"""What a command is given instead of a whole id: a name, the beginning of the id, its end, or as tables shorten it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from headgate.cli.api_client import ApiClient
from headgate.cli.short_id import is_short, is_whole, matching, the_one
from headgate.client import operations
from headgate.client.call import Call
from headgate.kernel.ids import IdPrefix

_PAGE: Final = 200
_PAGES: Final = 5


class Kind(Struct, frozen=True):
    """One kind of things that the API lists. ``names``: the members of a listed one by which it can be called;
    ``label``: the one that tells it from others. ``by_cursor``: its list goes on after a cursor, not at an offset."""

    prefix: IdPrefix
    what: str
    listed_by: str
    operation: Callable[..., Call[Any]]
    label: str
    names: Sequence[str] = ()
    is_paged: bool = True
    by_cursor: bool = False


WEBHOOK: Final = Kind(
    IdPrefix.WEBHOOK, "webhook", "webhooks list", operations.list_webhooks, "url", ("url", "description")
)
GRANT: Final = Kind(IdPrefix.GRANT, "grant", "grants list --status all", operations.list_grants, "operation")
BREAK_GLASS: Final = Kind(
    IdPrefix.BREAK_GLASS, "break-glass use", "break-glass list", operations.list_break_glass, "reason"
)
CANARY: Final = Kind(
    IdPrefix.CANARY, "canary token", "canaries list", operations.get_canaries, "name", ("name",), is_paged=False
)
MCP_TOOL: Final = Kind(IdPrefix.MCP_TOOL, "MCP tool", "mcp-tools list", operations.list_mcp_tools, "name", ("name",))
REPORT: Final = Kind(IdPrefix.REPORT, "report", "reports list", operations.list_audit_reports, "type")
KEY: Final = Kind(IdPrefix.KEY, "key", "keys list", operations.list_keys, "name", ("name",))
CONNECTION: Final = Kind(
    IdPrefix.CONNECTION, "connection", "connections list", operations.list_connections, "name", ("name",)
)
HOLD: Final = Kind(
    IdPrefix.LEGAL_HOLD, "hold", "retention holds --all", operations.get_retention_holds, "reason", is_paged=False
)
USER: Final = Kind(IdPrefix.USER, "user", "users list", operations.list_users, "email", ("email", "name"))
ACTION: Final = Kind(IdPrefix.ACTION, "action", "audit list", operations.list_actions, "operation")
EVENT: Final = Kind(IdPrefix.EVENT, "event", "audit list", operations.list_audit_events, "event_type")
EXCHANGE: Final = Kind(IdPrefix.EXCHANGE, "exchange", "traffic list", operations.list_exchanges, "host")
WEBHOOK_DELIVERY: Final = Kind(
    IdPrefix.DELIVERY, "delivery", "webhooks deliveries", operations.list_webhook_deliveries, "event"
)
NOTIFICATION: Final = Kind(
    IdPrefix.DELIVERY, "delivery", "notifications deliveries", operations.list_notifications, "event"
)
ORGANIZATION: Final = Kind(
    IdPrefix.ORGANIZATION, "organization", "org list", operations.list_organizations, "name", ("name",), by_cursor=True
)
MEMBER: Final = Kind(
    IdPrefix.USER, "member", "org members", operations.list_organization_members, "email", ("email", "name")
)


def id_of(client: ApiClient, kind: Kind, text: str, *arguments: str) -> str:
    """A whole id is passed on as it is. Otherwise the newest 1,000 are looked at, unless none can have such an id.

    Raises NotFoundError; ValidationError (several; it lists them).
    """
    if is_whole(kind.prefix, text):
        return text
    listed = list(_listed(client, kind, arguments)) if kind.names or is_short(kind.prefix, text) else []
    labels = {one["id"]: str(one.get(kind.label) or "") for one in listed}
    called_so = [one["id"] for one in listed if text in (one.get(name) for name in kind.names)]
    found = called_so or (matching(kind.prefix, text, labels) if is_short(kind.prefix, text) else [])
    return the_one(text, [(one, labels[one]) for one in found], what=kind.what, listed_by=kind.listed_by)


def id_if_given(client: ApiClient, kind: Kind, text: str | None) -> str | None:
    """For an option that may be left out."""
    return None if text is None else id_of(client, kind, text)


def _listed(client: ApiClient, kind: Kind, arguments: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    if not kind.is_paged:
        yield from client.send(kind.operation)["data"]
        return
    place: dict[str, Any] = {}
    for turn in range(1, _PAGES + 1):
        answer = client.send(kind.operation, *arguments, limit=_PAGE, **place)
        yield from answer["data"]
        if len(answer["data"]) < _PAGE:
            return
        place = {"cursor": answer["pagination"]["next_cursor"]} if kind.by_cursor else {"offset": turn * _PAGE}
