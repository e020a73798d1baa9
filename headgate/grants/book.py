"""The grants of an organization as its processes have them in memory: found by agent, tool and operation at once.

How much is left of one is not known here, only in the database, where it is claimed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from headgate.grants.model import Grant, why_not_answered
from headgate.kernel.canonical_json import JsonObject
from headgate.policies.model import Requirement


class Covering(Struct, frozen=True):
    """A grant that covers a call, and what the call adds to its sum (0 where it has none)."""

    grant_id: str
    amount: Decimal


class GrantBook:
    """Those in force as of one generation."""

    __slots__ = ("_by_call",)

    def __init__(self, grants: Iterable[Grant] = ()) -> None:
        by_call: defaultdict[tuple[str, str, str], list[Grant]] = defaultdict(list)
        for grant in grants:
            by_call[grant.agent_id, grant.tool, grant.operation].append(grant)
        # The narrowest first, so that a wide one is left for what only it covers; then what ends soonest.
        self._by_call = {call: sorted(found, key=_width) for call, found in by_call.items()}

    def __bool__(self) -> bool:
        return bool(self._by_call)

    def covering(
        self,
        *,
        agent_id: str,
        tool: str,
        operation: str,
        params: JsonObject,
        digest: bytes,
        requirements: Sequence[Requirement],
        now: datetime,
        since: datetime | None = None,
    ) -> list[Covering]:
        """Those that cover the call and answer every policy that asks, the narrowest first. ``since``: when the call's
        connection began to stand for its account; whoever granted before did not mean that one."""
        found: list[Covering] = []
        for grant in self._by_call.get((agent_id, tool, operation), ()):
            if (
                (since is not None and grant.created_at < since)
                or now >= grant.expires_at
                or not grant.scope.covers(params, digest)
            ):
                continue
            amount = grant.scope.amount(params)
            if amount is not None and requirements and why_not_answered(grant, requirements) is None:
                found.append(Covering(grant.grant_id, amount))
        return found


def _width(grant: Grant) -> tuple[bool, int, datetime]:
    return grant.scope.digest is None, -len(grant.scope.conditions), grant.expires_at
