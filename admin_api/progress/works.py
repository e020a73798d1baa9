"""The kinds of background work that a stream follows, and the current state of each.

A state is compared with the one before and is never sent: the stream names the kinds that changed.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from headgate.agents.scopes import Scope
from headgate.audit.feed_store import newest_seq, newest_seq_of_type
from headgate.audit.model import EventType
from headgate.db.database import Connection
from headgate.deliveries.backlog_store import delivery_state
from headgate.evidence.verification_store import last_verification
from headgate.kernel.errors import NotFoundError
from headgate.policies.replay_run_store import newest_progress
from headgate.reports.store import newest_states
from headgate.siem.store import load_states

type State = Callable[[Connection, str], Awaitable[object]]


class Work(Struct, frozen=True):
    """``scope``: what a viewer needs to receive its events: the scope of the pages and routes that show it."""

    name: str
    scope: Scope
    state: State


async def _reports(connection: Connection, org_id: str) -> object:
    return await newest_states(connection, org_id)


async def _verification(connection: Connection, org_id: str) -> object:
    try:
        return await last_verification(connection, org_id)
    except NotFoundError:
        return None


async def _replays(connection: Connection, org_id: str) -> object:
    return await newest_progress(connection, org_id)


async def _deliveries(connection: Connection, org_id: str) -> object:
    # A delivery that is sent again may be done between two looks.
    repeated = await newest_seq_of_type(connection, org_id, EventType.DELIVERY_REPEATED)
    return repeated, await delivery_state(connection, org_id)


async def _siem(connection: Connection, org_id: str) -> object:
    """The lag of a destination grows with the log."""
    states = await load_states(connection, org_id)
    return (states, await newest_seq(connection, org_id)) if states else None


WORKS: Final = (
    Work("replays", Scope.ACTIONS_READ, _replays),
    Work("reports", Scope.AUDIT_READ, _reports),
    Work("verification", Scope.AUDIT_READ, _verification),
    Work("deliveries", Scope.ADMIN, _deliveries),
    Work("siem", Scope.ADMIN, _siem),
)
