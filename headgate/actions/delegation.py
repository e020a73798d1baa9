"""On whose behalf an action is asked for: the chain of actions above it, and the tree of those below.

An action names its parent when it is made and never again, so a chain has no cycle unless somebody wrote one into the
database; it ends at the depth that is allowed in either case.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import ValidationError

DEFAULT_DEPTH: Final = 8
"""How many actions may stand above one, unless a setting says otherwise."""

MOST_SUB_ACTIONS: Final = 100
"""How many of the actions below one are shown."""


class Delegate(Struct, frozen=True):
    """One action of a chain or a tree. ``depth``: how many steps it is away."""

    action_id: str
    parent_action_id: str | None
    agent_id: str
    agent_name: str | None
    tool: str
    operation: str
    status: str
    depth: int

    def shown_to_policies(self) -> JsonObject:
        return {
            "action_id": self.action_id,
            "tool": self.tool,
            "operation": self.operation,
            "status": self.status,
            "agent": {"id": self.agent_id, "name": self.agent_name},
        }


type Chain = Sequence[Delegate]
"""From the nearest to the farthest."""


class SubActions(Struct, frozen=True):
    """Nearest first; ``is_minimum``: there are more than are shown."""

    actions: Sequence[Delegate]
    is_minimum: bool


def require_chain(chain: Chain, *, most: int) -> None:
    """``chain`` was read one longer than allowed. Raises ValidationError: no such parent, too deep, or a cycle."""
    if not chain:
        raise ValidationError(
            "parentActionId names no action of this organization",
            details={"field": "parentActionId", "reason": "no such action"},
        )
    if len(chain) > most:
        raise ValidationError(
            f"parentActionId: an action may have at most {most} ancestors",
            details={"field": "parentActionId", "reason": "delegated too deeply", "most": most},
        )


def delegation_document(context: JsonObject | None, chain: Chain) -> JsonObject:
    """What policies read as ``input.delegation``: what the agent says of it, and what is known of it."""
    document: JsonObject = dict(context or {})
    if chain:
        listed: list[JsonValue] = [one.shown_to_policies() for one in chain]
        document |= {"parentActionId": chain[0].action_id, "chain": listed, "depth": len(chain)}
    return document


def seen_by(agent_id: str, delegation: JsonObject) -> JsonObject:
    """``delegation_document`` as this agent may see it: without the ancestors of other agents."""
    chain = delegation.get("chain")
    if not isinstance(chain, list):
        return delegation
    return {**delegation, "chain": [one for one in chain if _agent_of(one) == agent_id]}


def _agent_of(shown: JsonValue) -> JsonValue:
    agent = shown.get("agent") if isinstance(shown, dict) else None
    return agent.get("id") if isinstance(agent, dict) else None
