"""Bytes of request bodies that one process holds, and the share that each party may have of them.

A body counts from its arrival to the end of its request: for the client's address, and for the caller's organization
once the credential is known. Each body may be small enough, and a thousand at once too much.
"""

from collections import Counter
from typing import Final

from starlette.types import Scope

from headgate.kernel.errors import UnavailableError

BODIES_BYTES_MAX: Final = 64 << 20
"""Where nothing else is configured (HEADGATE_API_BODIES_LIMIT_BYTES)."""
ADDRESS_PART: Final = 1 / 4
ORGANIZATION_PART: Final = 1 / 2
_SCOPE_KEY: Final = "headgate.body"
_RETRY_AFTER_SECONDS: Final = 1

type _Party = tuple[str, str] | None
"""None: whoever is behind a trusted proxy, until its request names an address."""


class BodyBudget:
    """``most`` bytes. One body of ``largest`` fits in any case."""

    def __init__(self, most: int, *, largest: int) -> None:
        self._most = max(most, largest)
        self._parts = {
            "address": max(int(self._most * ADDRESS_PART), largest),
            "organization": max(int(self._most * ORGANIZATION_PART), largest),
        }
        self._taken: Counter[_Party] = Counter()
        self._total = 0

    def charge_for(self, address: str | None) -> "BodyCharge":
        return BodyCharge(self, None if address is None else ("address", address))

    def refusal(self, party: _Party, size: int) -> UnavailableError | None:
        """Why ``size`` bytes more cannot be taken."""
        if party is not None and self._taken[party] + size > self._parts[party[0]]:
            return _full(f"of your {party[0]}", self._parts[party[0]])
        if self._total + size > self._most:
            return _full("of this process", self._most)
        return None

    def take(self, party: _Party, size: int) -> None:
        """Gives back where ``size`` is negative."""
        self._total += size
        self._taken[party] += size
        if not self._taken[party]:
            del self._taken[party]


class BodyCharge:
    """What the body of one request takes. ``refusal``: the rest of it is not kept."""

    def __init__(self, budget: BodyBudget, party: _Party) -> None:
        self._budget = budget
        self._party = party
        self._size = 0
        self._is_over = False
        self.refusal: UnavailableError | None = None

    def keeps(self, size: int) -> bool:
        """Whether so many bytes more are to be kept, and counts them."""
        if self._is_over or self.refusal is not None:
            return False
        self.refusal = self._budget.refusal(self._party, size)
        if self.refusal is None:
            self._budget.take(self._party, size)
            self._size += size
        return self.refusal is None

    def is_from(self, address: str) -> None:
        self._move(("address", address))

    def is_of(self, org_id: str) -> None:
        """Raises UnavailableError."""
        self._move(("organization", org_id))
        self.require_kept()

    def require_kept(self) -> None:
        """Raises UnavailableError."""
        if self.refusal is not None:
            raise self.refusal

    def release(self) -> None:
        """At the end of the request; more than once is no harm."""
        self._budget.take(self._party, -self._size)
        self._size = 0
        self._is_over = True

    def _move(self, party: _Party) -> None:
        self._budget.take(self._party, -self._size)
        self._party = party
        self.refusal = self.refusal or self._budget.refusal(party, self._size)
        self._budget.take(party, self._size)


def attach_charge(scope: Scope, charge: BodyCharge) -> None:
    scope[_SCOPE_KEY] = charge


def charge_of(scope: Scope) -> BodyCharge | None:
    """None: the server does not count."""
    charge: BodyCharge | None = scope.get(_SCOPE_KEY)
    return charge


def _full(whose: str, most: int) -> UnavailableError:
    return UnavailableError(
        f"Request bodies {whose} take all of the {most} bytes that they may. Send fewer at once.",
        details={"max_bytes": most},
        retry_after_seconds=_RETRY_AFTER_SECONDS,
    )
