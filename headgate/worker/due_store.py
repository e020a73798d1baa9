"""Which loops of the worker have something to do, over all organizations, in one statement."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Final, LiteralString

from msgspec import Struct

from headgate.db.database import Database

OFTEN: Final[Mapping[str, LiteralString]] = {
    "apply": "journal_due()",
    "relay": "relay_due()",
}
SELDOM: Final[Mapping[str, LiteralString]] = {
    "expire": "approvals_due()",
    "escalate": "escalations_due()",
    "stream": "event_streams_due()",
    "connections": "connections_due(%(now)s, 1)",
    "checkpoint": "checkpoints_due(%(every)s, %(events)s)",
}
"""By the name of the loop: the functions with which the loops themselves look."""


class DueSettings(Struct, frozen=True):
    """``every``, ``events``: when a checkpoint is due."""

    now: datetime
    every: timedelta
    events: int


async def who_is_due(database: Database, names: Sequence[str], settings: DueSettings) -> list[str]:
    """Those of the names that have something to do. Raises UnavailableError."""
    parameters = {"now": settings.now, "every": settings.every, "events": settings.events}
    async with database.single_statement() as connection:
        row = await (await connection.execute(_statement(tuple(names)), parameters)).fetchone()
    return [name for name in names if row and row[name]]


@cache
def _statement(names: tuple[str, ...]) -> LiteralString:
    questions = {**OFTEN, **SELDOM}
    selected: list[LiteralString] = [
        f'EXISTS (SELECT FROM {questions[name]}) AS "{name}"' for name in questions if name in names
    ]
    joined: LiteralString = ", ".join(selected)
    return "SELECT " + joined
