"""Discord's HTTP API: a message with buttons, its thread, and its update after the decision.

Sources, under https://docs.discord.com/developers/: resources/message (``nonce`` with ``enforce_nonce``,
``allowed_mentions``), resources/channel (start a thread from a message: it has the message's id), components/reference
(buttons), topics/rate-limits (429 with Retry-After) and topics/opcodes-and-status-codes (160004: the thread exists).
Messages mention no person, and agents' text is a block of code.
"""

import hashlib
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from headgate.integrations.discord.settings import DiscordSettings
from headgate.integrations.model import Item, Notice, Opened, Request
from headgate.integrations.platform_api import PlatformApi, PlatformError, text_at
from headgate.integrations.shown_text import cut
from headgate.kernel.canonical_json import JsonObject, JsonValue, canonical_bytes
from headgate.kernel.secrets import Secret
from headgate.organizations.destinations import DestinationRules
from headgate.outgoing.client import OutgoingClient

APPROVE: Final = "approve:"
DENY: Final = "deny:"
_ROW, _BUTTON, _SUCCESS, _DANGER, _LINK = 1, 2, 3, 4, 5
_CONTENT_CHARACTERS: Final = 2000
_TITLE_CHARACTERS: Final = 300
_URL_CHARACTERS: Final = 512
_THREAD_NAME_CHARACTERS: Final = 100
_THREAD_EXISTS: Final = 160004
_PAGE: Final = 100
_MOST_PAGES: Final = 5
_SILENT: Final[JsonObject] = {"parse": []}
_WEEK_MINUTES: Final = 10080


def discord_api(
    client: OutgoingClient, settings: DiscordSettings, token: Secret, rules: DestinationRules
) -> PlatformApi:
    headers = (("authorization", f"Bot {token.reveal()}"), ("user-agent", "DiscordBot (headgate, 1)"))
    return PlatformApi(client, settings.base_url, headers, rules)


class DiscordChannel(Struct, frozen=True):
    """``tracker.Tracker`` for one organization."""

    api: PlatformApi
    settings: DiscordSettings

    async def find(self, approval_id: str) -> Opened | None:
        """Searches the newest messages of the channel."""
        before = ""
        for _ in range(_MOST_PAGES):
            path = f"/channels/{self.settings.channel_id}/messages?limit={_PAGE}{before}"
            messages = (await self.api.call("GET", path)).document
            if not isinstance(messages, list) or not messages:
                return None
            for one in messages:
                if isinstance(one, dict) and f'"{APPROVE}{approval_id}"'.encode() in canonical_bytes(
                    one.get("components")
                ):
                    return self._opened(one)
            before = f"&before={text_at(messages[-1], 'id')}"
        return None

    async def open(self, request: Request) -> Opened:
        buttons: list[JsonValue] = [
            {"type": _BUTTON, "style": _SUCCESS, "label": "Approve", "custom_id": APPROVE + request.approval_id},
            {"type": _BUTTON, "style": _DANGER, "label": "Deny…", "custom_id": DENY + request.approval_id},
        ]
        if request.link is not None and len(request.link) <= _URL_CHARACTERS:
            buttons.append({"type": _BUTTON, "style": _LINK, "label": "Open", "url": request.link})
            request = replace(request, link=None)
        body = _message(request.title, request.text, request.approval_id)
        body["components"] = [{"type": _ROW, "components": buttons}]
        answer = await self.api.call("POST", f"/channels/{self.settings.channel_id}/messages", body)
        return self._opened(answer.document)

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        message, channel = item.opened.external_id, self.settings.channel_id
        await self._ensure_thread(message, notice.title)
        if not (again and await self._is_told(message, notice.mark)):
            body = _message(notice.title, notice.text, notice.mark, end=f"\n{notice.mark}")
            await self.api.call("POST", f"/channels/{message}/messages", body)
        if notice.outcome is not None:
            closed: JsonObject = {
                "content": _content(notice.title, notice.text),
                "components": [],
                "allowed_mentions": _SILENT,
            }
            await self.api.call("PATCH", f"/channels/{channel}/messages/{message}", closed)

    async def verified_email(self, account: str) -> str | None:
        return None

    async def who_am_i(self) -> str:
        return text_at((await self.api.call("GET", "/users/@me")).document, "username") or ""

    async def _ensure_thread(self, message: str, title: str) -> None:
        path = f"/channels/{self.settings.channel_id}/messages/{message}/threads"
        body: JsonObject = {"name": title[:_THREAD_NAME_CHARACTERS], "auto_archive_duration": _WEEK_MINUTES}
        answer = await self.api.call("POST", path, body, accepted=(200, 201, 400))
        if answer.status == 400 and answer.members.get("code") != _THREAD_EXISTS:
            raise PlatformError("status", status=answer.status, is_final=True)

    async def _is_told(self, thread: str, mark: str) -> bool:
        found = (await self.api.call("GET", f"/channels/{thread}/messages?limit={_PAGE}")).document
        return isinstance(found, list) and any(mark in (text_at(one, "content") or "") for one in found)

    def _opened(self, message: JsonValue) -> Opened:
        message_id = text_at(message, "id")
        if message_id is None:
            raise PlatformError("unexpected_answer")
        return Opened(message_id, message_id)


def _message(title: str, text: str, name: str, end: str = "") -> JsonObject:
    """The same nonce for the same message: Discord keeps one of two sent within minutes."""
    return {
        "content": _content(title, text, end),
        "allowed_mentions": _SILENT,
        "nonce": hashlib.sha256(name.encode()).hexdigest()[:25],
        "enforce_nonce": True,
    }


def _plain(text: str) -> str:
    return "".join("\\" + one if one in "\\`*_~|<>[]()#@:" else one for one in text)


def _content(title: str, text: str, end: str = "") -> str:
    """``end`` stays even if the text is cut."""
    shown = _plain(title[:_TITLE_CHARACTERS])
    return f"{shown}\n{_block(text, _CONTENT_CHARACTERS - len(shown) - 1, end)}"


def _block(text: str, most: int, end: str = "") -> str:
    """Cuts the text to this many characters. A zero-width space, which adds length, keeps others' text from ending the
    block."""
    begin, after = "```\n", f"{end}\n```"
    shown = cut(text.replace("```", "`\u200b`\u200b`"), most - len(begin) - len(after))
    return begin + shown + after
