"""Opens what every deciding process needs: the proxy, the API and the executor."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from redis.asyncio import Redis

from headgate.classifiers.classifiers import Classifiers
from headgate.configuration.data_directory import DataDirectory
from headgate.db.database import Database
from headgate.gate.fair_decisions import FairDecisions
from headgate.gate.judge_content import ContentJudge
from headgate.gate.organization_state import OrganizationState, OrganizationStates, nothing_to_read
from headgate.gate.pipeline import DecisionPipeline, Precondition
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import Clock
from headgate.kernel.secrets import Secret
from headgate.nlp_policies.evaluate import Evaluator
from headgate.nlp_policies.model import NlpResult
from headgate.nlp_policies.shared_requests import SharedRequests
from headgate.outgoing.trust import trusted_roots
from headgate.outgoing.upstream_proxy import UpstreamProxy
from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import Marker
from headgate.policies.model import Decision
from headgate.policies.shadow import ShadowSet
from headgate.tools.load import load_catalogues
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault, vault_of
from headgate.vault.unwrapper import Unwrapper


class DecidingSettings(Protocol):
    """Of the proxy, the API and the worker."""

    @property
    def database_dsn(self) -> Secret: ...
    @property
    def data(self) -> DataDirectory: ...
    @property
    def master_keys_file(self) -> Path | None: ...
    @property
    def unwrapper(self) -> Unwrapper | None: ...
    @property
    def upstream_ca_file(self) -> Path | None: ...
    @property
    def upstream_proxy(self) -> UpstreamProxy | None: ...
    @property
    def classifiers_dir(self) -> Path | None: ...


class MarkedThreads(Struct, frozen=True):
    """Whose marker says which policy each thread evaluates; ``shadow`` None: none evaluates shadow policies."""

    loop: str
    slow: str
    shadow: str | None = None


class Deciding(Struct, frozen=True):
    """``shared``: the windows of agents' requests that processes share; None: without Valkey."""

    vault: Vault
    catalogue: CatalogueIndex
    roots: ssl.SSLContext
    judges: Judges
    budgets: DailyBudgets
    classifiers: Classifiers
    evaluator: Evaluator
    states: OrganizationStates
    rules: FairDecisions
    shared: SharedRequests | None

    def pipeline(
        self,
        precondition: Precondition,
        *,
        is_shared: bool,
        observe: Callable[[Decision], None] = lambda decision: None,
    ) -> DecisionPipeline:
        """``is_shared``: what an agent sends is joined with what other processes saw of it."""
        content = ContentJudge(self.evaluator, shared=self.shared if is_shared else None)
        return DecisionPipeline(precondition, self.rules, content, observe)


@asynccontextmanager
async def open_deciding(
    settings: DecidingSettings,
    database: Database,
    valkey: Redis | None,
    clock: Clock,
    threads: MarkedThreads,
    *,
    observe_nlp: Callable[[NlpResult], None] = lambda result: None,
    loaded: Callable[[OrganizationState], None] = lambda state: None,
    read_usage: Callable[[str], Awaitable[None]] = nothing_to_read,
) -> AsyncIterator[Deciding]:
    """The caller has quarantined what killed a process before this one. ``loaded`` receives each new state of an
    organization; ``read_usage`` is called before one in which a policy asks for the use of language models. Raises
    ValidationError: a catalogue or a certificate file cannot be read."""
    async with AsyncExitStack() as stack:
        folder = settings.data.evaluating

        def marker(thread: str) -> Marker:
            made = Marker(folder, thread)
            stack.callback(made.close)
            return made

        shadow_set = ShadowSet if threads.shadow is None else partial(ShadowSet, marker=marker(threads.shadow))
        vault = vault_of(settings)
        states = OrganizationStates(
            database,
            compile_policies=partial(PolicySet, marker=marker(threads.loop)),
            compile_shadows=shadow_set,
            vault=vault,
            loaded=loaded,
            read_usage=read_usage,
        )
        rules = FairDecisions(marker(threads.slow))
        stack.callback(rules.close)
        roots = trusted_roots(settings.upstream_ca_file)
        judges = Judges(await stack.enter_async_context(open_client(roots, settings.upstream_proxy)))
        stack.push_async_callback(judges.close)
        classifiers = Classifiers(settings.classifiers_dir)
        stack.push_async_callback(classifiers.close)
        budgets = DailyBudgets(clock, valkey)
        yield Deciding(
            vault=vault,
            catalogue=load_catalogues(settings.data.catalogues),
            roots=roots,
            judges=judges,
            budgets=budgets,
            classifiers=classifiers,
            evaluator=Evaluator(judges, budgets, observe=observe_nlp, classifiers=classifiers),
            states=states,
            rules=rules,
            shared=None if valkey is None else SharedRequests(valkey, settings.database_dsn),
        )
