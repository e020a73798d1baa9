"""Decides recorded actions again, with and without a policy change, to show the effect of the change. Pure.

Both decisions use the current policies, so every difference is due to the change. ``time.now_ns()`` is the time of the
replay; secrets were masked when the action was recorded.
"""

from collections import Counter
from datetime import datetime
from typing import Final

from msgspec import Struct, field

from headgate.actions.unparsed_body import UNPARSED_BODY
from headgate.kernel.canonical_json import JsonObject, JsonValue, parse_strict
from headgate.kernel.clock import rfc3339
from headgate.policies.model import RulePolicy

_GROUPS_MAX: Final = 200
_REASON_MAX_CHARACTERS: Final = 500


class ReplayedAction(Struct, frozen=True):
    """One recorded action and its decisions: ``before`` without the change, ``after`` with it."""

    action_id: str
    agent_id: str
    agent_name: str
    tool: str
    operation: str
    created_at: datetime
    recorded: str
    human: str | None
    before: str
    after: str
    reason: str
    policy_id: str | None
    failed: bool


def changed_set(policies: list[RulePolicy], change: RulePolicy) -> list[RulePolicy]:
    """The policies with this one, in place of its previous version or in addition."""
    return [*(one for one in policies if one.policy_id != change.policy_id), change]


class ReplayCall(Struct, frozen=True):
    """A recorded action as policies would read it now, and the members that the index reads (None: absent)."""

    document: JsonObject
    host: str | None
    method: str | None


def replay_call(*, request: str, tool: str, operation: str, source: str, agent_id: str, agent_name: str) -> ReplayCall:
    """The input that ``headgate.actions.rego_input`` would make. Raises ValidationError for text that is not JSON."""
    recorded = parse_strict(request.encode())
    members = recorded if isinstance(recorded, dict) else {}
    members.pop(UNPARSED_BODY, None)  # for people: policies do not read it
    document: JsonObject = {
        "tool": tool,
        "operation": operation,
        "effect": None,
        "source": source,
        "agent": {"id": agent_id, "name": agent_name},
        "params": {},
        "context": {},
        "delegation": {},
        **members,
    }
    http = members.get("http")
    call = http if isinstance(http, dict) else {}
    host, method = call.get("host"), call.get("method")
    return ReplayCall(document, host if isinstance(host, str) else None, method if isinstance(method, str) else None)


class ReplayTally(Struct):
    """The sums of a replay, with the first few examples of each kind of change."""

    examples_of_each: int
    replayed: int = 0
    left_out: int = 0
    changed: int = 0
    failed: int = 0
    unlike_recorded: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    agents: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    tools: Counter[tuple[str, str]] = field(default_factory=Counter)
    operations: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    humans: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str], list[JsonValue]] = field(default_factory=dict)

    def add(self, one: ReplayedAction) -> None:
        self.replayed += 1
        self.failed += one.failed
        self.unlike_recorded += one.before != one.recorded
        if one.human is not None:
            self.humans[one.human, one.after] += 1
        if one.before == one.after:
            return
        change = f"{one.before} -> {one.after}"
        self.changed += 1
        self.changes[change] += 1
        self.agents[one.agent_id, one.agent_name, change] += 1
        self.tools[one.tool, change] += 1
        self.operations[one.tool, one.operation, change] += 1
        examples = self.examples.setdefault((one.tool, one.operation, change), [])
        if len(examples) < self.examples_of_each and len(self.examples) <= _GROUPS_MAX:
            examples.append(_example(one, change))

    def report(self) -> JsonObject:
        """The largest groups first; at most two hundred of each kind."""
        examples: list[JsonValue] = [one for group in self.examples.values() for one in group]
        changes: JsonObject = dict(self.changes.most_common())
        agents: list[JsonValue] = [
            {"agent_id": agent_id, "name": name, "change": change, "actions": count}
            for (agent_id, name, change), count in self.agents.most_common(_GROUPS_MAX)
        ]
        tools: list[JsonValue] = [
            {"tool": tool, "change": change, "actions": count}
            for (tool, change), count in self.tools.most_common(_GROUPS_MAX)
        ]
        operations: list[JsonValue] = [
            {"tool": tool, "operation": operation, "change": change, "actions": count}
            for (tool, operation, change), count in self.operations.most_common(_GROUPS_MAX)
        ]
        return {
            "replayed": self.replayed,
            "left_out": self.left_out,
            "changed": self.changed,
            "failed": self.failed,
            "unlike_recorded": self.unlike_recorded,
            "changes": changes,
            "by_agent": agents,
            "by_tool": tools,
            "by_operation": operations,
            "humans": self._agreement(),
            "examples": examples,
        }

    def _agreement(self) -> JsonObject:
        """Compares the change with people's decisions: it would have allowed what they approved, or denied what they
        denied. Requiring approval counts as neither."""
        agrees = self.humans["approved", "allow"] + self.humans["denied", "deny"]
        contradicts = self.humans["approved", "deny"] + self.humans["denied", "allow"]
        asks = sum(count for (_, after), count in self.humans.items() if after == "require_approval")
        return {
            "decided": sum(self.humans.values()),
            "agrees": agrees,
            "contradicts": contradicts,
            "asks": asks,
            "approved_but_denied_now": self.humans["approved", "deny"],
            "denied_but_allowed_now": self.humans["denied", "allow"],
        }


def _example(one: ReplayedAction, change: str) -> JsonValue:
    return {
        "action_id": one.action_id,
        "created_at": rfc3339(one.created_at),
        "agent_id": one.agent_id,
        "tool": one.tool,
        "operation": one.operation,
        "change": change,
        "recorded": one.recorded,
        "human": one.human,
        "reason": one.reason[:_REASON_MAX_CHARACTERS],
        "policy_id": one.policy_id,
    }
