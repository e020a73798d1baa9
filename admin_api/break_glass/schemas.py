"""Bodies about broken glasses (docs/guides/break-glass.md)."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from admin_api.identifiers import ActionId
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.break_glass.model import (
    DEFAULT_SECONDS,
    REASON_MAX_CHARACTERS,
    SECONDS_MAX,
    BrokenGlass,
    Review,
    ReviewOutcome,
)


class OpenRequest(BaseModel):
    """POST /admin/break-glass."""

    model_config = ConfigDict(extra="forbid")

    action_id: ActionId = Field(description="The action that a policy denied.")
    reason: Annotated[StorableText, Field(min_length=1, max_length=REASON_MAX_CHARACTERS)]
    expires_in_seconds: int = Field(default=DEFAULT_SECONDS, ge=1, le=SECONDS_MAX)


class ReviewRequest(BaseModel):
    """POST /admin/break-glass/{id}/review."""

    model_config = ConfigDict(extra="forbid")

    outcome: ReviewOutcome
    note: Annotated[StorableText, Field(max_length=REASON_MAX_CHARACTERS)] | None = Field(
        default=None, description="Required if the use was not justified."
    )


class GlassPersonAnswer(BaseModel):
    id: str
    email: str | None


class ReviewAnswer(BaseModel):
    by: GlassPersonAnswer
    at: datetime
    outcome: ReviewOutcome
    note: str | None


class GlassAnswer(BaseModel):
    """``status``: waiting, used or expired. ``review`` null: a second person must review it."""

    id: str
    status: str
    action_id: str
    agent_id: str
    tool: str
    operation: str
    digest: str
    reason: str
    opened_by: GlassPersonAnswer
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_action_id: str | None
    review: ReviewAnswer | None


def glass_answer(glass: BrokenGlass, now: datetime) -> GlassAnswer:
    return GlassAnswer(
        id=glass.pass_id,
        status=glass.status(now).value,
        action_id=glass.action_id,
        agent_id=glass.agent_id,
        tool=glass.tool,
        operation=glass.operation,
        digest="sha256:" + glass.digest.hex(),
        reason=glass.reason,
        opened_by=GlassPersonAnswer(id=glass.opened_by, email=glass.opened_by_email),
        created_at=glass.created_at,
        expires_at=glass.expires_at,
        used_at=glass.used_at,
        used_action_id=glass.used_action_id,
        review=_review(glass.review),
    )


def _review(review: Review | None) -> ReviewAnswer | None:
    if review is None:
        return None
    by = GlassPersonAnswer(id=review.by, email=review.email)
    return ReviewAnswer(by=by, at=review.at, outcome=review.outcome, note=review.note)
