"""Reports how an attempt ended, once, until the report is durable."""

import asyncio
from typing import Final

import structlog

from headgate.audit.model import SYSTEM, payload_text
from headgate.db.database import Connection, Database
from headgate.executions.model import AttemptOf, Claim, ExecutionLimits, Settlement
from headgate.executions.store import settle, unsent_exemption
from headgate.kernel.canonical_json import JsonObject, canonical_bytes, sha256_hex
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnavailableError

_log = structlog.get_logger(__name__)

_FIRST_PAUSE_SECONDS: Final = 0.05
_LAST_PAUSE_SECONDS: Final = 5.0


class Settlements:
    """Of one process, by its instance."""

    def __init__(self, database: Database, clock: Clock, *, instance_id: str) -> None:
        self._database = database
        self._clock = clock
        self._instance_id = instance_id

    async def tell(
        self, org_id: str, execution_id: str, settlement: Settlement, limits: ExecutionLimits, *, claimed: Claim
    ) -> None:
        """Of an attempt of this process. Returns when it is durable, however long the database is away. Where another
        process has taken this one for dead and begun anew, nothing is changed."""
        attempt_of = AttemptOf(self._instance_id, claimed.started_at)
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._settle(org_id, execution_id, settlement, limits, attempt_of)
                return
            except UnavailableError:
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LAST_PAUSE_SECONDS)

    async def refuse(self, org_id: str, execution_id: str, reason: str, limits: ExecutionLimits) -> None:
        """It was not tried. Raises UnavailableError: its job comes again."""
        await self._settle(org_id, execution_id, Settlement(False, reason, None, nothing_sent=True), limits, None)

    async def give_up(self, org_id: str, execution_id: str, reason: str) -> None:
        """Whether or not an attempt was under way. Raises UnavailableError."""
        async with self._database.transaction(org_id) as connection:
            for tried in (False, True):
                settlement = Settlement(False, f"given up: {reason}", None, nothing_sent=not tried)
                await self._settled(connection, org_id, execution_id, settlement, ExecutionLimits(), tried=tried)

    async def _settle(
        self,
        org_id: str,
        execution_id: str,
        settlement: Settlement,
        limits: ExecutionLimits,
        attempt_of: AttemptOf | None,
    ) -> None:
        """``attempt_of`` None: of what still waits."""
        tried = attempt_of is not None
        async with self._database.transaction(org_id) as connection:
            settled = await self._settled(
                connection, org_id, execution_id, settlement, limits, tried=tried, attempt_of=attempt_of
            )
        if not settled:
            _log.warning("execution_ended_elsewhere", org_id=org_id, execution_id=execution_id)

    async def _settled(
        self,
        connection: Connection,
        org_id: str,
        execution_id: str,
        settlement: Settlement,
        limits: ExecutionLimits,
        *,
        tried: bool,
        attempt_of: AttemptOf | None = None,
    ) -> bool:
        give_back = None
        if settlement.nothing_sent and settlement.again_seconds is None:
            give_back = await unsent_exemption(connection, org_id, execution_id, tried=tried)
        return await settle(
            connection,
            org_id,
            execution_id,
            settlement,
            _payload(execution_id, settlement, give_back),
            tried=tried,
            at=self._clock(),
            limits=limits,
            withheld=_withheld_payload(execution_id, settlement),
            give_back=give_back,
            attempt_of=attempt_of,
        )


def _payload(execution_id: str, settlement: Settlement, give_back: str | None) -> str:
    data: JsonObject = {"execution_id": execution_id}
    if give_back is not None:
        data["exemption_given_back"] = give_back
    if settlement.result is not None:
        # The body is in the execution, which can be erased; the record, which cannot, has its digest.
        data["result"] = {name: value for name, value in settlement.result.items() if name != "body"}
        data["result_digest"] = sha256_hex(canonical_bytes(settlement.result))
    if settlement.error is not None:
        data["error"] = settlement.error
    if settlement.again_seconds is not None:
        data["again_in_seconds"] = round(settlement.again_seconds, 3)
    return payload_text(SYSTEM, data)


def _withheld_payload(execution_id: str, settlement: Settlement) -> str | None:
    """``response.withheld``."""
    if settlement.withheld is None:
        return None
    return payload_text(SYSTEM, {"execution_id": execution_id, **settlement.withheld})
