"""Adds to a call where its values were first seen: policies read it, and the record keeps it with the request.

The digest leaves it out: the same call sent again is the same call, whatever its agent was shown meanwhile.
"""

from dataclasses import replace

from headgate.gate.candidate import BoundCandidate
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.clock import Clock
from headgate.provenance.memory import ValueMemory
from headgate.provenance.model import ProvenanceRules, Source, SourceKind
from headgate.provenance.told import texts_told
from headgate.provenance.values import values_of


def with_origins(candidate: BoundCandidate, memory: ValueMemory, rules: ProvenanceRules, org_id: str) -> BoundCandidate:
    """``candidate`` with ``provenance`` as a member of its input, and of its recorded request where it is not empty."""
    origins = memory.origins(org_id, candidate.agent_id, rules, values_of(candidate.draft))
    member = b',"provenance":' + (canonical_bytes(origins) if origins else b"{}") + b"}"
    # The last member in canonical order: of the request's members none sorts after it.
    request = candidate.request[:-1] + member if candidate.request and origins else candidate.request
    return BoundCandidate(replace(candidate, rego_input=candidate.rego_input[:-1] + member, request=request))


def note_what_is_told(
    candidate: BoundCandidate, memory: ValueMemory, rules: ProvenanceRules, org_id: str, clock: Clock
) -> None:
    """Where this call asks a language model: what the agent tells it."""
    draft = candidate.draft
    body = draft.params.get("body")
    if draft.call is None or not rules.is_model(draft.call.host) or not isinstance(body, dict):
        return
    now, host = clock(), draft.call.host
    numbers: dict[SourceKind, tuple[Source, int]] = {}
    for kind, text in texts_told(body):
        if kind not in numbers:
            trusted = kind is not SourceKind.TOOL_RESULT
            source = Source(kind, trusted, now, host=host, tool=draft.tool, operation=draft.operation)
            numbers[kind] = (source, memory.number(source))
        source, number = numbers[kind]
        memory.show(org_id, candidate.agent_id, text.encode("utf-8", "surrogatepass"), source, number)
