"""Bodies about sessions."""

from datetime import datetime

from pydantic import Field

from admin_api.principal import Principal
from admin_api.schema import BaseModel
from headgate.sessions.model import Session


class WhoAnswer(BaseModel):
    """Who the caller is. ``session_id`` and ``expires_at`` are null for a token."""

    user_id: str
    organization_id: str
    email: str | None
    name: str | None
    roles: list[str]
    scopes: list[str]
    aal: str | None = Field(description="Assurance level of the sign-in: aal1, aal2 or aal3.")
    session_id: str | None
    expires_at: datetime | None


class OwnOrganizationAnswer(BaseModel):
    id: str
    name: str
    sign_in_path: str = Field(description="Signs in to this organization in a browser, through the identity provider.")


class OwnOrganizationsAnswer(BaseModel):
    data: list[OwnOrganizationAnswer]


class SessionAnswer(BaseModel):
    id: str
    aal: str | None
    address: str
    user_agent: str | None
    created_at: datetime
    last_seen_at: datetime = Field(description="Updated with a delay of up to one minute.")
    expires_at: datetime = Field(description="Latest end. Without requests it ends earlier.")
    is_current: bool = Field(description="True for the session of this request.")


class SessionsAnswer(BaseModel):
    """Active sessions, newest first."""

    data: list[SessionAnswer]


class EndedAnswer(BaseModel):
    ended: list[str]


def who_answer(principal: Principal) -> WhoAnswer:
    return WhoAnswer(
        user_id=principal.user_id or "",
        organization_id=principal.org_id,
        email=principal.email,
        name=principal.name,
        roles=sorted(principal.roles),
        scopes=sorted(principal.scopes),
        aal=principal.aal,
        session_id=principal.session_id,
        expires_at=principal.session_expires_at,
    )


def session_answer(session: Session, principal: Principal) -> SessionAnswer:
    return SessionAnswer(
        id=session.session_id,
        aal=session.aal,
        address=session.browser.address,
        user_agent=session.browser.user_agent,
        created_at=session.created_at,
        last_seen_at=session.last_seen_at,
        expires_at=session.expires_at,
        is_current=session.session_id == principal.session_id,
    )
