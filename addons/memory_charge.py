"""Bytes of one thing in memory, counted for its client in the budget of the process (``proxy.budget``)."""

from typing import Protocol

from addons.verdict import ClientState
from headgate.kernel.errors import UnavailableError


class Room(Protocol):
    """``proxy.budget.BufferBudget``."""

    def reserve(self, client: ClientState, size: int) -> bool: ...
    def release(self, client: ClientState, size: int) -> None: ...


def no_room() -> UnavailableError:
    """For a request and for a message of a WebSocket or a call."""
    return UnavailableError(
        "The proxy's memory for bodies and messages is in use (all agents, or this one). Send this again.",
        retry_after_seconds=1,
    )


class MemoryCharge:
    """Counts nothing before ``charge``, and nothing after ``release``. The end of the connection releases it too."""

    __slots__ = ("_client", "_room", "size_bytes")

    def __init__(self, room: Room, client: ClientState) -> None:
        self._room = room
        self._client = client
        self.size_bytes = 0

    def charge(self, size_bytes: int) -> None:
        """Counts so many bytes in place of those before. Raises UnavailableError if there is no room: those before stay
        counted then."""
        more = size_bytes - self.size_bytes
        if more < 0:
            self._room.release(self._client, -more)
        elif more and not self._room.reserve(self._client, more):
            raise no_room()
        self.size_bytes = size_bytes

    def release(self) -> None:
        self.charge(0)
