"""Organizations, the people in them, and their settings."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

DEFAULT_ORGANIZATION_ID: Final = "org_00000000-0000-7000-8000-000000000001"
"""The organization that ``headgate up`` seeds. It is the same everywhere, so that seeding is idempotent
without a look across organizations, which no role can make."""


class Role(StrEnum):
    """What a person is to an organization; which scopes that means: ``agents.scopes``."""

    ADMIN = "admin"
    APPROVER = "approver"
    AUDITOR = "auditor"
    VIEWER = "viewer"


class SettingName(StrEnum):
    ALLOWLIST = "allowlist"
    NLP_PROVIDERS = "nlp_providers"


@dataclass(frozen=True, slots=True)
class Organization:
    org_id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TokenIdentity:
    """What a verified token says about a person; ``issuer`` and ``subject`` together are the person."""

    org_id: str
    issuer: str
    subject: str
    email: str | None
    name: str | None
    roles: frozenset[Role]


@dataclass(frozen=True, slots=True)
class User:
    org_id: str
    user_id: str
    issuer: str
    subject: str
    email: str | None
    name: str | None
    roles: frozenset[Role]


@dataclass(frozen=True, slots=True)
class Setting:
    """One settings document; ``version`` rises with each change, ``document`` is canonical JSON."""

    name: SettingName
    version: int
    document: str
    updated_by: str | None
    updated_at: datetime
