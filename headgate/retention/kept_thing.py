"""A kind of thing that is kept, and how to forget it: the interface by which further ones join.

Whoever keeps another kind writes a ``KeptThing`` beside its own store and adds it to
``headgate.workflows.kept_things``; the worker's sweep, the setting, erasure and legal holds then apply to it.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject


@dataclass(frozen=True, slots=True)
class Dropped:
    """What one round dropped. ``data`` goes into the event beside ``count``."""

    count: int
    data: JsonObject = field(default_factory=dict)
    more: bool = False
    """There may be more of them: look again soon."""


type Drop = Callable[[Connection, str, datetime], Awaitable[Dropped]]
type Erase = Callable[[Connection, str, Sequence[str]], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class KeptThing:
    """``drop(connection, org_id, before)`` forgets a bounded number of those made before that moment;
    ``erase(connection, org_id, action_ids)`` all of these actions, and says how many there were. Both run in the
    caller's transaction, which also records the event, under the lock that placing a hold waits for; what
    ``under_hold(org, action, agent)`` (SQL) says yes to stays.
    """

    name: str
    drop: Drop
    erase: Erase
