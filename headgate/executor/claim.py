"""Claims an attempt, durably and before the first byte is sent, with the credential that it carries."""

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from headgate.actions.instance import Instance
from headgate.audit.model import SYSTEM, payload_text
from headgate.connections.carried import Carried
from headgate.connections.errors import BrokenConnectionError
from headgate.connections.open_credential import OpenCredentials
from headgate.db.database import Connection, Database
from headgate.executions.credentials import set_credential, stored_name
from headgate.executions.model import Claim, ClaimOutcome
from headgate.executions.store import claim
from headgate.executor.redecide import Permitted
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.clock import Clock
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault

WAIT_IN_PLACE_SECONDS: Final = 1.0
"""A place that is free in a moment is waited for here; deferring again costs more than the wait."""
_LOOK_SECONDS: Final = 0.05


class Claimed(Struct, frozen=True):
    """What a claim said, and the credential that the attempt carries. ``refusal``: why there is none to be had."""

    claim: Claim
    carried: Carried | None = None
    refusal: str | None = None


class AttemptClaims:
    """Of one process; ``chance`` is for the jitter. ``concurrency_max``: the operator's ceiling."""

    def __init__(
        self,
        database: Database,
        catalogue: CatalogueIndex,
        vault: Vault,
        opened: OpenCredentials,
        instance: Instance,
        clock: Clock,
        chance: Callable[[], float],
        *,
        concurrency_max: int,
    ) -> None:
        self._database = database
        self._catalogue = catalogue
        self._vault = vault
        self._opened = opened
        self._instance = instance
        self._clock = clock
        self._chance = chance
        self._concurrency_max = concurrency_max

    async def wait_for(self, org_id: str, permitted: Permitted, claimed: Claimed | None) -> Claimed:
        """Waits a moment in place where all it lacks is a free one. ``claimed``: what was said already."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + WAIT_IN_PLACE_SECONDS
        while True:
            if claimed is None:
                async with self._database.transaction(org_id) as connection:
                    claimed = await self.claim(connection, org_id, permitted)
            left = deadline - loop.time()
            wait = claimed.claim.wait_seconds
            if claimed.claim.outcome is not ClaimOutcome.BUSY or left <= 0 or wait > left:
                return claimed
            await asyncio.sleep(min(wait, _LOOK_SECONDS * (1 + self._chance())))
            claimed = None

    async def claim(self, connection: Connection, org_id: str, permitted: Permitted) -> Claimed:
        queued, generation = permitted.queued, permitted.state.generation
        # After the decision, so that no policy and no record ever sees it.
        try:
            carried = await self._carried(connection, org_id, permitted)
        except BrokenConnectionError as error:
            return Claimed(Claim(ClaimOutcome.REFUSED, 0.0, 0, self._clock()), refusal=error.message)
        redecided: JsonObject = {
            **permitted.decision.record(),
            "generation": generation,
            "evaluated_for": "execution",
        }
        started: JsonObject = {"execution_id": queued.execution_id, "instance_id": self._instance.instance_id}
        if queued.approval_id is not None:
            redecided["matched_by"] = started["approval_id"] = queued.approval_id
        claimed = await claim(
            connection,
            org_id,
            queued.execution_id,
            generation=generation,
            instance_id=self._instance.instance_id,
            at=self._clock(),
            redecided=payload_text(SYSTEM, redecided),
            started=payload_text(SYSTEM, started),
            limits=queued.limits.within(self._concurrency_max),
            action_id=queued.action_id,
            agent_id=queued.agent_id,
        )
        return Claimed(claimed, carried if claimed.outcome is ClaimOutcome.CLAIMED else None)

    async def _carried(self, connection: Connection, org_id: str, permitted: Permitted) -> Carried | None:
        """Of the connection that was decided with; else what the settings keep under the name of the catalogue."""
        if (used := permitted.candidate.connection) is not None:
            return await self._opened.open_in(connection, used)
        queued, call = permitted.queued, permitted.candidate.draft.call
        entry = self._catalogue.tools.get(queued.tool, {}).get(queued.operation)
        if entry is None or call is None or (place := entry.sending.credential) is None:
            return None
        stored = stored_name(place, entry.sending, call.host)
        return await set_credential(connection, org_id, self._vault, place, stored)
