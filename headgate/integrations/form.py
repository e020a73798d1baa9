"""Converts between a document and an integration's settings, by the table of the settings class (``members``)."""

from collections.abc import Collection
from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from headgate.integrations.members import REQUIRED, Kind, Member
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError
from headgate.kernel.secrets import Secret

SECRET_MAX_CHARACTERS = 16_384


class IntegrationSettings(Protocol):
    """The base of every settings class. ``SECRETS``: write-only members and their descriptions."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    SECRETS: ClassVar[dict[str, str]]

    @property
    def enabled(self) -> bool: ...


class Draft[Settings: IntegrationSettings](Struct, frozen=True):
    """``secrets``: those submitted. None deletes a secret; an omitted one stays."""

    settings: Settings
    secrets: dict[str, Secret | None]


def parse_draft[Settings: IntegrationSettings](
    cls: type[Settings], document: JsonValue, before: Settings | None, kept: Collection[str]
) -> Draft[Settings]:
    """``kept``: the existing secrets. Raises ValidationError, which names the member and no secret."""
    if not isinstance(document, dict):
        raise ValidationError("an object is expected", details={"reason": "not an object"})
    members = members_of(cls)
    if unknown := sorted(document.keys() - members.keys() - cls.SECRETS.keys()):
        raise _fault(unknown[0][:64], f"unknown; known: {', '.join([*members, *cls.SECRETS])}")
    settings = _settings(cls, document)
    secrets = {name: _secret(name, document[name]) for name in cls.SECRETS if name in document}
    there = {name for name in kept if name not in secrets} | {name for name, value in secrets.items() if value}
    moved = [name for name, one in members.items() if one.is_destination and _moved(name, settings, before)]
    if moved and (silent := sorted(there - secrets.keys())):
        raise _fault(silent[0], f"{moved[0]} has changed: give the secrets again, or null to forget them")
    if settings.enabled:
        _complete(cls, settings, there)
    return Draft(settings, secrets)


def parse_stored[Settings: IntegrationSettings](cls: type[Settings], document: JsonValue) -> Settings:
    """Reads what ``record`` wrote; a newer member gets its default."""
    known = members_of(cls)
    given = document if isinstance(document, dict) else {}
    return _settings(cls, {name: value for name, value in given.items() if name in known})


def record(settings: IntegrationSettings) -> JsonObject:
    """The stored and shown form, without secrets."""
    found: JsonObject = {}
    for name, one in members_of(type(settings)).items():
        value = getattr(settings, name)
        found[name] = None if value is None else one.kind.show(value)
    return found


def body_schema(cls: type[IntegrationSettings]) -> JsonObject:
    """The JSON schema of PUT's body."""
    properties: JsonObject = {
        name: {**or_null(one.kind.schema), "description": one.meaning} for name, one in members_of(cls).items()
    }
    for name, meaning in cls.SECRETS.items():
        properties[name] = {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": SECRET_MAX_CHARACTERS,
            "writeOnly": True,
            "description": f"{meaning} Never shown; omitted, it is kept; null deletes it.",
        }
    needed = [name for name, one in members_of(cls).items() if one.default is REQUIRED]
    there: JsonObject = {name: {"not": {"type": "null"}} for name in needed}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "anyOf": [
            {"required": ["enabled", *needed], "properties": there},
            {"properties": {"enabled": {"enum": [False, None]}}},
        ],
    }


def or_null(schema: JsonObject) -> JsonObject:
    """Null means omitted."""
    if "enum" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def members_of(cls: type[IntegrationSettings]) -> dict[str, Member]:
    return {one.name: one.metadata["member"] for one in fields(cls)}


def _settings[Settings: IntegrationSettings](cls: type[Settings], document: JsonObject) -> Settings:
    values: dict[str, object] = {}
    for name, one in members_of(cls).items():
        given = document.get(name)
        if given is None:
            values[name] = None if one.default is REQUIRED else one.default
        else:
            values[name] = checked(name, one.kind, given)
    return cls(**values)


def checked(where: str, kind: Kind, value: JsonValue) -> object:
    """Raises ValidationError."""
    try:
        return kind.check(value)
    except ValueError as error:
        raise _fault(where, str(error)) from error


def _complete(cls: type[IntegrationSettings], settings: IntegrationSettings, secrets: Collection[str]) -> None:
    require_members(settings, "it is needed where the integration is enabled")
    for name in cls.SECRETS:
        if name not in secrets:
            raise _fault(name, "it is needed where the integration is enabled")


def require_members(settings: IntegrationSettings, reason: str) -> None:
    """Raises ValidationError for an unset member without a default. A disabled integration may omit it."""
    for name, one in members_of(type(settings)).items():
        if one.default is REQUIRED and getattr(settings, name) is None:
            raise _fault(name, reason)


def _moved(name: str, settings: IntegrationSettings, before: IntegrationSettings | None) -> bool:
    return before is not None and getattr(before, name) not in (None, getattr(settings, name))


def _secret(name: str, value: JsonValue) -> Secret | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= SECRET_MAX_CHARACTERS or "\0" in value:
        raise _fault(name, f"a text of at most {SECRET_MAX_CHARACTERS} characters, or null to remove it")
    return Secret(value)


def _fault(where: str, reason: str) -> ValidationError:
    return ValidationError(f"{where}: {reason}", details={"field": where, "reason": reason})
