"""The body of POST /v1/actions (specification, "Action request"), read strictly."""

import hashlib
from typing import Final

from msgspec import Struct

from headgate.actions.delegation import Chain, delegation_document
from headgate.kernel.call_name import fits
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes, parse_strict
from headgate.kernel.errors import ValidationError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.protocols.draft import ActionDraft
from headgate.tools.explicit import explicit_draft
from headgate.tools.match import CatalogueIndex

IDEMPOTENCY_KEY_LENGTH_MAX: Final = 128
_FIELDS: Final = frozenset(
    {"tool", "operation", "params", "context", "idempotency_key", "parentActionId", "delegationContext"}
)
_REQUIRED: Final = ("tool", "operation", "params")
_DELEGATION_FIELDS: Final = frozenset({"orchestratorId", "workflowId", "stepName"})


class ActionSubmission(Struct, frozen=True):
    """A proposed action. ``request_digest``: SHA-256 of the canonical body, for the idempotency key."""

    tool: str
    operation: str
    params: JsonObject
    context: JsonObject | None
    idempotency_key: str | None
    parent_action_id: str | None
    delegation_context: JsonObject | None
    request_digest: bytes


def parse_submission(body: bytes) -> ActionSubmission:
    """Raises ValidationError, whose details name the field and the reason."""
    value = parse_strict(body)
    if not isinstance(value, dict):
        raise _invalid("body", "must be a JSON object")
    for field in value:
        if field not in _FIELDS:
            raise _invalid(field[:128], "is not a field of an action request")
    for field in _REQUIRED:
        if field not in value:
            raise _invalid(field, "is required")
    return ActionSubmission(
        tool=_name(value, "tool"),
        operation=_name(value, "operation"),
        params=_object("params", value["params"]),
        context=_object("context", value["context"]) if "context" in value else None,
        idempotency_key=_idempotency_key(value["idempotency_key"]) if "idempotency_key" in value else None,
        parent_action_id=_parent(value["parentActionId"]) if "parentActionId" in value else None,
        delegation_context=_delegation(value["delegationContext"]) if "delegationContext" in value else None,
        request_digest=hashlib.sha256(canonical_bytes(value)).digest(),
    )


def draft_of(submission: ActionSubmission, catalogue: CatalogueIndex, chain: Chain) -> ActionDraft:
    """The explicit action that was submitted, with the call that it stands for, and ``chain``, the actions on whose
    behalf it is asked for. Raises ValidationError."""
    return explicit_draft(
        submission.tool,
        submission.operation,
        submission.params,
        catalogue,
        context=canonical_bytes(submission.context or {}),
        delegation=canonical_bytes(delegation_document(submission.delegation_context, chain)),
    )


def _name(value: JsonObject, field: str) -> str:
    name = value[field]
    if not isinstance(name, str) or not fits(name):
        raise _invalid(field, "must match ^[a-z][a-z0-9_]*$ and be 1 to 64 characters long")
    return name


def _object(field: str, value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise _invalid(field, "must be an object")
    return value


def _idempotency_key(value: JsonValue) -> str:
    # Characters are code points, as JSON Schema's maxLength counts them; NUL is no text for PostgreSQL.
    if not isinstance(value, str) or not 1 <= len(value) <= IDEMPOTENCY_KEY_LENGTH_MAX or "\0" in value:
        raise _invalid("idempotency_key", f"must be text of 1 to {IDEMPOTENCY_KEY_LENGTH_MAX} characters, without NUL")
    return value


def _parent(value: JsonValue) -> str:
    if not isinstance(value, str):
        raise _invalid("parentActionId", "must be the identifier of an action")
    try:
        return parse_id(IdPrefix.ACTION, value)
    except ValidationError as error:
        raise _invalid("parentActionId", "must be the identifier of an action") from error


def _delegation(value: JsonValue) -> JsonObject:
    members = _object("delegationContext", value)
    for name, member in members.items():
        if name not in _DELEGATION_FIELDS:
            raise _invalid(f"delegationContext.{name[:128]}", "is not a member of a delegation context")
        if not isinstance(member, str):
            raise _invalid(f"delegationContext.{name}", "must be text")
    return members


def _invalid(field: str, reason: str) -> ValidationError:
    return ValidationError(f"{field} {reason}", details={"field": field, "reason": reason})
