"""A kind of retained data and how to delete it: the interface for further kinds.

To add a kind, write a ``RetainedKind`` beside its store and add it to ``headgate.workflows.retained_kinds``. The
worker's sweep, the setting, erasure and legal holds then apply to it.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from msgspec import Struct, field

from headgate.db.database import Connection
from headgate.kernel.canonical_json import JsonObject


class Dropped(Struct, frozen=True):
    """What one round dropped. ``data`` goes into the event beside ``count``."""

    count: int
    data: JsonObject = field(default_factory=dict)
    more: bool = False
    """More may remain: repeat soon."""


type Drop = Callable[[Connection, str, datetime], Awaitable[Dropped]]
type Erase = Callable[[Connection, str, Sequence[str]], Awaitable[int]]


class RetainedKind(Struct, frozen=True):
    """``drop(connection, org_id, before)`` deletes a bounded number of items made before that moment.
    ``erase(connection, org_id, action_ids)`` deletes all items of these actions and returns their number. Both run in
    the caller's transaction, which also records the event, under the lock that placing a legal hold waits for. Items
    for which ``under_hold(org, action, agent)`` (SQL) is true stay."""

    name: str
    drop: Drop
    erase: Erase
