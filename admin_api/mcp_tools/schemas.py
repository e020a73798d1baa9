"""Bodies about the tools of MCP servers (docs/guides/mcp.md)."""

from datetime import datetime
from typing import Annotated

from pydantic import ConfigDict, Field, JsonValue

from admin_api.schema import BaseModel
from headgate.kernel.canonical_json import parse_strict, sha256_bytes
from headgate.mcp_tools.model import PinnedTool

SERVER_PATTERN = r"^(agt_[0-9a-f-]{36}/)?[a-z][a-z0-9_]*$"
_SHA256 = r"^sha256:[0-9a-f]{64}$"


class AcceptRequest(BaseModel):
    """POST /admin/mcp-tools/{id}/accept."""

    model_config = ConfigDict(extra="forbid")

    sha256: Annotated[str, Field(pattern=_SHA256)] = Field(
        description="seen_sha256 of the definition that you have read. 409 if the tool has changed again.",
        examples=["sha256:" + "0a" * 32],
    )

    @property
    def digest(self) -> bytes:
        return sha256_bytes(self.sha256)


class McpToolAnswer(BaseModel):
    """``server``: the tool of its calls' actions, with the agent before it where the agent runs it itself. ``name``: as
    the server spells it. ``changed_at`` null: what was seen last is what was accepted. ``accepted_by`` null: it was the
    first one."""

    id: str
    server: str
    name: str
    changed_at: datetime | None
    accepted_sha256: str
    accepted_at: datetime
    accepted_by: str | None
    seen_sha256: str
    seen_at: datetime


class McpToolDetailAnswer(McpToolAnswer):
    """With both definitions, as the server wrote them; null where one is longer than 32 KiB. Several tools of one name
    are one definition, as a text."""

    accepted_definition: JsonValue
    seen_definition: JsonValue


class ForgottenAnswer(BaseModel):
    """DELETE /admin/mcp-tools: how many tools are no longer known."""

    server: str
    forgotten: int


def tool_answer(tool: PinnedTool) -> McpToolAnswer:
    return McpToolAnswer(
        id=tool.tool_id,
        server=tool.server,
        name=tool.name,
        changed_at=tool.changed_at,
        accepted_sha256="sha256:" + tool.accepted_sha256.hex(),
        accepted_at=tool.accepted_at,
        accepted_by=tool.accepted_by,
        seen_sha256="sha256:" + tool.seen_sha256.hex(),
        seen_at=tool.seen_at,
    )


def tool_detail(tool: PinnedTool) -> McpToolDetailAnswer:
    return McpToolDetailAnswer(
        **tool_answer(tool).model_dump(),
        accepted_definition=_definition(tool.accepted_definition),
        seen_definition=_definition(tool.seen_definition),
    )


def _definition(text: str | None) -> JsonValue:
    if text is None:
        return None
    return text if "\n" in text else parse_strict(text.encode())


class OfferRequest(BaseModel):
    """POST /v1/mcp-tools/offer."""

    model_config = ConfigDict(extra="forbid")

    server: Annotated[str, Field(max_length=64, pattern="^mcp_[a-z0-9_]+$")] = Field(
        description="The tool of its calls' actions.", examples=["mcp_files"]
    )
    tools: list[dict[str, JsonValue]] = Field(
        description="As the server lists them.", examples=[[{"name": "save_file", "inputSchema": {"type": "object"}}]]
    )


class LeftOutAnswer(BaseModel):
    name: str
    policy_id: str | None
    reason: str


class OfferAnswer(BaseModel):
    """``left_out``: not to be shown to the agent. ``changed``: tools that are not what was accepted. ``withheld``: why
    none of the list is to be shown; null: the rest may be."""

    left_out: list[LeftOutAnswer]
    first_seen: int
    changed: list[str]
    withheld: str | None
    policies: list[JsonValue] = Field(description="What policies about content said that objected.")
