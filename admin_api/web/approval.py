"""Prepares one approval request for its page."""

import difflib
import json
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from admin_api.actions.routes import get as get_call
from admin_api.actions.routes import list_all as list_calls
from admin_api.actions.schemas import ActionAnswer, ActionDetailAnswer
from admin_api.approvals.detail_schemas import ApprovalDetailAnswer
from admin_api.approvals.routes import get
from admin_api.pagination import ListRequest
from admin_api.web.api import Api
from admin_api.web.deciding_rule import rules_of
from admin_api.web.grant_form import GrantDraft, rows_of
from admin_api.web.names import names_of
from admin_api.web.unshown import unshown_of
from headgate.agents.scopes import Scope
from headgate.approvals.model import ApprovalStatus
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.provenance.values import step_of
from headgate.tools.describe import first_params

_CALLS_BEFORE: Final = 6
_FACTS: Final = 3
_FIRST: Final = ("amount", "total", "recipient", "to", "payee", "channel", "email", "destination", "path", "url")
_FACT_CHARACTERS: Final = 60
_COMPARED_LINES: Final = 200
_PAST: Final = {
    ApprovalStatus.APPROVED: ("wants to", "was allowed to"),
    ApprovalStatus.DENIED: ("wants to", "was not allowed to"),
    ApprovalStatus.EXPIRED: ("wants to", "wanted to"),
}
_KIND: Final = {
    ApprovalStatus.PENDING: ("held", "Held"),
    ApprovalStatus.APPROVED: ("allowed", "Approved"),
    ApprovalStatus.DENIED: ("denied", "Denied"),
    ApprovalStatus.EXPIRED: ("denied", "Expired"),
}
REASONS: Final = (
    "Wrong recipient or destination.",
    "The amount is too high.",
    "Not needed for this task.",
    "Ask me before you try this.",
    "Do this in the test environment first.",
)


class DiffLine(Struct, frozen=True):
    """``sign``: ``+``, ``-`` or a space."""

    sign: str
    text: str


class Fact(Struct, frozen=True):
    """``origin``: where the value was first seen, as recorded. None: it was not looked up, or not seen before."""

    name: str
    value: str
    origin: JsonValue


def asked_params(answer: ApprovalDetailAnswer) -> JsonObject:
    """What an approval covers now: the params of the action, or those of a reviewer's edit."""
    return answer.action.params if answer.edit is None else answer.edit.params


class Changes(Struct, frozen=True):
    """An edit that is not approved yet."""

    params: JsonValue


async def approval_context(
    api: Api, approval_id: str, grant: GrantDraft | None = None, changes: Changes | None = None
) -> dict[str, object]:
    """``grant``: the grant form as it was sent; ``changes``: an edit to compare. Raises NotFoundError."""
    answer = await api.call(get, approval_id, api.principal, api.dependencies, api.request)
    assert isinstance(answer, ApprovalDetailAnswer)  # noqa: S101 - the camelCase shape was not asked for
    status = ApprovalStatus(answer.status)
    context = answer.context
    sentence = f"{answer.action.tool}.{answer.action.operation}" if context is None else context.summary
    request: JsonObject = {} if context is None else context.request
    params, http = request.get("params"), request.get("http")
    params = params if isinstance(params, dict) else {}
    http = http if isinstance(http, dict) else None
    fields = params if http is None else body_of(params, http)
    recorded = request.get("provenance")
    origins = recorded if isinstance(recorded, dict) else {}
    named = first_params(api.dependencies.catalogue, answer.action.tool, answer.action.operation)
    has_voted = any(vote.user_id == api.principal.user_id for vote in answer.decisions)
    why = [] if context is None else context.why
    return {
        "approval": answer,
        "rules": await rules_of(api, [(one, one.policy_version) for one in why]),
        "call": await _approved_call(api, answer),
        "calls": await _calls_before(api, answer),
        "names": await _names(api, answer),
        "escalate_to": list(dict.fromkeys(name for one in answer.requirements for name in one.escalate_to)),
        "context": context,
        "risk_is_stated": answer.risk_is_stated,
        "is_open": status is ApprovalStatus.PENDING,
        "status": _KIND[status],
        "sentence": sentence.replace(*_PAST[status], 1) if status in _PAST else sentence,
        "facts": [
            # Values that a reviewer entered have no recorded origin.
            Fact(name, value, None if answer.edit else origin_of(origins, params, fields, name))
            for name, value in facts_of(fields, named)[: _FACTS if http is None else _FACTS - 1]
        ],
        "host_origin": origins.get("http.host"),
        "params": fields,
        "as_json": json.dumps(fields, ensure_ascii=False),
        "http": http,
        "beside_arguments": beside_arguments(request.get("mcp")),
        "unshown": unshown_of(params, http),
        "said": request.get("context"),
        "origins": origins,
        "diff": [] if answer.edit is None else diff_of(answer.action.params, answer.edit.params),
        "changes": None if changes is None else diff_of(asked_params(answer), changes.params),
        "has_voted": has_voted,
        "may_decide": api.may(Scope.APPROVALS_WRITE) and status is ApprovalStatus.PENDING and not has_voted,
        "may_audit": api.may(Scope.AUDIT_READ),
        "may_edit": answer.source == "api",
        "editable": json.dumps(answer.action.params, indent=2, ensure_ascii=False),
        "reasons": REASONS,
        "grant": grant or GrantDraft(rows_of(asked_params(answer))),
    }


