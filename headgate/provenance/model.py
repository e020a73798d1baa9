"""Who showed an agent a value, and what of an organization's settings says whom to trust. Pure."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.clock import rfc3339
from headgate.protocols.llm_endpoints import is_provider

TRUSTED_SOURCES: Final = "trusted_sources"
"""The data document that names whom to trust: ``{"hosts": ["intranet.example", "*.corp.example"], "models": […]}``."""
_LISTS_MAX_BYTES: Final = 1 << 20


class SourceKind(StrEnum):
    """In what an agent met a value."""

    RESPONSE = "response"  # the answer of a call that went through the gate
    TOOL_RESULT = "tool_result"  # what an agent told its model that a tool had answered
    PROMPT = "prompt"  # what an agent told its model that its user had said
    CONFIGURATION = "configuration"  # the instructions that an agent gives its model
    EARLIER_CALL = "earlier_call"  # the host of a call that the agent made before anybody showed it
    LIST = "list"  # a data document of the organization
    UNREAD = "unread"  # not looked up: the call has more values than are


class Source(Struct, frozen=True):
    """``name``: of a list. ``action_id``, ``host``, ``tool`` and ``operation``: of the call that was answered, or told
    the model."""

    kind: SourceKind
    trusted: bool
    seen_at: datetime | None = None
    action_id: str | None = None
    host: str | None = None
    tool: str | None = None
    operation: str | None = None
    name: str | None = None

    def record(self) -> JsonObject:
        """As policies read it, and as it is kept with the action; what is None is left out."""
        members: dict[str, JsonValue] = {
            "action_id": self.action_id,
            "host": self.host,
            "name": self.name,
            "operation": self.operation,
            "seen_at": None if self.seen_at is None else rfc3339(self.seen_at),
            "source": self.kind.value,
            "tool": self.tool,
            "trusted": self.trusted,
        }
        return {name: value for name, value in members.items() if value is not None}


class ProvenanceRules(Struct, frozen=True):
    """Of an organization with a policy that reads provenance. Hosts as ``a.example`` or ``*.example``; ``lists`` are
    the data documents by path, as JSON."""

    trusted_hosts: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    lists: Mapping[str, str] = MappingProxyType({})

    def trusts(self, host: str) -> bool:
        return _names(self.trusted_hosts, host)

    def is_model(self, host: str) -> bool:
        """Whether a language model answers there: what it is told is a source, what it answers is none."""
        return is_provider(host) or _names(self.models, host)


def provenance_rules(sources: Iterable[str], documents: Mapping[str, str]) -> ProvenanceRules | None:
    """``sources``: the text of each enabled policy and module. None: none names ``provenance``, so nobody keeps what
    none reads."""
    if not any("provenance" in source for source in sources):
        return None
    trusted = json.loads(documents.get(TRUSTED_SOURCES, "{}"))
    members = trusted if isinstance(trusted, dict) else {}
    lists: dict[str, str] = {}
    size = 0
    for path, content in sorted(documents.items()):
        size += len(content)
        if path != TRUSTED_SOURCES and size <= _LISTS_MAX_BYTES:
            lists[path] = content
    return ProvenanceRules(_hosts(members.get("hosts")), _hosts(members.get("models")), lists)


def _hosts(value: object) -> frozenset[str]:
    names = value if isinstance(value, list) else []
    return frozenset(name.lower() for name in names if isinstance(name, str))


def _names(patterns: frozenset[str], host: str) -> bool:
    if not patterns:
        return False
    if host in patterns:
        return True
    labels = host.split(".")
    return any("*." + ".".join(labels[at:]) in patterns for at in range(1, len(labels)))
