"""Adds the agent's recent actions to a call (``input.session``), and stores the call once it is decided.

The record keeps the summary with the request, so that a replay has the same input. The digest leaves it out.
"""

from msgspec.structs import replace

from headgate.agent_sessions.memory import SessionMemory
from headgate.agent_sessions.model import SessionCall
from headgate.gate.candidate import BoundCandidate
from headgate.gate.pipeline import Decided
from headgate.kernel.canonical_json import JsonObject, canonical_bytes

_MATCH = "match"


def with_session(candidate: BoundCandidate, memory: SessionMemory, org_id: str) -> BoundCandidate:
    draft = candidate.draft
    summary = memory.summary(org_id, candidate.agent_id, None if draft.call is None else draft.call.host)
    # The last member in canonical order: of the request's members none sorts after it.
    member = b',"session":' + canonical_bytes(summary) + b"}"
    request = candidate.request[:-1] + member if candidate.request else candidate.request
    return replace(candidate, rego_input=candidate.rego_input[:-1] + member, request=request)


def session_call(decided: Decided, at: float) -> SessionCall:
    """The call with its decision."""
    draft, decision = decided.candidate.draft, decided.decision
    call = draft.call
    return SessionCall(
        at,
        draft.tool,
        draft.operation,
        None if draft.effect is None else draft.effect.value,
        None if call is None else call.host,
        decision.verdict.value,
        0 if call is None else len(draft.content) + len(call.query),
        tuple(sorted({issue for entry in decision.nlp for issue in _issues(entry)})),
    )


def _issues(entry: JsonObject) -> list[str]:
    issues = entry.get("issues")
    if entry.get("outcome") != _MATCH or not isinstance(issues, list):
        return []
    return [issue for issue in issues if isinstance(issue, str)]
