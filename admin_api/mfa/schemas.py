"""Bodies about second factors. Codes and secrets are shown once, and never in a message of an error."""

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from admin_api.schema import BaseModel

_SAMPLE = "7KQ2-M4XW-9TBC"


class RecoveryCodeList(BaseModel):
    """The only response that shows the codes."""

    codes: list[str] = Field(description="Ten, each for one use", examples=[[_SAMPLE, "0H8D-RRT5-3VNA"]])
    count: int
    generated_at: datetime


class RecoveryCodeStatus(BaseModel):
    """``generated_at`` null: there are none."""

    unused: int = Field(description="Number of unused codes")
    total: int
    generated_at: datetime | None


class RecoveryCodeBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: str = Field(
        min_length=1,
        max_length=64,
        description="The code; hyphens and case do not matter",
        examples=[_SAMPLE],
    )


class RecoveryAnswer(BaseModel):
    """The person signs in with the password alone until they enroll again."""

    verified: Literal[True] = True
    factors_removed: int = Field(description="Active TOTP factors that were removed")
    codes_voided: int = Field(description="Other unused codes, deleted with the last factor")
    other_sessions_closed: Literal[True] = True


class PurgedAnswer(BaseModel):
    purged: int = Field(description="Deleted unused codes")


class TotpStatus(BaseModel):
    active: bool
    activated_at: datetime | None


class TotpEnrolment(BaseModel):
    """The only response that shows the secret."""

    secret: str = Field(description="Base32, for an authenticator that cannot scan a QR code")
    otpauth_uri: str = Field(description="The URI for a QR code; contains the secret")
    expires_at: datetime = Field(description="Time limit for the first code")


class TotpCode(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: str = Field(
        min_length=6,
        max_length=6,
        description="Six digits",
        examples=["492039"],
        json_schema_extra={"pattern": "^[0-9]{6}$"},
    )


class SecondFactorToken(BaseModel):
    """A token of the same person and roles that says aal2; null for a browser's session, which says aal2 from now on
    and has a new cookie."""

    token: str | None
    aal: Literal["aal2"] = "aal2"
    expires_at: datetime


class UnenrolledAnswer(BaseModel):
    factors_removed: int
    codes_purged: int
