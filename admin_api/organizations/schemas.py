"""Bodies about organizations, their members and invitations."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from admin_api.pagination import UncountedPagination
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.organizations.destinations import Destination
from headgate.organizations.invitations import Invitation
from headgate.organizations.model import Organization, Role

type MemberRole = Literal["admin", "approver", "auditor", "viewer"]
type Email = Annotated[str, Field(max_length=320, pattern=r"^[^\s@\x00]+@[^\s@\x00]+$", examples=["ada@example.com"])]


class NewOrganization(BaseModel):
    """POST /admin/organizations."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[StorableText, Field(min_length=1, max_length=128)]


class OrganizationAnswer(BaseModel):
    id: str
    name: str
    created_at: datetime


class OrganizationsAnswer(BaseModel):
    """Newest first."""

    data: list[OrganizationAnswer]
    pagination: UncountedPagination


class PrivateDestination(BaseModel):
    """A private address, network or name. Without ``ports``: every port."""

    model_config = ConfigDict(extra="forbid")

    host: Annotated[StorableText, Field(min_length=1, max_length=253, examples=["10.1.0.0/16"])]
    ports: Annotated[list[Annotated[int, Field(ge=1, le=65535)]], Field(max_length=1000)] = []  # noqa: RUF012 - copied
    note: Annotated[StorableText, Field(max_length=500)] = ""


class PrivateDestinations(BaseModel):
    """PUT …/private-destinations: the private destinations that its allowlist may open. An empty list: none."""

    model_config = ConfigDict(extra="forbid")

    destinations: Annotated[list[PrivateDestination], Field(max_length=1000)]


class PrivateDestinationsAnswer(BaseModel):
    """``unrestricted``: every private address, the default of the operator's own organization."""

    unrestricted: bool
    destinations: list[PrivateDestination]


class GrantedRoles(BaseModel):
    """PUT …/roles: the roles of a person here, in addition to the roles of the token. Empty: none."""

    model_config = ConfigDict(extra="forbid")

    roles: list[MemberRole] = Field(max_length=4)

    def parsed(self) -> frozenset[Role]:
        return frozenset(Role(one) for one in self.roles)


class NewInvitation(BaseModel):
    """POST …/invitations."""

    model_config = ConfigDict(extra="forbid")

    email: Email
    roles: list[MemberRole] = Field(min_length=1, max_length=4)
    expires_in_hours: int = Field(default=72, ge=1, le=24 * 30)

    def parsed_roles(self) -> frozenset[Role]:
        return frozenset(Role(one) for one in self.roles)


class InvitationAnswer(BaseModel):
    id: str
    email: str
    roles: list[str]
    status: str = Field(description="open, accepted, revoked or expired")
    created_by: str | None
    created_at: datetime
    expires_at: datetime
    accepted_by: str | None


class MadeInvitationAnswer(InvitationAnswer):
    """Includes the invitation link, shown once. Only the owner of the email address can use it, once."""

    secret: str = Field(description="What the address carries, for an address of one's own.")
    address: str = Field(description="The link. It opens the identity provider, or a page that creates a passkey.")
    mailed_by: str | None = Field(
        description="The notification channel that sends it by email. Null if no channel sends email."
    )


def organization_answer(organization: Organization) -> OrganizationAnswer:
    return OrganizationAnswer(id=organization.org_id, name=organization.name, created_at=organization.created_at)


def invitation_answer(invitation: Invitation, now: datetime) -> InvitationAnswer:
    return InvitationAnswer(
        id=invitation.invitation_id,
        email=invitation.email,
        roles=sorted(role.value for role in invitation.roles),
        status=invitation.status(now).value,
        created_by=invitation.created_by,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
        accepted_by=invitation.accepted_by,
    )


def private_destinations_answer(bounds: tuple[Destination, ...] | None) -> PrivateDestinationsAnswer:
    fields = PrivateDestination.model_fields
    return PrivateDestinationsAnswer(
        unrestricted=bounds is None,
        destinations=[
            PrivateDestination.model_validate({name: one.document()[name] for name in fields}) for one in bounds or ()
        ],
    )
