"""The texts of tickets, comments and chat messages. Pure; hidden characters in others' text are made visible."""

import json
from typing import Final

from headgate.integrations.model import Notice, Request
from headgate.integrations.shown_text import cut
from headgate.kernel.canonical_json import JsonObject
from headgate.kernel.visible_text import visible
from headgate.notifications.message import message_of

_PARAMS_CHARACTERS: Final = 4000
_OUTCOMES: Final = {"approval.approved": "approved", "approval.denied": "denied", "approval.expired": "expired"}
_ANSWERED: Final = {"": "Waiting for approval", "approved": "Allowed", "denied": "Denied"}
_TITLES: Final = {
    "approval.voted": "Somebody has voted",
    "approval.edited": "The action was edited: review it and decide in Headgate",
    "integration.refused": "Nothing was decided",
}


def request_of(payload: JsonObject, link: str | None) -> Request:
    """The text of an ``approval.requested`` delivery."""
    message = message_of(payload, None)
    digest, params = payload.get("digest"), payload.get("params")
    summary = message.text + (f"\nDigest of the action: {digest}" if isinstance(digest, str) else "")
    shown = None if params is None else shown_params(params)
    return Request(str(payload["approval_id"]), message.title, summary, shown, link)


def notice_of(payload: JsonObject, mark: str) -> Notice:
    """The text of any other delivery."""
    event = str(payload.get("event"))
    message = message_of(payload, None)
    title = _TITLES.get(event, message.title)
    lines = [message.text]
    vote, current = payload.get("vote"), payload.get("current_approvals")
    # The deciding vote is the decision, which the title states.
    if isinstance(vote, str) and event == "approval.voted":
        needed = payload.get("required_approvals")
        of_all = f" of {needed}" if isinstance(needed, int) else ""
        lines.insert(0, f"Vote: {vote}" + (f", {current}{of_all} so far" if isinstance(current, int) else ""))
    if isinstance(payload.get("message"), str):
        lines = [visible(str(payload["message"]))]
    outcome = payload.get("outcome")
    said = outcome if isinstance(outcome, str) else _OUTCOMES.get(event)
    return Notice(
        mark, _ANSWERED.get(said or "", title) if event == "integration.answered" else title, "\n".join(lines), said
    )


def shown_params(params: object) -> str:
    """Text for people; the beginning of a long one."""
    return cut(visible(json.dumps(params, ensure_ascii=False, indent=2, sort_keys=True), kept="\n"), _PARAMS_CHARACTERS)
