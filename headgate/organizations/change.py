"""One change of an organization's state: its transaction, its events, its generation, and this process's caches."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import field

from headgate.audit.change import Change
from headgate.audit.model import Event, EventType
from headgate.audit.store import append
from headgate.db.database import Connection, Database
from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.store import bump_generation


class OrganizationChange(Change, frozen=True):
    """A change inside its open transaction. Only ``begin_change`` makes one outside of tests."""

    connection: Connection
    _raised: list[int] = field(default_factory=list)

    async def raise_generation(self) -> int:
        """Makes decisions in flight stale and locks the organization's row: call it before what must be ordered.

        Answers the new generation. It rises once in a change, however often this is called: a savepoint that
        holds the first call and is rolled back ends what the change may do. Raises NotFoundError.
        """
        if not self._raised:
            self._raised.append(await bump_generation(self.connection, self.org_id))
        return self._raised[0]

    async def record(
        self, event_type: EventType, data: JsonObject, *, action_id: str | None = None, agent_id: str | None = None
    ) -> None:
        """Appends an event with this change's actor and time."""
        event = Event(event_type, self.at, self.actor, data, action_id=action_id, agent_id=agent_id)
        await append(self.connection, self.org_id, [event])


@asynccontextmanager
async def begin_change(database: Database, by: Change) -> AsyncIterator[OrganizationChange]:
    """Opens a transaction of ``by.org_id``, commits it, and tells ``database.generation_listeners`` if the generation
    rose. They are told even if the commit fails: the server may have committed before its answer was lost."""
    has_raised = False
    try:
        async with database.transaction(by.org_id) as connection:
            change = OrganizationChange(by.org_id, by.actor, by.user_id, by.at, connection)
            yield change
            has_raised = bool(change._raised)
    finally:
        for listener in database.generation_listeners if has_raised else ():
            listener(by.org_id)
