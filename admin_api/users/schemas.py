"""Bodies about people."""

from datetime import datetime

from pydantic import Field

from admin_api.schema import BaseModel
from headgate.mfa.model import Attempted
from headgate.organizations.model import User
from headgate.workflows.deactivate_user import Standing


class UserAnswer(BaseModel):
    """``roles`` are those of the newest token, and those that were granted here."""

    id: str
    email: str | None
    name: str | None
    issuer: str
    subject: str
    roles: list[str]
    granted_roles: list[str] = Field(description="Given here; the others are the issuer's word.")
    deactivated_at: datetime | None


class SameUser(BaseModel):
    """The same person by another issuer's word."""

    id: str
    issuer: str
    subject: str
    deactivated_at: datetime | None


class StandingAnswer(UserAnswer):
    """A person after they were shut out or let in."""

    also: list[SameUser] = Field(
        description="The other users that this person is, by their verified address: shut out with them, and let in one"
        " by one."
    )
    keys: list[str] = Field(
        description="Keys that they made for programs: they stop with them, and go on when they are let in again or"
        " somebody takes them over (`POST /admin/keys/{id}/take-over`)."
    )
    agent_keys: list[str] = Field(
        description="Keys that they made for agents, whose they are: they go on. Rotate those that the person may have"
        " kept."
    )


class UnlockedAnswer(BaseModel):
    unlocked: list[Attempted] = Field(description="What had been guessed at; empty: there was no lock.")


class UserFactorsAnswer(BaseModel):
    """The second factors that Headgate keeps of a user."""

    managed_by: str | None = Field(description="The issuer that manages the second factors. Null: Headgate does")
    authenticator_since: datetime | None = Field(description="Null: no authenticator app is set up")
    passkeys: int
    recovery_codes: int = Field(description="Number of unused codes")


class ResetFactorsAnswer(BaseModel):
    authenticators_removed: int
    passkeys_removed: int
    codes_voided: int = Field(description="Deleted unused recovery codes")
    sessions_ended: int = Field(description="Browser sessions; earlier tokens are refused too")


def standing_answer(standing: Standing) -> StandingAnswer:
    return StandingAnswer(
        **user_answer(standing.user).model_dump(),
        also=[
            SameUser(id=one.user_id, issuer=one.issuer, subject=one.subject, deactivated_at=one.deactivated_at)
            for one in standing.also
        ],
        keys=[key.key_id for key in standing.keys],
        agent_keys=[key.key_id for key in standing.agent_keys],
    )


def user_answer(user: User) -> UserAnswer:
    return UserAnswer(
        id=user.user_id,
        email=user.email,
        name=user.name,
        issuer=user.issuer,
        subject=user.subject,
        roles=sorted(role.value for role in user.roles),
        granted_roles=sorted(role.value for role in user.granted),
        deactivated_at=user.deactivated_at,
    )
