"""Connections of clients to one process, and the share that each address may have of them.

An address is whatever ``address_subject`` makes of it. Connections of a trusted reverse proxy are those of many
clients: they count in all, and each request that comes through counts for the address that the proxy names.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from headgate.kernel.errors import UnavailableError

CONNECTIONS_MAX: Final = 4_096
CONNECTIONS_OF_ADDRESS_MAX: Final = 1_024
"""Where nothing else is configured (HEADGATE_API_CONNECTIONS_MAX, HEADGATE_API_CONNECTIONS_PER_ADDRESS)."""
TURNED_AWAY_AT_ONCE: Final = 64
"""Connections beyond, which are told so; those beyond them are closed without a word."""
_RETRY_AFTER_SECONDS: Final = 1


class ClientPlaces:
    """``most`` connections at once, ``most_of_address`` of them from one address."""

    def __init__(self, most: int = CONNECTIONS_MAX, most_of_address: int = CONNECTIONS_OF_ADDRESS_MAX) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._taken = 0
        self._turned_away = 0
        self._of_address: Counter[str] = Counter()

    def refusal(self, address: str | None) -> UnavailableError | None:
        """Why a connection from there cannot be taken. ``address`` None: a trusted proxy's."""
        if self._taken >= self._most:
            return _too_many("This process has", self._most)
        if address is not None and self._of_address[address] >= self._most_of_address:
            return _too_many("Your address has", self._most_of_address)
        return None

    def enter(self, address: str | None) -> None:
        self._taken += 1
        if address is not None:
            self._of_address[address] += 1

    def leave(self, address: str | None) -> None:
        self._taken -= 1
        if address is not None:
            self._forget_one(address)

    def turn_away(self) -> bool:
        """Whether a connection that is not taken may wait for its answer; then ``turned_away`` follows."""
        if self._turned_away >= TURNED_AWAY_AT_ONCE:
            return False
        self._turned_away += 1
        return True

    def turned_away(self) -> None:
        self._turned_away -= 1

    @contextmanager
    def request_from(self, address: str) -> Iterator[None]:
        """One that comes through a trusted proxy, for as long as the block runs. Raises UnavailableError."""
        if self._of_address[address] >= self._most_of_address:
            raise _too_many("Your address has", self._most_of_address)
        self._of_address[address] += 1
        try:
            yield
        finally:
            self._forget_one(address)

    def _forget_one(self, address: str) -> None:
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]


def _too_many(whose: str, most: int) -> UnavailableError:
    return UnavailableError(
        f"{whose} {most} connections open, the maximum. Close some, then try again.",
        details={"max_connections": most},
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )
