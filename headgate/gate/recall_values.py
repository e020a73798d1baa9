"""Adds to a call where its values were first seen. Policies read it, and the record keeps it with the request.

The digest leaves it out: a repeated call stays the same call, whatever its agent was shown in between.
"""

import json
from typing import Final

from msgspec.structs import replace

from headgate.actions.masking import mask
from headgate.gate.candidate import BoundCandidate
from headgate.kernel.canonical_json import JsonObject, canonical_bytes
from headgate.kernel.clock import Clock
from headgate.provenance.memory import ValueMemory
from headgate.provenance.model import ProvenanceRules, Source, SourceKind
from headgate.provenance.told import texts_told
from headgate.provenance.values import values_of

TOLD_CHARACTERS_MAX: Final = 1 << 20
"""New text of one completion that is read: the newest of it."""
_HOSTS: Final = ("http.host", "params.host")


def with_origins(candidate: BoundCandidate, memory: ValueMemory, rules: ProvenanceRules, org_id: str) -> BoundCandidate:
    """``candidate`` with ``provenance`` as a member of its input, and of its recorded request where it is not empty."""
    draft = candidate.draft
    origins = memory.origins(org_id, candidate.agent_id, rules, values_of(draft))
    if draft.call is not None and rules.is_model(draft.call.host):
        # Every page about programming names it, and the agent's own configuration does.
        for path in _HOSTS:
            origins.pop(path, None)
    if not origins:
        return replace(candidate, rego_input=candidate.rego_input[:-1] + b',"provenance":{}}')
    # The last member in canonical order: of the request's members none sorts after it.
    request = candidate.request[:-1] + _member(_recorded(origins)) if candidate.request else candidate.request
    return replace(candidate, rego_input=candidate.rego_input[:-1] + _member(origins), request=request)


def _member(origins: JsonObject) -> bytes:
    return b',"provenance":' + canonical_bytes(origins) + b"}"


def _recorded(origins: JsonObject) -> JsonObject:
    """With the credentials in its paths masked: an agent may use one as the name of a member."""
    paths = canonical_bytes(list(origins))
    masked = mask(paths)
    if masked is paths:
        return origins
    return dict(zip(json.loads(masked), origins.values(), strict=True))


def note_what_is_told(
    candidate: BoundCandidate, memory: ValueMemory, rules: ProvenanceRules, org_id: str, clock: Clock
) -> None:
    """Where this call asks a language model: what the agent tells it."""
    draft = candidate.draft
    body = draft.params.get("body")
    if draft.call is None or not rules.is_model(draft.call.host) or not isinstance(body, dict):
        return
    now, host, agent_id = clock(), draft.call.host, candidate.agent_id
    numbers: dict[SourceKind, tuple[Source, int]] = {}
    room = TOLD_CHARACTERS_MAX
    told = [one for one in texts_told(body) if memory.is_new_text(org_id, agent_id, *one)]
    newest = len(told)
    while newest and room >= len(told[newest - 1][1]):
        newest -= 1
        room -= len(told[newest][1])
    for kind, text in told[newest:]:
        if kind not in numbers:
            trusted = kind is not SourceKind.TOOL_RESULT
            source = Source(kind, trusted, now, host=host, tool=draft.tool, operation=draft.operation)
            numbers[kind] = (source, memory.number(source))
        source, number = numbers[kind]
        memory.show(org_id, agent_id, text.encode("utf-8", "surrogatepass"), source, number)
