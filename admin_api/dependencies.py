"""What the routes work with: made once by ``compose``, passed to ``create_app``, reached through FastAPI.

A route says ``caller: CurrentPrincipal`` and ``dependencies: CurrentDependencies``; a plain endpoint calls
``principal_of(request)`` and ``dependencies_of(request)``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends
from redis.asyncio import Redis
from starlette.requests import Request

from admin_api.authentication import Authenticator
from admin_api.principal import Principal
from admin_api.request_state import request_state
from headgate.agents.authenticate import KeyRing
from headgate.db.database import Database
from headgate.kernel.clock import Clock
from headgate.kernel.errors import UnauthorizedError
from headgate.nlp_policies.evaluate import Evaluator
from headgate.ratelimits.limiter import RateLimiter
from headgate.vault.service import Vault
from headgate.workflows.decide_approval import DecideApproval
from headgate.workflows.dry_run import DryRun
from headgate.workflows.organization_state import OrganizationStates
from headgate.workflows.record_batch import Recorder
from headgate.workflows.replay_policy import ReplayPolicy
from headgate.workflows.submit_action import SubmitAction


@dataclass(frozen=True, slots=True)
class Dependencies:
    """``database`` is logged in as the API's role. ``valkey`` None: rate limits per process, wake-ups by polling.
    ``ca_certificate``: the proxy's, for download; None where there is no proxy beside."""

    database: Database
    valkey: Redis | None
    clock: Clock
    keys: KeyRing
    authenticator: Authenticator
    rate_limiter: RateLimiter
    states: OrganizationStates
    recorder: Recorder
    submit_action: SubmitAction
    decide_approval: DecideApproval
    dry_run: DryRun
    replay_policy: ReplayPolicy
    ca_certificate: Path | None
    vault: Vault
    nlp: Evaluator


def dependencies_of(request: Request) -> Dependencies:
    dependencies: Dependencies = request.app.state.dependencies
    return dependencies


def principal_of(request: Request) -> Principal:
    """Who calls. Raises UnauthorizedError on a public route, which has nobody to ask about."""
    principal = request_state(request.scope).principal
    if principal is None:
        raise UnauthorizedError("this needs a credential")
    return principal


type CurrentDependencies = Annotated[Dependencies, Depends(dependencies_of)]
type CurrentPrincipal = Annotated[Principal, Depends(principal_of)]
