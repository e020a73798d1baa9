"""Integration items, notices and inbound events. Frozen types, no I/O."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from headgate.approvals.model import VoteDecision
from headgate.kernel.canonical_json import JsonObject


class Integration(StrEnum):
    """Names are stored and part of addresses: never change one."""

    JIRA = "jira"
    LINEAR = "linear"
    SERVICENOW = "servicenow"
    SLACK = "slack"
    TEAMS = "teams"
    DISCORD = "discord"
    GITHUB_ACTIONS = "github-actions"
    GITHUB = "github"


class Opened(Struct, frozen=True):
    """A ticket, message or check in the platform's terms. ``external_id``: its id in webhooks; ``external_key``: its
    name for people; ``detail``: what the platform needs for an answer. ``report_key``: items with the same key share
    one report at the platform."""

    external_id: str
    external_key: str
    url: str | None = None
    detail: JsonObject = field(default_factory=dict)
    report_key: str | None = None


class Standing(Struct, frozen=True):
    """The present state of an item that shares its report. ``outcome``: approved, denied or expired; None: undecided.

    ``is_edited``: a reviewer changed the params, so an approval does not cover the item.
    """

    approval_id: str
    opened: Opened
    outcome: str | None
    is_edited: bool = False


_OUTCOMES: Final = {
    **dict.fromkeys(("allowed", "approved", "executing", "completed", "failed"), "approved"),
    "denied": "denied",
}
"""The decision, by the status of the action (``ActionStatus``)."""


def outcome_of(action_status: str | None, approval_status: str | None, *, is_edited: bool) -> str | None:
    """``Standing.outcome``, by the status of the action and of its approval. None for either: it is missing."""
    if approval_status == "expired":
        return "expired"
    outcome = None if action_status is None else _OUTCOMES.get(action_status)
    return "denied" if is_edited and outcome == "approved" else outcome


class Item(Struct, frozen=True):
    """The item of an approval in one integration. ``digest``: of the action that it shows. ``standings``: of all items
    that share its report, including its own, as of the beginning of an attempt."""

    approval_id: str
    opened: Opened
    digest: bytes
    standings: tuple[Standing, ...] = ()


class Notice(Struct, frozen=True):
    """A notice about an approval. ``mark`` is unique, so that one that has arrived already can be recognized.

    ``outcome``: the approval's end (approved, denied, expired), if the notice reports it.
    """

    mark: str
    title: str
    text: str
    outcome: str | None = None


class Request(Struct, frozen=True):
    """An approval request as the platform shows it. ``summary``: one line per fact, ``params`` as people read them,
    ``link`` leads to the approval's page."""

    approval_id: str
    title: str
    summary: str
    params: str | None = None
    link: str | None = None

    @property
    def text(self) -> str:
        """The whole description; the part that may be cut comes last."""
        opened = None if self.link is None else f"Open: {self.link}"
        params = None if self.params is None else f"Parameters:\n{self.params}"
        return "\n\n".join(part for part in (self.summary, opened, params) if part is not None)


class Transition(Struct, frozen=True):
    """A ticket that a person moved. ``receipt_id`` is the same for a repeated webhook.

    ``status``: the ticket's current state. ``hint``: the approval that the ticket itself claims.
    """

    receipt_id: str
    external_id: str
    status: str
    account: str
    account_name: str
    comment: str | None = None
    hint: str | None = None


class ReceiptOutcome(StrEnum):
    """The stored outcome of a webhook."""

    DECIDED = "decided"
    REFUSED = "refused"
    NO_CHANGE = "no_change"
    REQUESTED = "requested"
    EXCHANGED = "exchanged"


class Receipt(Struct, frozen=True):
    """``account``: the acting account, as the platform names it; ``message``: why nothing was decided."""

    connection_id: str
    receipt_id: str
    received_at: datetime
    outcome: ReceiptOutcome
    approval_id: str | None = None
    account: str | None = None
    message: str | None = None


class DecidingStates(Struct, frozen=True):
    """The tracker's states that decide; compared case-insensitively."""

    approve: tuple[str, ...]
    deny: tuple[str, ...]

    def decision(self, status: str) -> VoteDecision | None:
        """None: the state decides nothing."""
        wanted = status.casefold()
        if wanted in {one.casefold() for one in self.deny}:
            return VoteDecision.DENY
        if wanted in {one.casefold() for one in self.approve}:
            return VoteDecision.APPROVE
        return None

    def of_outcome(self, outcome: str | None) -> tuple[str, ...]:
        """The states that an item may have after this outcome; none: it stays."""
        return {"approved": self.approve, "denied": self.deny}.get(outcome or "", ())