async def _approved_call(api: Api, answer: ApprovalDetailAnswer) -> ActionDetailAnswer | None:
    """The call of an approved request, with its outcome. None: not approved, or the person may not see calls."""
    if answer.status != ApprovalStatus.APPROVED or not api.may(Scope.ACTIONS_READ):
        return None
    return await api.call(get_call, answer.action_id, api.request, api.principal, api.dependencies)


async def _calls_before(api: Api, answer: ApprovalDetailAnswer) -> Sequence[ActionAnswer]:
    """Earlier calls of this agent. Empty for people who may not see calls."""
    if not api.may(Scope.ACTIONS_READ):
        return []
    wanted = ListRequest(_CALLS_BEFORE, cursor=answer.action_id)
    found = await api.call(list_calls, wanted, api.principal, api.dependencies, agent_id=answer.agent_id)
    return found.data


async def _names(api: Api, answer: ApprovalDetailAnswer) -> dict[str, str]:
    """What those are called whom the history and the assignees name by their ids."""
    people = (*(one.by for one in answer.history), *answer.assignees)
    editor = None if answer.edit is None else answer.edit.edited_by
    return await names_of(api, [answer.agent_id, editor, *(one.id for one in people if one is not None)])


def body_of(params: JsonObject, http: JsonObject) -> JsonObject:
    """The params without the request line and the headers, which are shown separately."""
    rest = {name: value for name, value in params.items() if not _is_told(value, http.get(name))}
    body = rest.get("body")
    return body if len(rest) == 1 and isinstance(body, dict) else rest


def beside_arguments(mcp: JsonValue) -> JsonValue:
    """What an MCP call sends beside the name and the arguments of its tool. None: nothing."""
    return (mcp.get("params") if isinstance(mcp, dict) else None) or None


def _is_told(value: JsonValue, elsewhere: JsonValue) -> bool:
    """Whether the value is shown elsewhere: as a whole, or each of its members."""
    if isinstance(value, dict) and isinstance(elsewhere, dict):
        return value.items() <= elsewhere.items()
    return value == elsewhere


def facts_of(params: JsonObject, named: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Names and values of the most important params: those that the catalogue has ``named``, then amounts and
    recipients."""
    plain = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in params.items()
        if value is not None and not isinstance(value, dict | list)
    }
    short = [name for name, value in plain.items() if len(value) <= _FACT_CHARACTERS]
    first = [*named, *_FIRST]
    ordered = sorted(short, key=lambda name: first.index(name) if name in first else len(first))
    return [(name, plain[name]) for name in ordered]


def origin_of(origins: JsonObject, params: JsonObject, fields: JsonObject, name: str) -> JsonValue:
    """The recorded origin of a field that ``facts_of`` named. ``fields``: the params, or their body."""
    return origins.get(("params.body" if fields is params.get("body") else "params") + step_of(name))


def diff_of(before: JsonValue, after: JsonValue) -> list[DiffLine]:
    """Compares both as indented JSON, line by line. Equal lines are kept as context. Where too many lines lie between
    the first and the last difference, all of these are removed lines and added lines: comparing takes time with their
    square, and an agent chooses how many there are."""
    old, new = (json.dumps(one, indent=2, ensure_ascii=False, sort_keys=True).split("\n") for one in (before, after))
    first = _alike(old, new)
    last = _alike(old[first:][::-1], new[first:][::-1])
    removed, added = old[first : len(old) - last], new[first : len(new) - last]
    steps = [("replace", 0, len(removed), 0, len(added))]
    if len(removed) + len(added) <= _COMPARED_LINES:
        steps = [*difflib.SequenceMatcher(None, removed, added, autojunk=False).get_opcodes()]
    lines = [DiffLine(" ", line) for line in old[:first]]
    for step, old_from, old_to, new_from, new_to in steps:
        lines += [DiffLine(" " if step == "equal" else "-", line) for line in removed[old_from:old_to]]
        lines += [DiffLine("+", line) for line in added[new_from:new_to] if step != "equal"]
    return lines + [DiffLine(" ", line) for line in old[len(old) - last :]]


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """How many first lines are the same."""
    return next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )
