"""/admin/audit/verification: a verification of the log that runs in the background, and how far it is."""

from datetime import datetime
from enum import StrEnum

from fastapi import APIRouter
from pydantic import Field

from admin_api.audit.schemas import VerificationAnswer, VerifyRequest, verification_answer
from admin_api.dependencies import CurrentDependencies, CurrentPrincipal
from admin_api.guarded_route import GuardedRoute
from admin_api.instants import range_of_time
from admin_api.schema import BaseModel
from headgate.evidence.verification_store import BackgroundVerification, last_verification
from headgate.evidence.verify_record import RecordVerification
from headgate.journal.apply import apply_before_reading

router = APIRouter(route_class=GuardedRoute, tags=["audit"])


class VerificationState(StrEnum):
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class BackgroundVerificationAnswer(BaseModel):
    """``failed``: the verification did not finish; the log may be valid. ``interrupted``: its process ended."""

    state: VerificationState
    started_by: str
    started_at: datetime
    finished_at: datetime | None
    events: int = Field(description="Number of events to verify.")
    verified: int = Field(description="Number of events verified so far.")
    result: VerificationAnswer | None
    failure: str | None


@router.post("/admin/audit/verification", status_code=202)
async def start(
    principal: CurrentPrincipal, dependencies: CurrentDependencies, body: VerifyRequest | None = None
) -> BackgroundVerificationAnswer:
    """Starts a verification, as `POST /admin/audit/verify`, without waiting for its end. One verification per log runs
    at a time (409)."""
    wanted = body or VerifyRequest()
    start_at, end_at = range_of_time(wanted.start_date, wanted.end_date)
    await apply_before_reading(dependencies.database, principal.org_id)
    await dependencies.verifications.start(
        principal.org_id, principal.actor, wanted.checkpoints, _shown, start=start_at, end=end_at
    )
    return await show(principal, dependencies)


@router.get("/admin/audit/verification")
async def show(principal: CurrentPrincipal, dependencies: CurrentDependencies) -> BackgroundVerificationAnswer:
    """Gets the last verification that was started. 404 if there was none."""
    async with dependencies.database.transaction(principal.org_id) as connection:
        return _answer(await last_verification(connection, principal.org_id))


def _shown(found: RecordVerification) -> str:
    return verification_answer(found).model_dump_json()


def _answer(found: BackgroundVerification) -> BackgroundVerificationAnswer:
    return BackgroundVerificationAnswer(
        state=_state(found),
        started_by=found.started_by,
        started_at=found.started_at,
        finished_at=found.finished_at,
        events=found.events,
        verified=found.verified,
        result=None if found.result is None else VerificationAnswer.model_validate_json(found.result),
        failure=found.failure,
    )


def _state(found: BackgroundVerification) -> VerificationState:
    if found.finished_at is None:
        return VerificationState.INTERRUPTED if found.is_interrupted else VerificationState.RUNNING
    return VerificationState.FINISHED if found.failure is None else VerificationState.FAILED
