"""What a ticket says, as its platform gives it back: whoever moves it has read this, and somebody may have edited it.

A digest of the title and the description is kept from when the ticket was made; an approval counts only while both
still have it. It is taken of what the platform gives back: platforms write Markdown and documents in their own way.
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
"""The member of an item's detail."""


def is_editable(tracker: Tracker) -> bool:
    """Whether anybody but us can change what is opened there: nobody can a message in a chat, or a check."""
    return isinstance(tracker, JiraTracker | LinearTracker | ServiceNowTracker)


async def text_digest(tracker: Tracker, external_id: str) -> str | None:
    """None where nobody but us can edit it. Raises PlatformError."""
    match tracker:
        case JiraTracker() | LinearTracker() | ServiceNowTracker():
            return _digest(await tracker.texts(external_id))
        case _:
            return None


async def digest_as_written(tracker: Tracker, external_id: str, request: Request) -> str | None:
    """Of a ticket that is found after nobody knew whether it was made: somebody may have edited it since. None where it
    does not say what was meant to be written; nothing is approved by it then. Raises PlatformError."""
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
    """Raises ConflictError where the ticket says something else than when it was made, PlatformError."""
    known = item.opened.detail.get(TEXT_DIGEST)
    if known is None:
        raise ConflictError(
            "It is not known whether this ticket still says what was written when it was made. Look at the action in"
            " Headgate."
        )
    if known != await text_digest(tracker, item.opened.external_id):
        raise ConflictError(
            "This ticket's title or description was edited since it was made: it no longer shows what would be"
            " approved. Look at the action in Headgate."
        )
