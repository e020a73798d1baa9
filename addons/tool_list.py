"""Pins the tools in the answer to an MCP ``tools/list``, and takes those out of it that the agent may not call.

The whole answer has been read before this. It is rewritten only where a tool is left out. An answer that is not a list
is not forwarded: a client could find tools in it that nobody inspected.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from mitmproxy.http import Response

from headgate.gate.judged_answer import Definitions
from headgate.gate.offered_tools import Offer, ToolListing
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.errors import AmbiguousRequestError, PayloadTooLargeError, UnavailableError
from headgate.protocols import content_coding
from headgate.protocols.answer_head import AnswerHead, StreamKind
from headgate.protocols.mcp_tool_list import ToolListAnswer, list_record, read_tool_list

_NOTHING: Final = Offer({}, 0, frozenset())
_NAME_CHARACTERS_MAX: Final = 128
_LARGE_BYTES: Final = 16 << 10
_JSON: Final = "application/json"
_OF_THE_WHOLE_BODY: Final = ("content-encoding", "content-md5", "content-digest", "repr-digest", "digest", "etag")


class ToolList:
    """From the whole answer to what is kept of it."""

    __slots__ = ("_listed", "_listing", "_offer", "definitions")

    def __init__(self, listing: ToolListing) -> None:
        self._listing = listing
        self._listed = 0
        self._offer = _NOTHING
        self.definitions: Definitions | None = None
        """Of the tools that are offered; None: the answer is no list."""

    async def leave_out(self, head: AnswerHead, response: Response, *, max_bytes: int) -> str | None:
        """Changes ``response``, where a tool is left out. Returns why it cannot be forwarded; None: it can."""
        body = response.data.content or b""
        if not body:
            return None
        try:
            answer = await _in_a_thread_if(len(body) > _LARGE_BYTES or head.is_coded, _read, head, body, max_bytes)
            self._listed = len(answer.tools)
            self._offer = await self._listing.offer(answer.tools)
        except (AmbiguousRequestError, PayloadTooLargeError) as error:
            # Not an answer to the question at all, and no client takes it for one: a page that says 502.
            return error.message if 200 <= head.status < 300 else None
        except UnavailableError as error:
            return error.message
        offered = [tool.definition for tool in answer.tools if tool.name not in self._offer.denied]
        self.definitions = Definitions(offered, self._offer.elsewhere)
        if self._offer.denied:
            for name in _OF_THE_WHOLE_BODY:
                response.headers.pop(name, None)
            response.content = await _in_a_thread_if(len(body) > _LARGE_BYTES, answer.without, self._offer.denied)
        return None

    def record(self) -> JsonObject:
        offer = self._offer
        left_out = [(name[:_NAME_CHARACTERS_MAX], one.policy_id, one.reason) for name, one in offer.denied.items()]
        changed = [name[:_NAME_CHARACTERS_MAX] for name in sorted(offer.changed)]
        return list_record(self._listed, left_out, changed, first_seen=offer.first_seen)


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
