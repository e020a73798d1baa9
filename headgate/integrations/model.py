"""What an integration opens for an approval, what is told there, and what comes back. Frozen types, no I/O."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from headgate.approvals.model import VoteDecision
from headgate.kernel.canonical_json import JsonObject


class Integration(StrEnum):
    """A name is part of addresses and is stored: it is never changed."""

    JIRA = "jira"
    LINEAR = "linear"
    SERVICENOW = "servicenow"
    SLACK = "slack"
    TEAMS = "teams"
    DISCORD = "discord"
    GITHUB_ACTIONS = "github-actions"
    GITHUB = "github"


@dataclass(frozen=True, slots=True)
class Opened:
    """A ticket, message or check as the platform calls it. ``external_id``: by which it names it when it calls us;
    ``external_key``: what people call it; ``detail``: what the platform needs to be answered."""

    external_id: str
    external_key: str
    url: str | None = None
    detail: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """What stands for an approval in one integration. ``digest``: of the action that it shows."""

    approval_id: str
    opened: Opened
    digest: bytes


@dataclass(frozen=True, slots=True)
class Notice:
    """What is told: ``mark`` is unique to it, so that one that has arrived already can be recognised.

    ``outcome``: the approval's end (approved, denied, expired), where this tells of it.
    """

    mark: str
    title: str
    text: str
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. ``summary``: a line for each fact, ``params`` as people read them, ``link`` leads to the
    approval's page."""

    approval_id: str
    title: str
    summary: str
    params: str | None = None
    link: str | None = None

    @property
    def text(self) -> str:
        """The whole description; what may be cut is last."""
        opened = None if self.link is None else f"Open: {self.link}"
        params = None if self.params is None else f"Parameters:\n{self.params}"
        return "\n\n".join(part for part in (self.summary, opened, params) if part is not None)


@dataclass(frozen=True, slots=True)
class Transition:
    """A ticket that somebody moved. ``receipt_id`` is the same when the platform sends this once more.

    ``status``: what it is called now. ``hint``: the approval that the ticket itself claims to stand for.
    """

    receipt_id: str
    external_id: str
    status: str
    account: str
    account_name: str
    comment: str | None = None
    hint: str | None = None


class ReceiptOutcome(StrEnum):
    """What became of what came in; stored."""

    DECIDED = "decided"
    REFUSED = "refused"
    NO_CHANGE = "no_change"
    REQUESTED = "requested"
    EXCHANGED = "exchanged"


@dataclass(frozen=True, slots=True)
class Receipt:
    """``account``: who did it, as the platform calls them; ``message``: why nothing was decided."""

    connection_id: str
    receipt_id: str
    received_at: datetime
    outcome: ReceiptOutcome
    approval_id: str | None = None
    account: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class DecidingStates:
    """The tracker's states that decide; compared without regard to case."""

    approve: tuple[str, ...]
    deny: tuple[str, ...]

    def decision(self, status: str) -> VoteDecision | None:
        """None: a state that says nothing."""
        wanted = status.casefold()
        if wanted in {one.casefold() for one in self.deny}:
            return VoteDecision.DENY
        if wanted in {one.casefold() for one in self.approve}:
            return VoteDecision.APPROVE
        return None

    def of_outcome(self, outcome: str | None) -> tuple[str, ...]:
        """The states in which an item may be once its approval has ended so; none: it stays where it is."""
        return {"approved": self.approve, "denied": self.deny}.get(outcome or "", ())
