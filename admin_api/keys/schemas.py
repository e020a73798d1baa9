"""Bodies about API keys."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, StrictBool

from admin_api.keys.lifetime import ONE_END, KeyLifetime
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.agents.model import ApiKey
from headgate.agents.rotation import is_due
from headgate.agents.scopes import KIND_SCOPES, KeyKind
from headgate.agents.service import IssuedKey

type KeyName = Annotated[StorableText, Field(min_length=1, max_length=128)]


_SCOPES_OF_KIND: Final[dict[str, Any]] = {
    "anyOf": [
        {"required": ["scopes"], "properties": {"kind": {"const": "admin"}, "scopes": {"minItems": 1}}},
        {"required": ["kind"], "properties": {"kind": {"const": "webhook"}, "scopes": {"maxItems": 0}}},
    ]
}


_AGENT_SCOPES: Final[dict[str, Any]] = {
    "items": {"enum": [one.value for one in sorted(KIND_SCOPES[KeyKind.AGENT])]},
    "minItems": 1,
}


class NewKey(KeyLifetime):
    """POST /admin/keys: a key for an administrator's program, or for verifying webhooks."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"allOf": [ONE_END, _SCOPES_OF_KIND]})

    name: KeyName
    kind: Literal["admin", "webhook"] = "admin"
    scopes: list[str] = Field(
        default_factory=list,
        max_length=32,
        description="For kind admin, at least one.",
        examples=[["policies:read"]],
        json_schema_extra={"items": {"enum": [one.value for one in sorted(KIND_SCOPES[KeyKind.ADMIN])]}},
    )


class NewAgentKey(KeyLifetime):
    """POST /admin/agents/{id}/keys: one more key for an agent. Every member is optional."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"allOf": [ONE_END]})

    name: KeyName | None = None
    scopes: list[str] | None = Field(
        default=None,
        max_length=32,
        description="Default: all scopes that an agent key may have.",
        json_schema_extra={"anyOf": [{"type": "array", "maxItems": 32, **_AGENT_SCOPES}, {"type": "null"}]},
    )


class Leaked(BaseModel):
    """POST /admin/keys/revoke-matching."""

    model_config = ConfigDict(extra="forbid")

    matching: str = Field(
        min_length=1,
        max_length=512 * 1024,
        description="A text that contains keys, the beginning of a key, or an agent id.",
        examples=["hg_4fZ"],
    )
    only_show: StrictBool = Field(default=False, description="Change nothing.")


class KeyAnswer(BaseModel):
    """A key without the key itself."""

    id: str
    kind: KeyKind
    agent_id: str | None
    name: str | None
    display: str = Field(description="The first characters of the key, to recognize it.")
    scopes: list[str]
    status: str = Field(description="active, expired, revoked, or stopped: the person was deactivated")
    created_by: str | None = Field(description="The owner: the person who created or adopted it.")
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    rotation_due: bool = Field(description="The key is active and at least 90 days old: replace it.")


class RevokedKeysAnswer(BaseModel):
    """``revoked``: number of keys that stopped working. With ``only_show``: number that would."""

    data: list[KeyAnswer]
    revoked: int


class IssuedKeyAnswer(BaseModel):
    """A new key, shown once."""

    id: str
    key: str = Field(description="Shown once. Headgate stores only its hash.")
    scopes: list[str]
    expires_at: datetime | None


def key_answer(key: ApiKey, now: datetime) -> KeyAnswer:
    return KeyAnswer(
        id=key.key_id,
        kind=key.kind,
        agent_id=key.agent_id,
        name=key.name,
        display=key.display,
        scopes=sorted(key.scopes),
        status=key.status(now),
        created_by=key.user_id,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
        last_used_at=key.last_used_at,
        rotation_due=is_due(key, now),
    )


def issued_key_answer(issued: IssuedKey) -> IssuedKeyAnswer:
    return IssuedKeyAnswer(
        id=issued.record.key_id,
        key=issued.key.reveal(),
        scopes=sorted(issued.record.scopes),
        expires_at=issued.record.expires_at,
    )
