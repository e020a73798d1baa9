"""Limits the connections of each party to a process, and selects the connection that is closed for a new one.

An agent gets at most half of them, an organization three quarters, an address that has shown no key a quarter: without
limits, one key with a thousand idle tunnels blocked all other clients. If all connections are taken, an address without
a key loses its oldest. If all have shown a key, the agent with the most loses the one that was idle the longest.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from time import monotonic
from typing import Final, Protocol

from addons.share import ORGANIZATION_SLICE_SECONDS, Share
from addons.verdict import ClientState
from headgate.gate.caller import Caller
from headgate.kernel.errors import UnavailableError

AGENT_PART: Final = 1 / 2
ORGANIZATION_PART: Final = 3 / 4
ADDRESS_PART: Final = 1 / 4
_REMEMBERED_ADDRESSES: Final = 10_000
_NETWORK_BITS: Final = 64
"""Of an IPv6 address: what one customer gets (RFC 6177)."""


class ClientConnection(Protocol):
    """A connection, as far as it counts here."""

    state: ClientState

    @property
    def closing(self) -> bool: ...

    @property
    def idle_since(self) -> float | None:
        """In seconds of some clock; None: a request of it is under way."""

    def hard_close(self, reason: str) -> None: ...


class ConnectionShares[C: ClientConnection]:
    """The connections of one process by whom they belong to."""

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._address_most = max(1, int(most * ADDRESS_PART))
        self._clock = clock
        self._without_key = Share("without a key", None, ORGANIZATION_SLICE_SECONDS)
        self._addresses: dict[str, Share] = {}
        self._agents: dict[tuple[str, str], Share] = {}
        self._organizations: dict[str, Share] = {}
        self._of: defaultdict[Share, dict[C, None]] = defaultdict(dict)

    def of_address(self, address: str) -> Share:
        party = _party_of(address)
        share = self._addresses.get(party)
        if share is None:
            if len(self._addresses) >= _REMEMBERED_ADDRESSES:
                self._forget_addresses()
            share = self._addresses[party] = Share(party, self._without_key, clock=self._clock)
        return share

    def keep_waiting(self, address: str) -> Share | None:
        """The share of a newcomer whose address has been refused too often: it counts, and is not served. None where
        that is not so, or where there is no room for it."""
        share = self.of_address(address)
        if share.may_be_refused or share.connections >= self._address_most or self._count() >= self._most:
            return None
        _add(share, 1)
        return share

    def admit(self, address: str) -> Share | None:
        """The share of a newcomer, which counts from now on and has room made for it; None where it is not taken."""
        share = self.of_address(address)
        if not share.may_be_refused:
            return None
        has_its_part = share.connections >= self._address_most
        if has_its_part and not _close_first(self._of.get(share, ()), "this address has as many connections as it may"):
            return None
        if self._count() >= self._most and not self._make_room():
            return None
        _add(share, 1)
        return share

    def enter(self, connection: C, share: Share) -> None:
        """The connection of a newcomer that was admitted."""
        connection.state.share = share
        self._of[share][connection] = None

    def give_back(self, share: Share) -> None:
        """Where nothing became of a newcomer."""
        _add(share, -1)

    def identified(self, connection: C, caller: Caller) -> None:
        """Counts a connection for the agent whose key it has shown. Raises UnavailableError where that one has as many
        as it may, and none of them is idle."""
        org_id, agent_id = caller.identity.org_id, caller.identity.agent_id or ""
        organization = self._organizations.get(org_id)
        if organization is None:
            organization = self._organizations[org_id] = Share(org_id, None, ORGANIZATION_SLICE_SECONDS)
        share = self._agents.get((org_id, agent_id))
        if share is None:
            share = self._agents[org_id, agent_id] = Share(agent_id, organization, clock=self._clock)
        if connection.state.share is share:
            return  # another key of the same agent
        agent_most = max(1, int(self._most * AGENT_PART))
        if share.connections >= agent_most and not self._close_idlest([share]):
            raise _too_many("this agent", agent_most)
        organization_most = max(1, int(self._most * ORGANIZATION_PART))
        if organization.connections >= organization_most:
            agents = [one for one in self._agents.values() if one.parent is organization]
            if not self._close_idlest(agents):
                raise _too_many("this organization", organization_most)
        self.leave(connection)
        _add(share, 1)
        self.enter(connection, share)

    def leave(self, connection: C) -> None:
        """At the end of a connection, or where it becomes another party's."""
        share = connection.state.share
        self._of[share].pop(connection, None)
        if not self._of[share]:
            del self._of[share]
        _add(share, -1)
        if not share.connections:
            self._forget(connection, share)

    def _forget(self, connection: C, share: Share) -> None:
        """An agent without connections is made anew with the next; an address is remembered for what it was refused."""
        caller = connection.state.caller
        if share.parent is self._without_key or caller is None or share.parent is None:
            return
        key = (caller.identity.org_id, caller.identity.agent_id or "")
        if self._agents.get(key) is share and share.is_as_new:
            del self._agents[key]
            if not share.parent.connections:
                self._organizations.pop(key[0], None)

    def _count(self) -> int:
        return self._without_key.connections + sum(one.connections for one in self._organizations.values())

    def _make_room(self) -> bool:
        heaviest = max(self._addresses.values(), key=_weight, default=None)
        if heaviest is not None and heaviest.connections:
            return _close_first(self._of.get(heaviest, ()), "too many connections")
        organizations = sorted(self._organizations.values(), key=_weight, reverse=True)
        for organization in organizations:
            agents = [one for one in self._agents.values() if one.parent is organization and one.connections > 1]
            if self._close_idlest(agents):
                return True
        return False

    def _close_idlest(self, shares: Iterable[Share]) -> bool:
        """Of the party with the most connections of which any is idle."""
        for share in sorted(shares, key=_weight, reverse=True):
            idle = [
                (since, one)
                for one in self._of.get(share, ())
                if not one.closing and (since := one.idle_since) is not None
            ]
            if idle:
                min(idle, key=lambda each: each[0])[1].hard_close("this agent has the most connections")
                return True
        return False

    def _forget_addresses(self) -> None:
        """Those without connections that have nothing to be remembered for; of a flood of addresses, the oldest."""
        left = {name: one for name, one in self._addresses.items() if not one.is_as_new}
        for name in [one for one in left if not left[one].connections][: len(left) - _REMEMBERED_ADDRESSES // 2]:
            del left[name]
        self._addresses = left


def _add(share: Share, count: int) -> None:
    one: Share | None = share
    while one is not None:
        one.connections += count
        one = one.parent


def _weight(share: Share) -> int:
    return share.connections


def _close_first(connections: Iterable[ClientConnection], reason: str) -> bool:
    for one in connections:
        if not one.closing:
            one.hard_close(reason)
            return True
    return False


def _too_many(whose: str, most: int) -> UnavailableError:
    return UnavailableError(
        f"{whose} has {most} connections to this process, which is as many as it may, and all are in use: close some",
        details={"max_connections": most},
        retry_after_seconds=1,
    )


def _party_of(address: str) -> str:
    """An IPv6 address counts with its network: whoever has one has 2⁶⁴."""
    if ":" not in address:
        return address
    number = int(ip_address(address.partition("%")[0]))
    return f"{number >> (128 - _NETWORK_BITS):x}::"
