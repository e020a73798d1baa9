"""Captured exchanges as the API shows them."""

import json
from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from admin_api.pagination import CursorPagination, OpenCamelPagination
from admin_api.schema import BaseModel
from admin_api.text import StorableText
from headgate.kernel.canonical_json import JsonObject
from headgate.traffic.annotation import NOTE_MAX_CHARACTERS, TAG_PATTERN, TAGS_MAX
from headgate.traffic.model import Kept
from headgate.traffic.store import LossCount


class PlacesAnswer(BaseModel):
    places: int
    kinds: dict[str, int] = Field(description="What detectors found; what was masked by its name alone has no kind.")


class ExchangeAnswer(BaseModel):
    """One exchange without its heads and bodies. ``target`` null: it was erased."""

    id: str
    action_id: str | None
    agent_id: str
    tool: str
    operation: str
    decision: str
    level: str
    method: str
    scheme: str
    host: str
    port: int
    target: str | None = Field(description="Path and query, masked.")
    status: int | None = Field(description="Null: there was no answer.")
    duration_ms: float | None
    request_bytes: int
    response_bytes: int
    masking: dict[str, PlacesAnswer] = Field(description="What was masked before storage, and where.")
    omitted: dict[str, str] = Field(description="What was not captured, and why.")
    error: str | None
    note: str | None = Field(description="What a reviewer has written about it.")
    tags: list[str]
    created_at: datetime
    erased_at: datetime | None


class AnnotationRequest(BaseModel):
    """PUT /admin/traffic/{id}/annotation: in place of the note and the tags before. Tags are sorted, each once."""

    model_config = ConfigDict(extra="forbid")

    note: Annotated[StorableText, Field(max_length=NOTE_MAX_CHARACTERS)] = ""
    tags: Annotated[list[Annotated[str, Field(pattern=TAG_PATTERN)]], Field(max_length=TAGS_MAX)] = Field(
        default_factory=list
    )


class LossAnswer(BaseModel):
    """Exchanges that were to be captured and were not."""

    cause: str
    exchanges: int
    since: datetime
    until: datetime


class TrafficPageAnswer(BaseModel):
    data: list[ExchangeAnswer]
    pagination: CursorPagination | OpenCamelPagination
    not_captured: list[LossAnswer] = Field(description="Of the whole organization, in the range of time asked for.")
    filtered_from: int | None = Field(
        default=None, description="With `filter`: how many exchanges it looked at; `next_cursor` goes on after them."
    )


class CapturedBodyAnswer(BaseModel):
    text: str | None = Field(description="Masked; null: not captured (`omitted` says why).")
    pretty: str | None = Field(description="The same as mitmproxy's content views show it.")
    view: str | None = Field(description="Which of them.")
    size_bytes: int = Field(description="On the wire.")
    is_whole: bool
    decoded_from: str | None


class CapturedMessageAnswer(BaseModel):
    version: str
    headers: list[tuple[str, str]]
    body: CapturedBodyAnswer


class WholeExchangeAnswer(ExchangeAnswer):
    """Reading it is recorded (`traffic.read`)."""

    request: CapturedMessageAnswer
    response: CapturedMessageAnswer | None
    reason: str | None


def exchange_answer(kept: Kept) -> ExchangeAnswer:
    return ExchangeAnswer(**_columns(kept))


def _columns(kept: Kept) -> dict[str, Any]:
    masking = {where: PlacesAnswer(**found) for where, found in json.loads(kept.masking).items()}
    return {
        "id": kept.exchange_id,
        "action_id": kept.action_id,
        "agent_id": kept.agent_id,
        "tool": kept.tool,
        "operation": kept.operation,
        "decision": kept.decision,
        "level": kept.level.value,
        "method": kept.method,
        "scheme": kept.scheme,
        "host": kept.host,
        "port": kept.port,
        "target": kept.target,
        "status": kept.status,
        "duration_ms": kept.duration_ms,
        "request_bytes": kept.request_bytes,
        "response_bytes": kept.response_bytes,
        "masking": masking,
        "omitted": json.loads(kept.omitted),
        "error": kept.error,
        "note": kept.note,
        "tags": list(kept.tags),
        "created_at": kept.created_at,
        "erased_at": kept.erased_at,
    }


def whole_answer(kept: Kept, document: JsonObject, pretty: dict[str, Any]) -> WholeExchangeAnswer:
    """``pretty``: ``{"request": {"text", "view"}, "response": …}``."""
    response: Any = document["response"]
    return WholeExchangeAnswer(
        **_columns(kept),
        request=_message(document["request"], pretty.get("request")),
        response=None if response is None else _message(response, pretty.get("response")),
        reason=None if response is None else response["reason"],
    )


def _message(message: Any, pretty: dict[str, str] | None) -> CapturedMessageAnswer:
    if message["body"] is None:
        pretty = None  # what a view makes of nothing would be taken for what was sent
    body = CapturedBodyAnswer(
        text=message["body"],
        pretty=None if pretty is None else pretty["text"],
        view=None if pretty is None else pretty["view"],
        size_bytes=message["size_bytes"],
        is_whole=message["is_whole"],
        decoded_from=message["decoded_from"],
    )
    return CapturedMessageAnswer(version=message["version"], headers=message["headers"], body=body)


def loss_answer(loss: LossCount) -> LossAnswer:
    return LossAnswer(cause=loss.cause, exchanges=loss.exchanges, since=loss.since, until=loss.until)
