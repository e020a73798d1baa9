"""What an agent is told of this service."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.kernel.canonical_json import JsonObject


@dataclass(frozen=True, slots=True)
class AgentRoute:
    """A route that an agent's key may call, or that needs none. ``scope`` None: none is needed."""

    method: str
    path: str
    scope: str | None
    summary: str


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool of a bundled catalogue. ``operations``: name → its effect (read, write, destructive)."""

    tool: str
    description: str
    hosts: Sequence[str]
    operations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Example:
    """A request that works as it stands. ``keep``: this member of the answer is ``{name}`` in later examples."""

    title: str
    method: str
    path: str
    expected_status: Sequence[int]
    body: JsonObject | None = None
    with_key: bool = True
    keep: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skill:
    name: str
    description: str
    version: str
    routes: Sequence[AgentRoute]
    tools: Sequence[KnownTool]
    examples: Sequence[Example]
