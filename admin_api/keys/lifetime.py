"""When a new key ends, from what its body says: a lifetime of the list, a moment, or the operator's default."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from admin_api.instants import Instant
from admin_api.schema import BaseModel
from headgate.agents.rotation import expiry
from headgate.kernel.errors import ValidationError

type LifetimeDays = Literal[30, 60, 90, 180, 365, "never"]


ONE_END: Final[dict[str, Any]] = {
    "anyOf": [{"properties": {"expires_in_days": {"type": "null"}}}, {"properties": {"expires_at": False}}]
}
"""Of the description: one of the two members."""


class KeyLifetime(BaseModel):
    """The common members of bodies that create a key."""

    expires_in_days: Annotated[
        LifetimeDays | None,
        Field(description="Default: HEADGATE_KEY_LIFETIME_DAYS of the operator, else never."),
    ] = None
    expires_at: Instant | None = Field(default=None, description="A time instead. Null: never.")

    def ends(self, now: datetime, default_days: int | None) -> datetime | None:
        """None: never. ``default_days``: of a body that names no lifetime.

        Raises ValidationError where both are given.
        """
        if self.expires_in_days is not None and "expires_at" in self.model_fields_set:
            raise ValidationError(
                "give either expires_in_days or expires_at",
                details={"field": "expires_in_days", "reason": "expires_at is given too"},
            )
        if self.expires_in_days == "never":
            return None
        if self.expires_in_days is not None:
            return expiry(self.expires_in_days, now)
        if "expires_at" in self.model_fields_set:
            return self.expires_at
        return None if default_days is None else now + timedelta(days=default_days)
