"""Which tools of an MCP server's list an agent is offered: not those whose every call the rule policies deny.

Nothing is permitted by being offered: each call is decided when it is made. So where params could change the decision,
or there was no time to ask, a tool is offered (docs/decisions/0072-offer-only-tools-that-may-be-called.md).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from headgate.agents.model import KeyIdentity
from headgate.connections.errors import BrokenConnectionError, NoConnectionError
from headgate.gate.candidate import BoundCandidate, candidate_for, with_connection
from headgate.gate.organization_state import OrganizationState
from headgate.kernel.canonical_json import canonical_bytes
from headgate.mcp_tools.model import server_key
from headgate.mcp_tools.pins import ToolPins
from headgate.policies.marker import Marker
from headgate.policies.model import Decision
from headgate.protocols.draft import ActionDraft, Effect, ProtocolFacts
from headgate.protocols.mcp import call_facts, tool_operation
from headgate.protocols.mcp_tool_list import OfferedTool

ASKED_TOOLS_MAX: Final = 1_000
"""Of one list: 0.2 ms each with a dozen policies."""


class RulesInTurns(Protocol):
    """``headgate.gate.fair_decisions.FairDecisions``."""

    async def in_turns[Answer](
        self, org_id: str, agent_id: str, steps: Iterator[Callable[[Marker | None], Answer]]
    ) -> list[Answer]:
        """Raises UnavailableError."""


class Offer(Struct, frozen=True):
    """What becomes of a list. ``denied``: the tools that are not offered, each with the denial of all its calls;
    ``first_seen``: how many nobody has seen before; ``changed``: those that are not what was accepted. ``elsewhere``:
    the names of other servers' tools, where policies about content look at answers."""

    denied: Mapping[str, Decision]
    first_seen: int
    changed: frozenset[str]
    elsewhere: frozenset[str] = frozenset()


class ToolListing(Struct, frozen=True):
    """One request for a server's tools. ``draft`` is its own, which the calls of its tools share but for their name."""

    rules: RulesInTurns
    pins: ToolPins
    state: OrganizationState
    identity: KeyIdentity
    draft: ActionDraft
    action_id: str | None

    async def offer(self, tools: Sequence[OfferedTool]) -> Offer:
        """The tools are pinned when it answers: no call of a changed one is decided as if it were none.

        Raises UnavailableError.
        """
        org_id, agent_id = self.state.org_id, self.identity.agent_id or ""
        server = server_key(self.draft.tool, self.draft.source, agent_id)
        noted = await self.pins.note(
            org_id, self.state.generation, server, tools, agent_id=agent_id, action_id=self.action_id
        )
        asked = list(dict.fromkeys(tool.name for tool in tools))[:ASKED_TOOLS_MAX]
        steps = iter([partial(self._denial, name, name in noted.changed) for name in asked])
        answers = await self.rules.in_turns(org_id, agent_id, steps)
        denied = {name: one for name, one in zip(asked, answers, strict=True) if one is not None}
        elsewhere: frozenset[str] = frozenset()
        if self.state.nlp_policies:
            elsewhere = await self.pins.names_elsewhere(org_id, server, agent_id) - set(asked)
        return Offer(denied, noted.first_seen, noted.changed, elsewhere)

    def _denial(self, name: str, is_changed: bool, marker: Marker | None) -> Decision | None:
        try:
            candidate = self._smallest_call(name, is_changed)
        except (NoConnectionError, BrokenConnectionError):
            return None
        draft = candidate.draft
        return self.state.policies.denial_of_kind(
            candidate.rego_input,
            tool=draft.tool,
            operation=draft.operation,
            host=None if draft.call is None else draft.call.host,
            method=None if draft.call is None else draft.call.method,
            marker=marker,
        )

    def _smallest_call(self, name: str, is_changed: bool) -> BoundCandidate:
        """A call without arguments, as the client would send it to the address that it asked for the list."""
        draft = replace(
            self.draft,
            operation=tool_operation(name),
            params={},
            params_bytes=b"{}",
            effect=None if self.draft.effect is None else Effect.WRITE,
            mcp=None,
            facts=ProtocolFacts("mcp", canonical_bytes(call_facts(name, {}, is_changed=is_changed))),
        )
        return with_connection(candidate_for(self.identity, draft), self.state.connections, self.state.org_id)
