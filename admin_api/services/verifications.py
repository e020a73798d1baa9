"""Verifications of logs that run in the background of an API process; the database has how far each is."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.audit.chain_store import range_of
from headgate.audit.model import Actor
from headgate.db.database import Database
from headgate.evidence.signing_keys import SigningKeySource
from headgate.evidence.verification_store import begin_verification, finish_verification, tell_progress
from headgate.evidence.verify_record import RecordVerification
from headgate.evidence.verify_with_checkpoints import verify_with_checkpoints
from headgate.kernel.errors import HeadgateError
from headgate.kernel.tasks import TaskSet

_TELL_SECONDS: Final = 1.0

type Shown = Callable[[RecordVerification], str]
"""The result as JSON."""


class _Count(Struct):
    events: int = 0

    def add(self, more: int) -> None:
        self.events += more


class Verifications(Struct, frozen=True):
    database: Database
    signing_keys: SigningKeySource
    tasks: TaskSet

    async def start(
        self,
        org_id: str,
        actor: Actor,
        given: Sequence[str],
        shown: Shown,
        *,
        start: datetime | None,
        end: datetime | None,
    ) -> None:
        """Raises ConflictError where one of this log runs already."""
        run = secrets.token_hex(16)
        async with self.database.transaction(org_id) as connection:
            numbers = await range_of(connection, org_id, start, end)
            events = 0 if numbers is None else numbers[1] - numbers[0] + 1
            await begin_verification(connection, org_id, run, actor.name or actor.id, events)
        self.tasks.start(self._run(org_id, run, given, shown, start, end), name="verification")

    async def _run(
        self, org_id: str, run: str, given: Sequence[str], shown: Shown, start: datetime | None, end: datetime | None
    ) -> None:
        count = _Count()
        telling = self.tasks.start(self._keep_telling(org_id, run, count), name="verification_progress")
        result, failure = None, None
        try:
            async with self.database.transaction(org_id) as connection:
                found = await verify_with_checkpoints(
                    connection, org_id, self.signing_keys, given, start=start, end=end, progress=count.add
                )
            result = shown(found)
        except HeadgateError as error:
            failure = error.message
        finally:
            telling.cancel()
        async with self.database.transaction(org_id) as connection:
            await finish_verification(connection, org_id, run, count.events, result, failure)

    async def _keep_telling(self, org_id: str, run: str, count: _Count) -> None:
        while True:
            await asyncio.sleep(_TELL_SECONDS)
            async with self.database.transaction(org_id) as connection:
                await tell_progress(connection, org_id, run, count.events)
