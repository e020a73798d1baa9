"""Bodies about canary tokens (docs/guides/canaries.md)."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field

from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.canaries.model import VALUE_MAX, VALUE_MIN, VALUE_PATTERN, Canary


class NewCanary(BaseModel):
    """POST /admin/canaries."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[StorableText, Field(min_length=1, max_length=128)] = Field(
        description="Where you put the value. Notifications and the record show it.", examples=["wiki: aws key"]
    )
    # The pattern is only described: the service refuses in its own words.
    value: (
        Annotated[
            str,
            Field(min_length=VALUE_MIN, max_length=VALUE_MAX, json_schema_extra={"pattern": VALUE_PATTERN}),
        ]
        | None
    ) = Field(
        default=None,
        description="Letters, digits and . _ @ + / = : - without spaces. Omitted: a random value.",
    )


class CanaryAnswer(BaseModel):
    """``begins_with``: the first characters of the value, which is not kept. ``revoked_at`` null: it is in force."""

    id: str
    name: str
    begins_with: str
    length: int
    created_at: datetime
    created_by: str | None
    revoked_at: datetime | None


class CreatedCanaryAnswer(CanaryAnswer):
    value: str = Field(description="Only this response shows it.")


class CanariesAnswer(BaseModel):
    data: list[CanaryAnswer]


def canary_answer(canary: Canary) -> CanaryAnswer:
    return CanaryAnswer(
        id=canary.canary_id,
        name=canary.name,
        begins_with=canary.lead,
        length=canary.length,
        created_at=canary.created_at,
        created_by=canary.created_by,
        revoked_at=canary.revoked_at,
    )
