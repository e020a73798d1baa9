"""Takes the tools that an agent may not call out of the answer to an MCP ``tools/list``.

The answer has been collected; it is read, and written anew only where a tool is left out. An answer that is no list is
not forwarded: a client could read tools in it that nobody looked at.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from mitmproxy.http import Response

from headgate.gate.offered_tools import ToolListing
from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, UnavailableError
from headgate.policies.model import Decision
from headgate.protocols import content_coding
from headgate.protocols.answer_head import AnswerHead, StreamKind
from headgate.protocols.mcp_tool_list import ToolListAnswer, read_tool_list

_NAMED_MAX: Final = 20
_NAME_CHARACTERS_MAX: Final = 128
_LARGE_BYTES: Final = 16 << 10
_JSON: Final = "application/json"
_OF_THE_WHOLE_BODY: Final = ("content-encoding", "content-md5", "content-digest", "repr-digest", "digest", "etag")


class ToolList:
    """From the whole answer to what is kept of it."""

    __slots__ = ("_denied", "_listed", "_listing")

    def __init__(self, listing: ToolListing) -> None:
        self._listing = listing
        self._listed = 0
        self._denied: dict[str, Decision] = {}

    async def leave_out(self, head: AnswerHead, response: Response, *, max_bytes: int) -> str | None:
        """Changes ``response``, where a tool is left out. Returns why it cannot be forwarded; None: it can."""
        body = response.data.content or b""
        if not body:
            return None
        try:
            answer = await _in_a_thread_if(len(body) > _LARGE_BYTES or head.is_coded, _read, head, body, max_bytes)
            self._listed = len(answer.tools)
            self._denied = dict(await self._listing.denied(tool.name for tool in answer.tools))
        except (AmbiguousRequestError, PayloadTooLargeError) as error:
            # Not an answer to the question at all, and no client takes it for one: a page that says 502.
            return error.message if 200 <= head.status < 300 else None
        except UnavailableError as error:
            return error.message
        if self._denied:
            for name in _OF_THE_WHOLE_BODY:
                response.headers.pop(name, None)
            response.content = await _in_a_thread_if(len(body) > _LARGE_BYTES, answer.without, self._denied)
        return None

    def record(self) -> JsonObject:
        """How many tools the server listed, how many of them the agent did not see, and the first of these."""
        first = list(self._denied.items())[:_NAMED_MAX]
        named: list[JsonValue] = [
            {"name": name[:_NAME_CHARACTERS_MAX], "policy_id": decision.policy_id, "reason": decision.reason}
            for name, decision in first
        ]
        return {"listed": self._listed, "left_out": len(self._denied), "first_left_out": named}


async def _in_a_thread_if[**Given, Result](
    is_long: bool, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
) -> Result:
    return await asyncio.to_thread(work, *given, **named) if is_long else work(*given, **named)


def _read(head: AnswerHead, body: bytes, max_bytes: int) -> ToolListAnswer:
    is_stream = head.stream is StreamKind.EVENTS
    if head.media_type != _JSON and not is_stream:
        raise AmbiguousRequestError("it is neither JSON nor an event stream")
    most = content_coding.decoded_bytes_max(len(body), max_bytes)
    return read_tool_list(content_coding.decode(body, head.coding, max_bytes=most), is_stream=is_stream)
