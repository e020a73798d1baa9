"""Slack's Web API as a tracker: a message with buttons, and its outcome in the thread.

https://docs.slack.dev/reference/methods/chat.postMessage (``thread_ts``, ``metadata``), …/chat.update and
…/conversations.history (``include_all_metadata``, pages by ``next_cursor``): a message's metadata names its approval, a
reply's its delivery.
"""

from typing import Final

from msgspec import Struct

from headgate.integrations.model import Item, Notice, Opened, Request
from headgate.integrations.platform_api import PlatformError, list_at, text_at
from headgate.integrations.shown_text import cut
from headgate.integrations.slack.settings import SlackSettings
from headgate.kernel.canonical_json import JsonObject
from headgate.notifications.message import Message
from headgate.notifications.slack import blocks
from headgate.notifications.slack_api import SlackApi, SlackError

_ASKED: Final = "headgate_approval"
_TOLD: Final = "headgate_notice"
_PARAMS_CHARACTERS: Final = 3000
_PAGE: Final = 100
_MOST_PAGES: Final = 5
_WAITS: Final = frozenset(
    {"status", "ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
"""Slack's error codes that time fixes; of the outgoing client's codes, all but those of requests never sent."""
_TRANSPORT: Final = frozenset({"blocked", "unresolved", "unreachable", "connect_timeout", "tls", "deadline", "broken"})


class SlackChannel(Struct, frozen=True):
    """``tracker.Tracker`` for one organization."""

    api: SlackApi
    settings: SlackSettings

    async def find(self, approval_id: str) -> Opened | None:
        cursor = ""
        for _ in range(_MOST_PAGES):
            page = await self._read("conversations.history", {"cursor": cursor})
            for one in list_at(page, "messages"):
                if text_at(one, "metadata", "event_payload", "approval_id") == approval_id:
                    return self._opened(text_at(one, "ts"))
            cursor = text_at(page, "response_metadata", "next_cursor") or ""
            if not cursor:
                return None
        return None

    async def open(self, request: Request) -> Opened:
        message = Message(request.title, tuple(_facts(request.summary)), request.link)
        params = None if request.params is None else cut(request.params, _PARAMS_CHARACTERS)
        metadata: JsonObject = {"event_type": _ASKED, "event_payload": {"approval_id": request.approval_id}}
        arguments: JsonObject = {
            "channel": self.settings.channel,
            "text": request.title,
            "blocks": blocks(message, request.approval_id, preformatted=params),
            "metadata": metadata,
        }
        return self._opened(text_at(await self._call("chat.postMessage", arguments), "ts"))

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        channel, thread = self.settings.channel, item.opened.external_id
        if not (again and await self._is_told(thread, notice.mark)):
            shown = blocks(Message(notice.title, tuple(_facts(notice.text))), None)
            reply: JsonObject = {
                "channel": channel, "thread_ts": thread, "text": notice.title, "blocks": shown,
                "metadata": {"event_type": _TOLD, "event_payload": {"mark": notice.mark}},
            }  # fmt: skip
            await self._call("chat.postMessage", reply)
        if notice.outcome is not None:
            closed = blocks(Message(notice.title, tuple(_facts(notice.text))), None)
            await self._call("chat.update", {"channel": channel, "ts": thread, "text": notice.title, "blocks": closed})

    async def verified_email(self, account: str) -> str | None:
        return await self.api.verified_email(account)

    async def who_am_i(self) -> str:
        return text_at(await self._call("auth.test", {}), "user") or ""

    async def _is_told(self, thread: str, mark: str) -> bool:
        page = await self._read("conversations.replies", {"ts": thread})
        return any(text_at(one, "metadata", "event_payload", "mark") == mark for one in list_at(page, "messages"))

    async def _call(self, method: str, arguments: JsonObject) -> JsonObject:
        try:
            return await self.api.call(method, arguments)
        except SlackError as error:
            raise _platform_error(error) from error

    async def _read(self, method: str, more: dict[str, str]) -> JsonObject:
        common = {"channel": self.settings.channel, "include_all_metadata": "true", "limit": str(_PAGE)}
        try:
            return await self.api.read(method, common | more)
        except SlackError as error:
            raise _platform_error(error) from error

    def _opened(self, timestamp: str | None) -> Opened:
        if timestamp is None:
            raise PlatformError("unexpected_answer")
        return Opened(timestamp, f"{self.settings.channel} {timestamp}")


def _platform_error(error: SlackError) -> PlatformError:
    return PlatformError(
        error.failure,
        status=error.status,
        retry_after_seconds=error.retry_after_seconds,
        is_final=error.failure not in _WAITS | _TRANSPORT,
    )


def _facts(text: str) -> list[tuple[str, str]]:
    """Each line in Slack's form for facts: a name and its value."""
    return [(name, value.strip()) for name, found, value in (one.partition(":") for one in text.split("\n")) if found]
