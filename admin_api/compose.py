"""The API's composition: from settings to what the routes work with, and back to nothing."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

import httpx
import structlog
from redis.asyncio import Redis

from admin_api.authentication import Authenticator
from admin_api.dependencies import Dependencies
from admin_api.jwks import FixedKeys, RemoteKeys, VerificationKey, algorithms_of
from admin_api.metrics import observe_batch, observe_nlp, observe_shadow
from admin_api.process_settings import ApiSettings, OidcSettings
from admin_api.tokens import TokenVerifier, TrustedIssuer
from headgate.agents.authenticate import KeyRing
from headgate.approvals.gate_store import MOST_OPEN_APPROVALS
from headgate.db.database import Database
from headgate.judges.daily_budget import DailyBudgets
from headgate.judges.judge import Judges
from headgate.judges.transport import open_client
from headgate.kernel.clock import Clock, system_clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.tasks import TaskSet
from headgate.nlp_policies.evaluate import Evaluator
from headgate.organizations.local_issuer import AUDIENCE, LOCAL_ISSUER, LocalIssuer, open_local_issuer
from headgate.policies.evaluate import PolicySet
from headgate.policies.marker import DRY_RUN_THREAD, SHADOW_THREAD, Marker
from headgate.policies.quarantine import quarantine_suspects
from headgate.policies.shadow import ShadowSet
from headgate.ratelimits.limiter import RateLimiter
from headgate.tools.load import load_catalogues
from headgate.vault.service import Vault
from headgate.workflows.decide_approval import DecideApproval
from headgate.workflows.dry_run import DryRun
from headgate.workflows.judge_content import ContentJudge
from headgate.workflows.organization_state import OrganizationStates
from headgate.workflows.record_batch import Recorder
from headgate.workflows.replay_policy import ReplayPolicy
from headgate.workflows.shadow_calls import ShadowCalls
from headgate.workflows.submit_action import SubmitAction

_log = structlog.get_logger(__name__)

_CONNECTIONS: Final = 8
_VALKEY_TIMEOUT_SECONDS: Final = 1.0


@asynccontextmanager
async def open_dependencies(settings: ApiSettings, *, clock: Clock = system_clock) -> AsyncIterator[Dependencies]:
    """What one API process works with, for as long as the block runs. A database that is not there yet is waited
    for in the background (/ready tells). Raises UnavailableError where the signing key cannot be read or made."""
    async with AsyncExitStack() as stack:
        database = Database(settings.database_dsn, max_connections=_CONNECTIONS)
        await database.open()
        stack.push_async_callback(database.close)
        valkey = _valkey(settings)
        if valkey is not None:
            stack.push_async_callback(valkey.aclose)
        client = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))

        recorder = Recorder(settings.database_dsn, observe=observe_batch)
        await recorder.open()
        stack.push_async_callback(recorder.close)
        marker, shadow_marker, dry_run_marker = await _markers(settings, database, stack)
        vault = Vault(settings.master_keys_file or settings.data.master_keys)
        evaluator = await _evaluator(stack, clock)
        states = OrganizationStates(
            database,
            compile_policies=partial(PolicySet, marker=marker),
            compile_shadows=partial(ShadowSet, marker=shadow_marker),
            vault=vault,
        )
        shadow_calls = ShadowCalls(states, database, observe=observe_shadow)
        stack.push_async_callback(shadow_calls.close)
        keys = KeyRing(database, clock=clock)
        stack.push_async_callback(_touch_last, keys)
        tasks = TaskSet(lambda name, error: _log.critical("api_task_ended", task=name, error=repr(error)))
        stack.push_async_callback(tasks.close)
        tasks.start(states.keep_warm(), name="keep_warm")
        tasks.start(keys.keep_touched(), name="keep_touched")
        tasks.start(shadow_calls.keep_asking(), name="shadow_policies")

        yield Dependencies(
            database=database,
            valkey=valkey,
            clock=clock,
            keys=keys,
            authenticator=Authenticator(
                keys=keys,
                tokens=TokenVerifier(_issuers(settings, client), clock=clock),
                database=database,
                clock=clock,
            ),
            rate_limiter=RateLimiter(valkey, enabled=settings.rate_limits),
            states=states,
            recorder=recorder,
            submit_action=SubmitAction(
                states=states,
                keys=keys,
                recorder=recorder,
                database=database,
                clock=clock,
                content=ContentJudge(evaluator),
                approval_expires_seconds=settings.approval_expires_seconds,
                most_open_approvals=MOST_OPEN_APPROVALS if settings.rate_limits else None,
                shadow=shadow_calls.recorded,
            ),
            decide_approval=DecideApproval(database, valkey, clock),
            dry_run=DryRun(states=states, database=database, catalogue=load_catalogues(), marker=dry_run_marker),
            replay_policy=ReplayPolicy(database),
            ca_certificate=settings.ca_certificate,
            vault=vault,
            nlp=evaluator,
        )


async def _evaluator(stack: AsyncExitStack, clock: Clock) -> Evaluator:
    judges = Judges(await stack.enter_async_context(open_client()))
    stack.push_async_callback(judges.close)
    return Evaluator(judges, DailyBudgets(clock), observe=observe_nlp)


async def _markers(settings: ApiSettings, database: Database, stack: AsyncExitStack) -> tuple[Marker, Marker, Marker]:
    """For policies to mark what they evaluate: decisions, shadow policies, dry runs. What killed a process before
    this one is quarantined first."""
    folder = settings.data.evaluating
    await quarantine_suspects(database, folder)
    markers = Marker(folder), Marker(folder, SHADOW_THREAD), Marker(folder, DRY_RUN_THREAD)
    for marker in markers:
        stack.callback(marker.close)
    return markers


def _valkey(settings: ApiSettings) -> Redis | None:
    if settings.valkey_url is None:
        return None
    return Redis.from_url(settings.valkey_url.reveal(), socket_connect_timeout=_VALKEY_TIMEOUT_SECONDS)


def _issuers(settings: ApiSettings, client: httpx.AsyncClient) -> list[TrustedIssuer]:
    issuers: list[TrustedIssuer] = []
    if settings.local_tokens:
        issuers.append(local_issuer_trust(open_local_issuer(settings.data.issuer)))
    if settings.oidc is not None:
        issuers.append(_oidc_trust(settings.oidc, client))
    return issuers


def local_issuer_trust(issuer: LocalIssuer) -> TrustedIssuer:
    """Believe the tokens that this key signs."""
    key = VerificationKey(issuer.public_key, algorithms_of(issuer.public_key))
    return TrustedIssuer(LOCAL_ISSUER, AUDIENCE, FixedKeys({issuer.key_id: key}))


def _oidc_trust(oidc: OidcSettings, client: httpx.AsyncClient) -> TrustedIssuer:
    return TrustedIssuer(
        issuer=oidc.issuer,
        audience=oidc.audience,
        keys=RemoteKeys(oidc.issuer, client=client, jwks_url=oidc.jwks_url),
        claims=oidc.claims,
        default_organization=oidc.default_organization,
        organizations=oidc.organizations,
    )


async def _touch_last(keys: KeyRing) -> None:
    try:
        await keys.touch_used()
    except UnavailableError:
        _log.warning("key_use_not_noted")
