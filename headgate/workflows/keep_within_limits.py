"""The clock's part of retention: bodies are put away encrypted, and dropped, as each organization's policy says.

Each step is one transaction with its event, bounded in size; any number of workers may do it at once, as each
organization's progress is a row that they lock. An organization that cannot be served does not keep others waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import structlog

from headgate.audit.model import SYSTEM, Event, EventType
from headgate.audit.store import append
from headgate.db.database import Database
from headgate.kernel.clock import Clock, rfc3339
from headgate.kernel.errors import HeadgateError
from headgate.retention.action_bodies import put_bodies_away, rewrap_keys
from headgate.retention.hold_store import holds_everything, keep_holds_still
from headgate.retention.model import RetentionPolicy
from headgate.retention.retained_kind import RetainedKind
from headgate.retention.settings import load_policy
from headgate.retention.sweep_store import drop_empty_partitions, ensure_partition, organizations
from headgate.traffic.retention import rewrap_captures
from headgate.vault.service import Vault
from headgate.workflows.retained_kinds import RETAINED_KINDS

_log = structlog.get_logger(__name__)


_ORGANIZATIONS: Final = 20
"""In one round, so that a worker that is told to stop has finished its round soon."""


@dataclass(slots=True)
class RetentionSweep:
    """``run`` is the worker's loop: how much is left to do at once, 0 where everything is as it should be."""

    database: Database
    vault: Vault
    clock: Clock
    things: Sequence[RetainedKind] = RETAINED_KINDS
    _served: str = field(default="", init=False)
    """The last organization of the rounds before; the next ones follow it."""

    async def run(self) -> int:
        """Raises UnavailableError where the database is out of reach."""
        async with self.database.across_organizations() as connection:
            org_ids = await organizations(connection, after=self._served, limit=_ORGANIZATIONS)
        done = 0
        for org_id in org_ids:
            try:
                done += await self.sweep(org_id)
            except HeadgateError as error:
                _log.error("retention_failed", org_id=org_id, error=error.message)
        if len(org_ids) == _ORGANIZATIONS:
            self._served = org_ids[-1]
            return done + 1
        self._served = ""
        async with self.database.across_organizations() as connection:
            await drop_empty_partitions(connection)
        return done

    async def sweep(self, org_id: str) -> int:
        """One round of each step for one organization; how much there was to do."""
        async with self.database.transaction(org_id) as connection:
            policy = await load_policy(connection, org_id, [one.name for one in self.things])
            # Proxies seal what a policy has them capture, and have no right to make the first key.
            await self.vault.make_first_keys(connection, org_id)
        return await self._put_away(org_id, policy) + await self._rewrap(org_id) + await self._drop(org_id, policy)

    async def _put_away(self, org_id: str, policy: RetentionPolicy) -> int:
        if policy.encrypt_after_days is None:
            return 0
        before = self._ago(policy.encrypt_after_days)
        async with self.database.across_organizations() as connection:
            # Most of what is put away is of that moment's month; what is older is in the partition for the rest.
            await ensure_partition(connection, before)
        async with self.database.transaction(org_id) as connection:
            moved, more = await put_bodies_away(connection, org_id, before, self.vault)
        return moved + more

    async def _rewrap(self, org_id: str) -> int:
        """What was put away follows a rotation of the master keys."""
        if not self.vault.keys_file.exists():
            return 0
        async with self.database.transaction(org_id) as connection:
            bodies = await rewrap_keys(connection, org_id, self.vault)
            return bodies + await rewrap_captures(connection, org_id, self.vault)

    async def _drop(self, org_id: str, policy: RetentionPolicy) -> int:
        done = 0
        for thing in self.things:
            days = policy.drop_after_days.get(thing.name)
            if days is not None:
                done += await self._drop_one(org_id, thing, self._ago(days))
        return done

    async def _drop_one(self, org_id: str, thing: RetainedKind, before: datetime) -> int:
        async with self.database.transaction(org_id) as connection:
            await keep_holds_still(connection, org_id)
            if await holds_everything(connection, org_id):
                return 0
            dropped = await thing.drop(connection, org_id, before)
            if dropped.count:
                data = {"kind": thing.name, "count": dropped.count, "made_before": rfc3339(before), **dropped.data}
                await append(connection, org_id, [Event(EventType.BODY_DROPPED, self.clock(), SYSTEM, data)])
                _log.info("bodies_dropped", org_id=org_id, kind=thing.name, count=dropped.count)
        return dropped.count + dropped.more

    def _ago(self, days: int) -> datetime:
        return self.clock() - timedelta(days=days)
