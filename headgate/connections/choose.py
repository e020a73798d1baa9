"""Which connection a call uses: a pure decision on the call, its agent, its tool, and the connections of a generation.

Host and port are compared exactly, with the ones that are connected to (never a Host header, which may say something
else), and the scheme is https: a credential goes nowhere else.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.connections.errors import BrokenConnectionError, NoConnectionError
from headgate.connections.inject import check_fillable
from headgate.connections.model import PLACEHOLDER, Connection, ConnectionStatus
from headgate.connections.placeholders import find_placeholders, mentions_placeholder
from headgate.protocols.draft import ActionDraft


class ConnectionBook(Struct, frozen=True):
    """An organization's connections, by the origin that they serve and by their name."""

    by_origin: Mapping[tuple[str, int], tuple[Connection, ...]] = MappingProxyType({})
    by_name: Mapping[str, Connection] = MappingProxyType({})

    def __bool__(self) -> bool:
        return bool(self.by_name)


NO_CONNECTIONS: Final = ConnectionBook()


def book_of(connections: Iterable[Connection]) -> ConnectionBook:
    by_origin: dict[tuple[str, int], tuple[Connection, ...]] = {}
    by_name: dict[str, Connection] = {}
    for one in connections:
        by_name[one.name] = one
        for host in one.hosts:
            origin = (host.host, host.port)
            by_origin[origin] = (*by_origin.get(origin, ()), one)
    return ConnectionBook(by_origin, by_name) if by_name else NO_CONNECTIONS


def choose(book: ConnectionBook, draft: ActionDraft, agent_id: str, *, asks: bool | None = None) -> Connection | None:
    """None: the call goes as it is. ``asks``: whether it mentions a placeholder, where that is known.

    Raises NoConnectionError, BrokenConnectionError.
    """
    call = draft.call
    if call is None:
        return None
    if mentions_placeholder(draft) if asks is None else asks:
        names = find_placeholders(draft).names
        if names:
            return _working(_named(book, draft, agent_id, names))
    if not book or call.scheme != "https":
        return None
    serving = [
        one
        for one in book.by_origin.get((call.host, call.port), ())
        if not one.needs_placeholder and one.serves(agent_id, draft.tool)
    ]
    if len(serving) > 1:
        shown = ", ".join(sorted(one.placeholder for one in serving))
        raise NoConnectionError(
            f"More than one connection serves {call.host}. Name one by its placeholder ({shown}).",
            details={"host": call.host, "port": call.port, "connections": sorted(one.name for one in serving)},
        )
    return _working(serving[0]) if serving else None


def _named(book: ConnectionBook, draft: ActionDraft, agent_id: str, names: frozenset[str]) -> Connection:
    if len(names) > 1:
        raise NoConnectionError(
            "a call may carry one placeholder; this one has several", details={"connections": sorted(names)[:10]}
        )
    (name,) = names
    connection, call = book.by_name.get(name), draft.call
    if connection is None or not connection.serves(agent_id, draft.tool):
        # The same answer for one that is not there and one that is not this agent's.
        raise NoConnectionError(
            f"no connection of this agent fills {PLACEHOLDER}{name}; the call was not forwarded",
            details={"connection": name},
        )
    if call is None or call.scheme != "https" or (call.host, call.port) not in _origins(connection):
        raise NoConnectionError(
            f"{connection.placeholder} is filled only towards https://"
            + ", https://".join(str(host) for host in connection.hosts),
            details={"connection": name},
        )
    check_fillable(connection, draft)
    return connection


def _origins(connection: Connection) -> set[tuple[str, int]]:
    return {(host.host, host.port) for host in connection.hosts}


def _working(connection: Connection) -> Connection:
    if connection.status is not ConnectionStatus.ACTIVE:
        raise broken(connection)
    return connection


def broken(connection: Connection, reason: str | None = None) -> BrokenConnectionError:
    why = reason or connection.status_reason
    what = "waits for somebody to consent" if connection.status is ConnectionStatus.PENDING else "does not work"
    return BrokenConnectionError(
        f"the connection {connection.name} {what}{f': {why}' if why else ''}; its owner has to connect it again",
        details={"connection": connection.name, "connection_id": connection.connection_id},
    )
