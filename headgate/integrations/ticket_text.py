"""Detects edits of a ticket's text: the person who moves a ticket has read this text, and someone may have edited it.

At opening, Headgate stores a digest of the title and the description. A move approves only while both still match. The
digest covers the text as the platform returns it, because platforms store Markdown and documents in their own form.
"""

import hashlib
from typing import Final

from headgate.integrations.jira.api import JiraTracker
from headgate.integrations.linear.api import LinearTracker
from headgate.integrations.model import Item, Request
from headgate.integrations.plain_texts import same_texts
from headgate.integrations.servicenow.api import ServiceNowTracker
from headgate.integrations.tracker import Tracker
from headgate.kernel.canonical_json import JsonValue, canonical_bytes
from headgate.kernel.errors import ConflictError

TEXT_DIGEST: Final = "text_digest"
"""The name of the digest in an item's detail."""


def is_editable(tracker: Tracker) -> bool:
    """Whether others can edit the item on the platform. Chat messages and checks cannot be edited by others."""
    return isinstance(tracker, JiraTracker | LinearTracker | ServiceNowTracker)


async def text_digest(tracker: Tracker, external_id: str) -> str | None:
    """None if only Headgate can edit the item. Raises PlatformError."""
    match tracker:
        case JiraTracker() | LinearTracker() | ServiceNowTracker():
            return _digest(await tracker.texts(external_id))
        case _:
            return None


async def digest_as_written(tracker: Tracker, external_id: str, request: Request) -> str | None:
    """For a ticket recovered after an unknown outcome, which someone may have edited since. None if the text is not
    the one that Headgate meant to write; a move then approves nothing. Raises PlatformError."""
    match tracker:
        case JiraTracker() | LinearTracker() | ServiceNowTracker():
            texts = await tracker.texts(external_id)
            is_ours = same_texts(texts, tracker.written(request), markdown=isinstance(tracker, LinearTracker))
            return _digest(texts) if is_ours else None
        case _:
            return None


def _digest(texts: list[JsonValue]) -> str:
    return hashlib.sha256(canonical_bytes(texts)).hexdigest()


async def refuse_edited(tracker: Tracker, item: Item) -> None:
    """Raises ConflictError if the ticket's text has changed since it was opened, PlatformError."""
    known = item.opened.detail.get(TEXT_DIGEST)
    if known is None:
        raise ConflictError(
            "Headgate could not check whether this ticket was edited after it was created. Review the action in"
            " Headgate."
        )
    if known != await text_digest(tracker, item.opened.external_id):
        raise ConflictError(
            "This ticket's title or description was edited since it was created: it no longer shows what would be"
            " approved. Review the action in Headgate."
        )
