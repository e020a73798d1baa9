"""The API's composition: from settings to what the routes work with, and back to nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import structlog

from admin_api.authentication import Authenticator
from admin_api.dependencies import Dependencies
from admin_api.feeds.feed import Feeds
from admin_api.feeds.viewers import Places
from admin_api.metrics import POLICIES, observe_batch
from admin_api.people import open_people
from admin_api.process_settings import ApiSettings
from admin_api.services.connection_work import connection_work
from admin_api.services.cookies import cookies_of
from admin_api.services.factor_work import factor_work
from admin_api.services.inbound_work import inbound_work
from admin_api.services.replay_runs import ReplayRuns
from admin_api.services.slo_sampler import SloSampler
from admin_api.services.traffic_review import Review
from admin_api.services.vault_watch import VaultWatch
from admin_api.services.verifications import Verifications
from headgate.agents.authenticate import KeyRing
from headgate.approvals.decide import DecideApproval
from headgate.approvals.escalate import EscalateApproval
from headgate.approvals.gate_store import MOST_OPEN_APPROVALS
from headgate.approvals.reassign import ReassignApproval
from headgate.db.connection_shares import ConnectionShares
from headgate.db.database import Database
from headgate.db.valkey import open_valkey
from headgate.detectors.prepare import prepare
from headgate.executions.control import ControlExecutions
from headgate.gate.attest_entries import AttestEntries
from headgate.gate.caller import Callers
from headgate.gate.dry_run import DryRun
from headgate.gate.edit_approval import EditApproval
from headgate.gate.offer_tools import OfferTools
from headgate.gate.preconditions import blocked_or_stopped
from headgate.gate.process import MarkedThreads, open_deciding
from headgate.gate.record_batch import Recorder
from headgate.gate.shadow_calls import ShadowCalls
from headgate.gate.submit_action import SubmitAction
from headgate.gate.take_action import TakeAction
from headgate.judges.daily_budget import DailyBudgets
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.entry_codes import EntryCodes
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.mcp_tools.pins import ToolPins
from headgate.nlp_policies.rehearsal import Rehearsals
from headgate.outgoing.client import OutgoingClient
from headgate.outgoing.httpx_transport import open_operator_client
from headgate.outgoing.resolver import SystemResolver
from headgate.outgoing.trust import trusted_roots
from headgate.policies.marker import DRY_RUN_THREAD, SHADOW_THREAD, SLOW_THREAD, Marker
from headgate.policies.quarantine import quarantine_suspects
from headgate.ratelimits.limiter import RateLimiter
from headgate.vault.service import vault_of
from headgate.workflows.replay_policy import ReplayPolicy

_log = structlog.get_logger(__name__)

DATABASE_CONNECTIONS: Final = 10
RESERVED_CONNECTIONS: Final = 2
"""Of those: for stops and decisions on approvals."""


@asynccontextmanager
async def open_dependencies(settings: ApiSettings, *, clock: Clock = system_clock) -> AsyncIterator[Dependencies]:
    """What one API process works with, for as long as the block runs. A database that is not there yet is waited
    for in the background (/ready tells). Raises UnavailableError where the signing key cannot be read or made."""
    async with AsyncExitStack() as stack:
        codes = EntryCodes(vault_of(settings).master_keys)
        database = Database(
            settings.database_dsn,
            max_connections=DATABASE_CONNECTIONS,
            shares=ConnectionShares(DATABASE_CONNECTIONS, reserved=RESERVED_CONNECTIONS),
            entry_codes=codes,
        )
        await database.open()
        stack.push_async_callback(database.close)
        valkey = open_valkey(settings.valkey_url)
        if valkey is not None:
            stack.push_async_callback(valkey.aclose)
        roots = trusted_roots(settings.upstream_ca_file)
        client = await stack.enter_async_context(open_operator_client(roots, proxy=settings.upstream_proxy))

        recorder = Recorder(settings.database_dsn, codes, observe=observe_batch)
        await recorder.open()
        attest_entries = AttestEntries(database, recorder.lanes, codes, recorder.written)
        stack.push_async_callback(attest_entries.close)
        stack.push_async_callback(recorder.close)
        await quarantine_suspects(database, settings.data.evaluating)
        dry_run_marker = Marker(settings.data.evaluating, DRY_RUN_THREAD)
        stack.callback(dry_run_marker.close)
        threads = MarkedThreads("", SLOW_THREAD, SHADOW_THREAD)
        deciding = await stack.enter_async_context(
            open_deciding(settings, database, valkey, clock, threads, observe_nlp=POLICIES.observe_nlp)
        )
        catalogue, vault, states = deciding.catalogue, deciding.vault, deciding.states
        shadow_calls = ShadowCalls(states, database, observe=POLICIES.observe_shadow)
        stack.push_async_callback(shadow_calls.close)
        resolver = SystemResolver()
        stack.callback(resolver.close)
        outgoing = OutgoingClient(roots, resolver, settings.upstream_proxy)
        people = open_people(settings, client, database, clock)
        decide_approval = DecideApproval(database, valkey, clock, settings.sign_in_trust, people.tokens.roles_now)
        keys = KeyRing(database, clock=clock)
        stack.push_async_callback(_touch_last, keys)
        tasks = TaskSet(lambda name, error: _log.critical("api_task_ended", task=name, error=repr(error)))
        stack.push_async_callback(tasks.close)
        tasks.start(states.keep_warm(), name="keep_warm")
        tasks.start(attest_entries.keep_attesting(), name="attest_entries")
        tasks.start(asyncio.to_thread(prepare), name="prepare_detectors")
        tasks.start(keys.keep_touched(), name="keep_touched")
        tasks.start(shadow_calls.keep_asking(), name="shadow_policies")
        review = Review()
        stack.push_async_callback(review.close)
        slos = SloSampler()
        cookies = cookies_of(settings.public_url)
        tasks.start(slos.keep_sampling(), name="slo_samples")
        vault_watch = VaultWatch(database, vault)
        tasks.start(vault_watch.keep_looking(), name="vault_watch")

        submit_action = SubmitAction(
            pipeline=deciding.pipeline(blocked_or_stopped, is_shared=True),
            callers=Callers(states, keys, clock),
            recorder=recorder,
            database=database,
            clock=clock,
            vault=vault,
            catalogue=catalogue,
            approval_expires_seconds=settings.approval_expires_seconds,
            most_open_approvals=MOST_OPEN_APPROVALS if settings.rate_limits else None,
            shadow=shadow_calls.recorded,
        )

        yield Dependencies(
            database=database,
            valkey=valkey,
            clock=clock,
            keys=keys,
            authenticator=Authenticator(
                keys=keys,
                tokens=people.tokens,
                database=database,
                clock=clock,
                cookies=cookies,
                session_limits=settings.session_limits,
            ),
            cookies=cookies,
            session_limits=settings.session_limits,
            browser_login=people.browser_login,
            local_tickets=people.local_tickets,
            passkeys=people.passkeys,
            rate_limiter=RateLimiter(valkey, quotas=settings.quotas, enabled=settings.rate_limits),
            states=states,
            recorder=recorder,
            submit_action=submit_action,
            take_action=TakeAction(
                pipeline=deciding.pipeline(blocked_or_stopped, is_shared=False),
                callers=Callers(states, keys, clock),
                recorder=recorder,
                database=database,
                clock=clock,
                vault=vault,
                catalogue=catalogue,
                shadow=shadow_calls.recorded,
            ),
            offer_tools=OfferTools(
                Callers(states, keys, clock), deciding.rules, ToolPins(database, clock), deciding.evaluator
            ),
            decide_approval=decide_approval,
            inbound=inbound_work(
                database=database,
                vault=vault,
                client=outgoing,
                clock=clock,
                keys=keys,
                decide=decide_approval,
                submit=submit_action,
                catalogue=catalogue,
            ),
            outgoing=outgoing,
            edit_approval=EditApproval(
                database,
                valkey,
                clock,
                states,
                deciding.pipeline(blocked_or_stopped, is_shared=False),
                catalogue,
                vault,
            ),
            reassign_approval=ReassignApproval(database, clock),
            escalate_approval=EscalateApproval(database, clock),
            dry_run=DryRun(
                states=states,
                database=database,
                catalogue=catalogue,
                marker=dry_run_marker,
                rehearsals=Rehearsals(
                    deciding.judges, deciding.budgets, spent=DailyBudgets(clock), classifiers=deciding.classifiers
                ),
                delegation_depth=settings.delegation_depth,
            ),
            replay_policy=ReplayPolicy(database),
            ca_certificate=settings.ca_certificate,
            api_url=settings.public_url or f"http://{settings.host}:{settings.port}",
            proxy_url=settings.proxy_url,
            command_name=settings.command_name,
            vault=vault,
            nlp=deciding.evaluator,
            judges=deciding.judges,
            grant_max_seconds=settings.grant_max_seconds,
            key_lifetime_days=settings.key_lifetime_days,
            delegation_depth=settings.delegation_depth,
            execution_concurrency_max=settings.execution_concurrency_max,
            catalogue=catalogue,
            control_executions=ControlExecutions(database, clock),
            signing_keys=settings.evidence_keys,
            checkpoint_seconds=settings.checkpoint_seconds,
            catalogue_documents=catalogue.documents,
            slos=slos,
            vault_watch=vault_watch,
            factors=factor_work(database, vault, clock, settings.mfa_provider, client, stack),
            local_issuer=people.local_issuer,
            review=review,
            connections=connection_work(database, vault, outgoing, clock),
            feeds=Feeds(database, tasks, Places(most_of_person=settings.event_streams_of_person)),
            verifications=Verifications(database, settings.evidence_keys, tasks),
            replay_runs=ReplayRuns(database, tasks),
        )


async def _touch_last(keys: KeyRing) -> None:
    try:
        await keys.touch_used()
    except UnavailableError:
        _log.warning("key_use_not_noted")
