"""Says of a call of an MCP tool whether the tool is still what was accepted (``input.mcp.tool_changed``).

The digest leaves it out, as the bytes of the call are the same; the record keeps it with the request, so that a replay
decides by what was known.
"""

from msgspec.structs import replace

from headgate.actions.recorded_request import recorded_request
from headgate.actions.rego_input import rego_input
from headgate.gate.candidate import Candidate
from headgate.gate.organization_state import OrganizationState
from headgate.kernel.canonical_json import canonical_bytes, parse_strict
from headgate.mcp_tools.model import server_key
from headgate.protocols.draft import ProtocolFacts


def with_tool_change(candidate: Candidate, state: OrganizationState, agent_name: str) -> Candidate:
    """``candidate`` itself, unless it calls a tool that has changed."""
    draft = candidate.draft
    if not state.changed_tools or draft.mcp is None or draft.facts is None:
        return candidate
    server = server_key(draft.tool, draft.source, candidate.agent_id)
    if (server, draft.mcp.called_tool) not in state.changed_tools:
        return candidate
    facts = parse_strict(draft.facts.shown)
    if not isinstance(facts, dict):
        raise TypeError("the facts of an MCP message are an object")
    shown = canonical_bytes({**facts, "tool_changed": True})
    draft = replace(draft, facts=ProtocolFacts(draft.facts.member, shown))
    return replace(
        candidate,
        draft=draft,
        rego_input=rego_input(draft, agent_id=candidate.agent_id, agent_name=agent_name),
        request=recorded_request(draft),
    )
