"""Limits the bytes of request bodies that one process holds, for all clients together and for each agent."""

from collections import Counter

from addons.verdict import ClientState


class BufferBudget:
    """Counts on arrival and until the request has ended, so that held requests count too.

    Counting what has arrived, rather than what is announced, keeps a client that announces much and sends
    nothing from using up the budget of the others; and no agent gets more than half of it, so that one whose uploads
    are held does not keep all others out.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.agent_limit_bytes = limit_bytes // 2
        self.used_bytes = 0
        self.peak_bytes = 0
        self._used_by: Counter[tuple[str, str]] = Counter()

    def reserve(self, client: ClientState, size: int) -> bool:
        """Whether there was room; False reserves nothing."""
        if self.used_bytes + size > self.limit_bytes:
            return False
        agent = self._agent_of(client)
        if agent is not None:
            if self._used_by[agent] + size > self.agent_limit_bytes:
                return False
            self._used_by[agent] += size
        self.used_bytes += size
        client.buffered_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
        return True

    def release(self, client: ClientState, size: int) -> None:
        """What a connection held is given back with it: a request that ends later has nothing left to release."""
        size = min(size, client.buffered_bytes)
        agent = self._agent_of(client)
        if agent is not None:
            self._used_by[agent] -= size
            if self._used_by[agent] <= 0:
                del self._used_by[agent]
        self.used_bytes -= size
        client.buffered_bytes -= size

    def release_all(self, client: ClientState) -> None:
        """At the end of a connection: whatever its requests still held."""
        self.release(client, client.buffered_bytes)

    def _agent_of(self, client: ClientState) -> tuple[str, str] | None:
        """Whose bytes these are, once that is known: a body that comes while its sender's key is looked up becomes the
        agent's with the next look. A connection never changes from one agent to another."""
        if client.buffered_for is None and client.caller is not None and client.caller.identity.agent_id is not None:
            client.buffered_for = (client.caller.identity.org_id, client.caller.identity.agent_id)
            self._used_by[client.buffered_for] += client.buffered_bytes
        return client.buffered_for
