"""What an agent is told of this service."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from headgate.kernel.canonical_json import JsonObject


class AgentRoute(Struct, frozen=True):
    """A route that an agent's key may call, or that needs none. ``scope`` None: none is needed."""

    method: str
    path: str
    scope: str | None
    summary: str


class KnownTool(Struct, frozen=True):
    """A tool of a bundled catalogue. ``operations``: name → its effect (read, write, destructive)."""

    tool: str
    description: str
    hosts: Sequence[str]
    operations: Mapping[str, str]


class Example(Struct, frozen=True):
    """A request that works as it stands. ``keep``: this member of the answer is ``{name}`` in later examples."""

    title: str
    method: str
    path: str
    expected_status: Sequence[int]
    body: JsonObject | None = None
    with_key: bool = True
    keep: Mapping[str, str] = field(default_factory=dict)


class Skill(Struct, frozen=True):
    name: str
    description: str
    version: str
    routes: Sequence[AgentRoute]
    tools: Sequence[KnownTool]
    examples: Sequence[Example]
