"""A key has leaked: revoke what matches whatever of it is known, at once.

What is known may be a text with keys in it (a log, a commit, a page), the first characters that a list shows, or only
which agent had it. A secret scanner's finding is enough: nobody needs to know which key it was.
"""

import re
from typing import Final

from msgspec import Struct

from headgate.agents.key_listing_store import keys_of_agent, keys_with_display, keys_with_hash
from headgate.agents.keys import DISPLAY_LENGTH, hash_key, keys_in
from headgate.agents.model import ApiKey, KeyStatus
from headgate.agents.service import revoke_key
from headgate.agents.store import find_agent
from headgate.db.database import Connection
from headgate.kernel.errors import HeadgateError, NotFoundError, ValidationError
from headgate.kernel.ids import IdPrefix, parse_id
from headgate.organizations.change import OrganizationChange

_BEGINNING: Final = re.compile(r"hg_[0-9A-Za-z]{3,}…?")
_MOST_KEYS: Final = 1_000


class Leak(Struct, frozen=True):
    """What is known: exactly one of these."""

    keys: tuple[str, ...] = ()
    beginning: str | None = None
    agent_id: str | None = None


def parse_leak(text: str) -> Leak:
    """Raises ValidationError, which never repeats the text."""
    if keys := keys_in(text):
        if len(keys) > _MOST_KEYS:
            raise ValidationError(f"more than {_MOST_KEYS} keys in one text", details={"field": "matching"})
        return Leak(keys=tuple(keys))
    given = text.strip()
    if _BEGINNING.fullmatch(given) is not None:
        # Only so many characters are kept: what is given beyond them cannot be compared.
        return Leak(beginning=given.removesuffix("…")[:DISPLAY_LENGTH])
    try:
        return Leak(agent_id=parse_id(IdPrefix.AGENT, given))
    except HeadgateError as error:
        raise ValidationError(
            "matching: the text contains no key, and is neither the beginning of a key (hg_ and at least 3 characters)"
            " nor an agent id",
            details={"field": "matching", "reason": "matches nothing that could be a key"},
        ) from error


async def revoke_matching(change: OrganizationChange, leak: Leak, *, only_show: bool) -> tuple[list[ApiKey], int]:
    """The keys that match, as they are afterwards, and how many of them stopped working by this.

    Raises NotFoundError for an unknown agent. Nothing that matches is an answer, not an error: the keys of a text may
    be another organization's, of which nothing is said.
    """
    matching = await _matching(change.connection, change.org_id, leak)
    working = [key for key in matching if key.status(change.at) is not KeyStatus.REVOKED]
    if only_show:
        return matching, len(working)
    revoked = {key.key_id: await revoke_key(change, key.key_id) for key in working}
    return [revoked.get(key.key_id, key) for key in matching], len(revoked)


async def _matching(connection: Connection, org_id: str, leak: Leak) -> list[ApiKey]:
    if leak.keys:
        return await keys_with_hash(connection, org_id, [hash_key(key) for key in leak.keys])
    if leak.beginning is not None:
        return await keys_with_display(connection, org_id, leak.beginning)
    if leak.agent_id is None or await find_agent(connection, org_id, leak.agent_id) is None:
        raise NotFoundError(f"there is no agent {leak.agent_id}")
    return await keys_of_agent(connection, org_id, leak.agent_id)
