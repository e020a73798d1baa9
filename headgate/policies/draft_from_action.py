"""Drafts a rule about one recorded action: calls of its tool and operation, by its method and host where it has them.

What would narrow the rule to this very call (the agent, the path, each param) stands in it as comments. Pure.
"""

import json
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from headgate.actions.replay_store import RecordedAction
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ConflictError
from headgate.kernel.secrets import MASK
from headgate.policies.model import Verdict
from headgate.policies.replay import replay_call
from headgate.policies.seen_calls import object_of

_HEADS: Final = {
    Verdict.ALLOW: "allow if {",
    Verdict.DENY: "deny contains reason if {",
    Verdict.REQUIRE_APPROVAL: "require_approval contains reason if {",
}
_REASONS: Final = {Verdict.DENY: "is not allowed", Verdict.REQUIRE_APPROVAL: "needs a person"}
_VALUE_MAX_CHARACTERS: Final = 120


class PolicyDraftFromAction(Struct, frozen=True):
    """``cases`` are in the form of ``headgate policy test``."""

    name: str
    rego_policy: str
    cases: list[JsonValue]


def draft_from_action(action: RecordedAction, verdict: Verdict) -> PolicyDraftFromAction:
    """Raises ConflictError where the action's request is no longer stored, or too large to be asked about."""
    if action.request is None:
        raise ConflictError(f"The request of {action.action_id} was erased or is too large. Choose another call.")
    call = replay_call(
        request=action.request,
        tool=action.tool,
        operation=action.operation,
        source=action.source,
        agent_id=action.agent_id,
        agent_name=action.agent_name,
    ).document
    title = f"{action.tool}.{action.operation}"
    example: JsonObject = {name: value for name, value in call.items() if value not in (None, {}, [])}
    lines = [*_conditions(action, call), *_narrower(action, call)]
    if verdict in _REASONS:
        lines.append(f"reason := {_literal(f'{title} {_REASONS[verdict]}')}")
    body = "".join(f"\t{line}\n" for line in lines)
    return PolicyDraftFromAction(
        name=f"{verdict.replace('_', ' ').capitalize()} {title}",
        rego_policy=f"package policies.draft\n\n# Drafted from {action.action_id}.\n{_HEADS[verdict]}\n{body}}}\n",
        cases=[
            {"name": "the recorded call", "input": example, "expect": {"decision": verdict.value}},
            {
                "name": "another operation",
                "input": {**example, "operation": "another_operation"},
                "expect": {"decision": "none"},
            },
        ],
    )


def _conditions(action: RecordedAction, call: JsonObject) -> Iterator[str]:
    yield f"input.tool == {_literal(action.tool)}"
    yield f"input.operation == {_literal(action.operation)}"
    http = object_of(call.get("http"))
    yield from (f"input.http.{part} == {_literal(http[part])}" for part in ("method", "host") if part in http)


def _narrower(action: RecordedAction, call: JsonObject) -> Iterator[str]:
    yield "# Narrower: remove the # of a line."
    yield f"# input.agent.id == {_literal(action.agent_id)}"
    http = object_of(call.get("http"))
    if "path" in http:
        yield f"# input.http.path == {_literal(http['path'])}"
    for name, value in sorted(object_of(call.get("params")).items()):
        text = _literal(value)
        if len(text) <= _VALUE_MAX_CHARACTERS and MASK not in text:
            yield f"# input.params[{_literal(name)}] == {text}"


def _literal(value: JsonValue) -> str:
    """JSON is Rego. On one line, and in ASCII where a character could hide or turn what the rule says."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if text.isprintable() else json.dumps(value, sort_keys=True)
