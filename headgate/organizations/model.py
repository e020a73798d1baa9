"""Organizations, the people in them, and their settings."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

DEFAULT_ORGANIZATION_ID: Final = "org_00000000-0000-7000-8000-000000000001"
"""The organization that ``headgate up`` seeds. It is the same everywhere, so that seeding is idempotent
without a look across organizations, which no role can make."""


class Role(StrEnum):
    """What a person is to an organization; which scopes that means: ``agents.scopes``. An operator looks after the
    organizations themselves, and only an issuer that is trusted with that may say who is one."""

    ADMIN = "admin"
    APPROVER = "approver"
    AUDITOR = "auditor"
    VIEWER = "viewer"
    BREAK_GLASS = "break_glass"
    OPERATOR = "operator"


class SettingName(StrEnum):
    ALLOWLIST = "allowlist"
    PRIVATE_DESTINATIONS = "private_destinations"
    NLP_PROVIDERS = "nlp_providers"
    EXECUTIONS = "executions"
    NOTIFICATIONS = "notifications"
    KILL_SWITCH = "kill_switch"
    RETENTION = "retention"
    CAPTURES = "captures"
    JIRA = "jira"
    LINEAR = "linear"
    SERVICENOW = "servicenow"
    SLACK = "slack"
    TEAMS = "teams"
    DISCORD = "discord"
    GITHUB_ACTIONS = "github-actions"
    GITHUB = "github"
    SIEM = "siem"


GRANTABLE_ROLES: Final = frozenset(Role) - {Role.OPERATOR, Role.BREAK_GLASS}
"""What an organization gives to its own members. Not what ``admin:*`` does not include: an administrator would give it
to themselves."""


class Organization(Struct, frozen=True):
    org_id: str
    name: str
    created_at: datetime


class TokenIdentity(Struct, frozen=True):
    """What a verified token says about a person; ``issuer`` and ``subject`` together are the person."""

    org_id: str
    issuer: str
    subject: str
    email: str | None
    name: str | None
    roles: frozenset[Role]


class User(Struct, frozen=True):
    """A person: as their newest token said, with the roles that they were ``granted`` here besides, which ``roles``
    includes. ``deactivated_at``: an administrator has shut them out since. ``last_seen_at``: a token of theirs was."""

    org_id: str
    user_id: str
    issuer: str
    subject: str
    email: str | None
    name: str | None
    roles: frozenset[Role]
    deactivated_at: datetime | None = None
    granted: frozenset[Role] = frozenset()
    last_seen_at: datetime | None = None


class Setting(Struct, frozen=True):
    """One settings document; ``version`` rises with each change, ``document`` is canonical JSON."""

    name: SettingName
    version: int
    document: str
    updated_by: str | None
    updated_at: datetime
