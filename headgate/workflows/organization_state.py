"""What a process knows of an organization, valid for one generation (semantics.md, "Fresh state").

Decisions are made on this snapshot; the statement that records one compares its generation with the
database's, so that a stale snapshot costs a reload, never a wrong decision. The poll only keeps it warm.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from headgate.db.database import Database
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.organizations.destinations import Allowlist, parse_allowlist
from headgate.organizations.store import generation as stored_generation
from headgate.organizations.store import generations
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.shadow import ShadowSet
from headgate.policies.store import load_enabled
from headgate.policies.surroundings import Surroundings, load_surroundings

_log = structlog.get_logger(__name__)

_POLL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class OrganizationState:
    """Everything of an organization that a decision depends on, as of ``generation``.

    ``shadows``: None where no policy only watches. ``rules`` and ``around`` are what both were made from.
    """

    org_id: str
    generation: int
    policies: PolicySet
    allowlist: Allowlist
    shadows: ShadowSet | None = None
    rules: tuple[RulePolicy, ...] = ()
    around: Surroundings | None = None


class OrganizationStates:
    """The snapshots of the organizations that this process has served."""

    def __init__(
        self,
        database: Database,
        *,
        compile_policies: Callable[..., PolicySet] = PolicySet,
        compile_shadows: Callable[..., ShadowSet] = ShadowSet,
    ) -> None:
        self._database = database
        self._compile_policies = compile_policies
        self._compile_shadows = compile_shadows
        self._states: dict[str, OrganizationState] = {}
        self._loading: dict[str, asyncio.Lock] = {}

    def current(self, org_id: str) -> OrganizationState | None:
        """The snapshot in memory, if there is one."""
        return self._states.get(org_id)

    async def at_least(self, org_id: str, generation: int) -> OrganizationState:
        """A snapshot that is no older than ``generation``. Raises UnavailableError."""
        state = self._states.get(org_id)
        if state is not None and state.generation >= generation:
            return state
        async with self._loading.setdefault(org_id, asyncio.Lock()):
            state = self._states.get(org_id)
            if state is None or state.generation < generation:
                state = await self._load(org_id)
            return state

    async def newer_than(self, stale: OrganizationState) -> OrganizationState:
        """The state that made ``stale`` stale. Raises UnavailableError."""
        return await self.at_least(stale.org_id, stale.generation + 1)

    async def _load(self, org_id: str) -> OrganizationState:
        async with self._database.transaction(org_id) as connection:
            # Read first: what changes while the rest is read makes the snapshot too new for its number, which
            # the record then finds stale; the other way round it would pass for fresh.
            generation = await stored_generation(connection, org_id)
            policies = await load_enabled(connection, org_id)
            around = await load_surroundings(connection, org_id)
        allowlist = Allowlist.empty() if around.allowlist is None else parse_allowlist(around.allowlist)
        # Half a millisecond a new policy, most of it with the interpreter lock released: not in the loop's thread.
        compiled = await asyncio.to_thread(self._compile_policies, policies, around.data, libraries=around.libraries)
        shadows = None
        if any(policy.mode is PolicyMode.SHADOW for policy in policies):
            shadows = await asyncio.to_thread(self._compile_shadows, policies, around.data, libraries=around.libraries)
        state = OrganizationState(org_id, generation, compiled, allowlist, shadows, tuple(policies), around)
        self._states[org_id] = state
        _log.info("organization_state_loaded", org_id=org_id, generation=generation, policies=len(policies))
        return state

    async def refresh(self) -> None:
        """Reload what has moved; organizations that cannot be loaded keep their snapshot (and its number)."""
        if not self._states:
            return
        async with self._database.across_organizations() as connection:
            stored = await generations(connection, self._states)
        for org_id, generation in stored.items():
            if generation > self._states[org_id].generation:
                await self.at_least(org_id, generation)

    async def keep_warm(self) -> None:
        """Poll for ever; a database that is out of reach is waited for."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            try:
                await self.refresh()
            except UnavailableError:
                continue
            except HeadgateError as error:
                _log.warning("organization_state_not_refreshed", error=error.message)
