"""A snapshot of an organization's settings, valid for one generation (semantics.md, "Fresh state").

Decisions use the snapshot. The statement that records a decision compares the generation with the database's, so that a
stale snapshot costs a reload and never a wrong decision. A poll keeps it warm.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final

import structlog
from msgspec import Struct

from headgate.agent_sessions.model import reads_sessions
from headgate.agents.kill_switch import current_stops
from headgate.break_glass.model import BrokenGlass
from headgate.break_glass.store import waiting_glasses
from headgate.canaries.model import NO_CANARIES, CanarySet
from headgate.canaries.service import load_canaries
from headgate.connections.choose import NO_CONNECTIONS, ConnectionBook, book_of
from headgate.connections.store import load_connections
from headgate.db.database import Connection, Database
from headgate.detectors.prepare import prepare
from headgate.grants.book import GrantBook
from headgate.grants.store import grants_in_force
from headgate.judges.model import Provider
from headgate.kernel.errors import HeadgateError, UnavailableError
from headgate.llm_usage.model import reads_usage
from headgate.llm_usage.prices import NO_PRICES, Prices, stored_prices
from headgate.mcp_tools.store import changed_tools
from headgate.nlp_policies.model import NlpPolicy
from headgate.nlp_policies.provider_service import load_providers
from headgate.nlp_policies.store import load_enabled_nlp
from headgate.organizations.destinations import Allowlist
from headgate.organizations.stops import NOTHING_STOPPED, Stops
from headgate.organizations.store import generation as stored_generation
from headgate.organizations.store import generations
from headgate.organizations.stored_rules import destination_rules
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import PolicyMode, RulePolicy
from headgate.policies.shadow import ShadowSet
from headgate.policies.store import load_enabled
from headgate.policies.surroundings import Surroundings, load_surroundings
from headgate.provenance.model import ProvenanceRules, provenance_rules
from headgate.traffic.rules import NO_CAPTURES, CaptureRules
from headgate.traffic.settings_service import load_capture_rules
from headgate.vault.service import Vault

_log = structlog.get_logger(__name__)

MOST_DECISIONS: Final = 8
"""A call is decided again when the state moved between deciding and recording; one that never settles is refused."""

UNSETTLED: Final = "the organization's settings are changing too fast to decide; try again"

_POLL_SECONDS: Final = 0.5
_NO_GRANTS: Final = GrantBook()


class OrganizationState(Struct, frozen=True):
    """Everything of an organization that a decision depends on, as of ``generation``.

    ``shadows``: None where no policy only watches. ``rules`` and ``around`` are what both were made from.
    ``grants`` and ``glasses`` (by agent and digest) are what people have permitted beforehand.
    """

    org_id: str
    generation: int
    policies: PolicySet
    allowlist: Allowlist
    shadows: ShadowSet | None = None
    rules: tuple[RulePolicy, ...] = ()
    around: Surroundings | None = None
    nlp_policies: tuple[NlpPolicy, ...] = ()
    nlp_providers: Mapping[str, Provider] = MappingProxyType({})
    stops: Stops = NOTHING_STOPPED
    grants: GrantBook = _NO_GRANTS
    glasses: Mapping[tuple[str, bytes], BrokenGlass] = MappingProxyType({})
    captures: CaptureRules = NO_CAPTURES
    connections: ConnectionBook = NO_CONNECTIONS
    provenance: ProvenanceRules | None = None
    """None: no policy asks where values were first seen."""
    reads_sessions: bool = False
    """Whether a policy asks what an agent has done lately."""
    changed_tools: frozenset[tuple[str, str]] = frozenset()
    """MCP tools whose definition is not the one that was accepted, by server and name."""
    reads_usage: bool = False
    """Whether a policy asks what an agent has used of language models today."""
    prices: Prices = NO_PRICES
    canaries: CanarySet = NO_CANARIES

    @property
    def has_exemptions(self) -> bool:
        """Whether a decision that is not allow may have an exception."""
        return bool(self.grants) or bool(self.glasses)


async def nothing_to_read(org_id: str) -> None:
    """Of a process that adds no use to what it decides."""


class OrganizationStates:
    """The snapshots of the organizations that this process has served."""

    def __init__(
        self,
        database: Database,
        *,
        compile_policies: Callable[..., PolicySet] = PolicySet,
        compile_shadows: Callable[..., ShadowSet] = ShadowSet,
        vault: Vault | None = None,
        loaded: Callable[[OrganizationState], None] = lambda state: None,
        read_usage: Callable[[str], Awaitable[None]] = nothing_to_read,
    ) -> None:
        """``loaded`` receives each new snapshot. ``read_usage`` reads what an organization has used of language models,
        before a policy that asks for it decides; it raises UnavailableError."""
        self._read_usage = read_usage
        self._loaded = loaded
        self._database = database
        self._compile_policies = compile_policies
        self._compile_shadows = compile_shadows
        self._vault = vault
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
            stops = await current_stops(connection, org_id)
            policies = await load_enabled(connection, org_id)
            around = await load_surroundings(connection, org_id)
            allowlist = await destination_rules(connection, org_id)
            captures = await load_capture_rules(connection, org_id)
            nlp_policies = tuple(await load_enabled_nlp(connection, org_id))
            nlp_providers = await self._providers(connection, org_id, nlp_policies)
            grants = GrantBook(await grants_in_force(connection, org_id))
            connections = book_of(await load_connections(connection, org_id))
            changed = await changed_tools(connection, org_id)
            canaries = await load_canaries(connection, org_id, self._vault)
            glasses = {(one.agent_id, one.digest): one for one in await waiting_glasses(connection, org_id)}
        # Half a millisecond a new policy, most of it with the interpreter lock released: not in the loop's thread.
        compiled = await asyncio.to_thread(self._compile_policies, policies, around.data, libraries=around.libraries)
        shadows = None
        if any(policy.mode is PolicyMode.SHADOW for policy in policies):
            shadows = await asyncio.to_thread(self._compile_shadows, policies, around.data, libraries=around.libraries)
        if nlp_policies:
            await asyncio.to_thread(prepare)
        texts = [*(one.rego_policy for one in policies), *(text for _, text in around.libraries)]
        state = OrganizationState(
            org_id,
            generation,
            compiled,
            allowlist,
            shadows,
            tuple(policies),
            around,
            nlp_policies,
            nlp_providers,
            stops,
            grants,
            glasses,
            captures,
            connections,
            provenance_rules(texts, around.documents),
            reads_sessions(texts),
            changed,
            reads_usage(texts),
            stored_prices(around.documents),
            canaries,
        )
        if state.reads_usage:
            await self._read_usage(org_id)
        self._states[org_id] = state
        self._loaded(state)
        _log.info("organization_state_loaded", org_id=org_id, generation=generation, policies=len(policies))
        return state

    async def _providers(
        self, connection: Connection, org_id: str, policies: tuple[NlpPolicy, ...]
    ) -> Mapping[str, Provider]:
        """None where none is needed, or a key does not open: each policy that needs one then decides by on_error."""
        if self._vault is None or all(policy.draft.is_local for policy in policies):
            return {}
        try:
            return await load_providers(connection, org_id, self._vault)
        except UnavailableError as error:
            _log.error("nlp_providers_not_loaded", org_id=org_id, error=error.message)
            return {}

    async def refresh(self) -> None:
        """Reload what has moved; organizations that cannot be loaded keep their snapshot (and its number)."""
        if not self._states:
            return
        async with self._database.single_statement() as connection:
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
