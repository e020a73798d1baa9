"""What the routes work with: made once by ``compose``, passed to ``create_app``, reached through FastAPI.

A route says ``caller: CurrentPrincipal`` and ``dependencies: CurrentDependencies``; a plain endpoint calls
``principal_of(request)`` and ``dependencies_of(request)``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from fastapi import Depends
from msgspec import Struct
from redis.asyncio import Redis
from starlette.requests import Request

from admin_api.authentication import Authenticator
from admin_api.feeds.feed import Feeds
from admin_api.principal import Principal
from admin_api.request_state import request_state
from admin_api.services.browser_login import BrowserLogin
from admin_api.services.connection_work import ConnectionWork
from admin_api.services.cookies import Cookies
from admin_api.services.factor_work import FactorWork
from admin_api.services.inbound_work import InboundWork
from admin_api.services.local_tickets import LocalTickets
from admin_api.services.replay_runs import ReplayRuns
from admin_api.services.slo_sampler import SloSampler
from admin_api.services.traffic_review import Review
from admin_api.services.vault_watch import VaultWatch
from admin_api.services.verifications import Verifications
from headgate.agents.authenticate import KeyRing
from headgate.approvals.decide import DecideApproval
from headgate.approvals.escalate import EscalateApproval
from headgate.approvals.reassign import ReassignApproval
from headgate.db.database import Database
from headgate.evidence.signing_keys import SigningKeySource
from headgate.executions.control import ControlExecutions
from headgate.gate.dry_run import DryRun
from headgate.gate.edit_approval import EditApproval
from headgate.gate.offer_tools import OfferTools
from headgate.gate.organization_state import OrganizationStates
from headgate.gate.record_batch import Recorder
from headgate.gate.submit_action import SubmitAction
from headgate.gate.take_action import TakeAction
from headgate.judges.judge import Judges
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnauthorizedError
from headgate.nlp_policies.evaluate import Evaluator
from headgate.organizations.local_issuer import LocalIssuer
from headgate.outgoing.client import OutgoingClient
from headgate.passkeys.service import Passkeys
from headgate.ratelimits.limiter import RateLimiter
from headgate.sessions.model import SessionLimits
from headgate.tools.match import CatalogueIndex
from headgate.vault.service import Vault
from headgate.workflows.replay_policy import ReplayPolicy


class Dependencies(Struct, frozen=True):
    """``database`` is logged in as the API's role. ``valkey`` None: rate limits per process, wake-ups by polling.
    ``ca_certificate``: the proxy's, for download; None where there is no proxy beside.
    ``local_issuer``: None where its tokens are not believed. ``cookies`` None: nobody signs in with a browser here.
    ``passkeys`` None: nobody signs in with one.
    ``signing_keys``: for their public parts. ``catalogue_documents``: entries by the digest that actions record.
    ``execution_concurrency_max``: what an organization may set.
    ``api_url``, ``proxy_url``: as people and agents reach them. ``command_name``: what people type for ``headgate``."""

    database: Database
    valkey: Redis | None
    clock: Clock
    keys: KeyRing
    authenticator: Authenticator
    rate_limiter: RateLimiter
    states: OrganizationStates
    recorder: Recorder
    submit_action: SubmitAction
    take_action: TakeAction
    offer_tools: OfferTools
    decide_approval: DecideApproval
    edit_approval: EditApproval
    reassign_approval: ReassignApproval
    escalate_approval: EscalateApproval
    inbound: InboundWork
    outgoing: OutgoingClient
    dry_run: DryRun
    replay_policy: ReplayPolicy
    ca_certificate: Path | None
    api_url: str
    proxy_url: str
    command_name: str
    vault: Vault
    nlp: Evaluator
    judges: Judges
    grant_max_seconds: int
    key_lifetime_days: int | None
    delegation_depth: int
    execution_concurrency_max: int
    catalogue: CatalogueIndex
    control_executions: ControlExecutions
    signing_keys: SigningKeySource
    checkpoint_seconds: int
    catalogue_documents: Mapping[str, bytes]
    slos: SloSampler
    vault_watch: VaultWatch
    factors: FactorWork
    local_issuer: LocalIssuer | None
    review: Review
    cookies: Cookies | None
    session_limits: SessionLimits
    browser_login: BrowserLogin | None
    local_tickets: LocalTickets
    passkeys: Passkeys | None
    connections: ConnectionWork
    feeds: Feeds
    verifications: Verifications
    replay_runs: ReplayRuns


def dependencies_of(request: Request) -> Dependencies:
    dependencies: Dependencies = request.app.state.dependencies
    return dependencies


def principal_of(request: Request) -> Principal:
    """Who calls. Raises UnauthorizedError on a public route, which has nobody to ask about."""
    principal = request_state(request.scope).principal
    if principal is None:
        raise UnauthorizedError("A credential is required.")
    return principal


type CurrentDependencies = Annotated[Dependencies, Depends(dependencies_of)]
type CurrentPrincipal = Annotated[Principal, Depends(principal_of)]
