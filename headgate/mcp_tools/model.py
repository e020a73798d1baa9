"""One tool of an MCP server, as it was accepted and as it was seen last. Pure.

The first definition that is seen is trusted, as SSH trusts the first key of a host (RFC 4251, section 4.1). A tool that
was useful for weeks and then describes itself in another way may have been turned against its users: another definition
is an event, and policies may hold the tool's calls until a person has accepted it.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec import Struct

from headgate.kernel.canonical_json import canonical_bytes
from headgate.protocols.draft import Source
from headgate.protocols.mcp_tool_list import OfferedTool

KEPT_DEFINITION_BYTES_MAX: Final = 32 << 10
"""Of a longer definition only the digest is kept."""
TOOLS_OF_SERVER_MAX: Final = 1_000
TOOLS_OF_AGENT_MAX: Final = 2_000
"""Of all servers that one agent runs itself."""
TOOLS_MAX: Final = 20_000
"""Of an organization, without those of servers that agents run themselves."""


class Definition(Struct, frozen=True):
    """All that a server says of a tool. ``sha256`` is of its canonical JSON, ``text``; None: that is too long."""

    name: str
    sha256: bytes
    text: str | None


class PinnedTool(Struct, frozen=True):
    """``server``: see ``server_key``. ``changed_at`` set: policies read ``input.mcp.tool_changed``. ``accepted_by``
    None: it was the first one seen."""

    org_id: str
    tool_id: str
    server: str
    name: str
    accepted_sha256: bytes
    accepted_definition: str | None
    accepted_at: datetime
    accepted_by: str | None
    seen_sha256: bytes
    seen_definition: str | None
    seen_at: datetime
    changed_at: datetime | None


def server_key(tool: str, source: Source, agent_id: str) -> str:
    """Under which the tools of a server are pinned. What a server says through the proxy is the server's word, for all
    agents; what an agent says of a server that it runs itself is this agent's, and must not change what others see."""
    return tool if source is Source.PROXY else f"{agent_id}/{tool}"


def definitions(tools: Iterable[OfferedTool]) -> tuple[Definition, ...]:
    """One for each name, by name; of several with one name all count, so that none can hide behind another."""
    written: dict[str, list[bytes]] = {}
    for tool in tools:
        written.setdefault(tool.name, []).append(canonical_bytes(tool.definition))
    return tuple(_definition(name, b"\n".join(written[name])) for name in sorted(written))


def list_digest(listed: Iterable[Definition]) -> bytes:
    """What two lists have in common that need not both be noted."""
    digest = hashlib.sha256()
    for one in listed:
        digest.update(hashlib.sha256(one.name.encode()).digest() + one.sha256)
    return digest.digest()


def _definition(name: str, text: bytes) -> Definition:
    kept = text.decode() if len(text) <= KEPT_DEFINITION_BYTES_MAX else None
    return Definition(name, hashlib.sha256(text).digest(), kept)
