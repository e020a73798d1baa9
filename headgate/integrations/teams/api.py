"""Posts cards to Microsoft Teams through a workflow's webhook.

https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using (a message
with one attachment of type ``application/vnd.microsoft.card.adaptive``, at most 28 KB, 429 on overload), and
https://adaptivecards.io/explorer/ for the card's form, version 1.4. A workflow answers 202 without an identifier. The
outcome of an approval is therefore a second card, and a lost answer may cause a duplicate card. Texts are text runs, so
agents' text cannot form links or mark-up.
"""

from typing import Final

from msgspec import Struct

from headgate.integrations.model import Item, Notice, Opened, Request
from headgate.integrations.platform_api import PlatformApi
from headgate.integrations.shown_text import CUT_MARK, cut
from headgate.kernel.canonical_json import JsonObject, JsonValue

_TEXT_CHARACTERS: Final = 1500
_PARAMS_CHARACTERS: Final = 2500
_PARAMS_LINES: Final = 60


class TeamsWorkflow(Struct, frozen=True):
    """``tracker.Tracker`` for one organization; ``api`` is at the webhook's own address."""

    api: PlatformApi

    async def find(self, approval_id: str) -> Opened | None:
        return None

    async def open(self, request: Request) -> Opened:
        await self._post(request.title, request.summary, request.link, request.params)
        return Opened(f"card:{request.approval_id}", request.approval_id)

    async def tell(self, item: Item, notice: Notice, *, again: bool) -> None:
        await self._post(notice.title, f"{notice.text}\n{item.approval_id}", None)

    async def verified_email(self, account: str) -> str | None:
        return None

    async def who_am_i(self) -> str:
        """Teams has no account to query, so the test posts a card."""
        await self._post("Headgate can reach this channel", "", None)
        return "the workflow took a card"

    async def _post(self, title: str, text: str, link: str | None, params: str | None = None) -> None:
        await self.api.call("POST", "", card(title, text, link, params))


def card(title: str, text: str, link: str | None, params: str | None = None) -> JsonObject:
    body: list[JsonValue] = [_block(title, weight="Bolder", size="Medium")]
    body += [_block(line) for line in cut(text, _TEXT_CHARACTERS).split("\n") if line]
    if params is not None:
        body.append(_block("Parameters:"))
        # Line breaks do not make paragraphs, and leading spaces count.
        body += [
            {**_block(_indented(line), fontType="Monospace"), "spacing": "None"} for line in _lines(params) if line
        ]
    content: JsonObject = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if link is not None:
        content["actions"] = [{"type": "Action.OpenUrl", "title": "Open in Headgate", "url": link}]
    attachment: JsonObject = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": content,
    }
    return {"type": "message", "attachments": [attachment]}


def _lines(params: str) -> list[str]:
    """Each costs a hundred bytes beside its text, of the 28 KB that a card may have."""
    lines = cut(params, _PARAMS_CHARACTERS).split("\n")
    return lines if len(lines) <= _PARAMS_LINES else [*lines[:_PARAMS_LINES], CUT_MARK]


def _indented(line: str) -> str:
    text = line.lstrip(" ")
    return "\u00a0" * (len(line) - len(text)) + text


def _block(text: str, **looks: JsonValue) -> JsonObject:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **looks}]}
