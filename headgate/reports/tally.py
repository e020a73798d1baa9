"""Everything that a report says of its run, gathered in one pass and in bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from headgate.reports.figures import FIGURES
from headgate.reports.listing import Listing
from headgate.reports.model import Section
from headgate.reports.queries import Counter, Groups
from headgate.reports.rows import Row
from headgate.reports.run import RunEvent
from headgate.reports.seen_actions import SeenActions


@dataclass(slots=True)
class Tally:
    """``sections``: those whose rows are wanted."""

    sections: frozenset[Section]
    counter: Counter = field(default_factory=lambda: Counter(FIGURES))
    types: Groups = field(default_factory=Groups)
    days: Groups = field(default_factory=Groups)
    risks: Groups = field(default_factory=Groups)
    agents: Groups = field(default_factory=Groups)
    operations: Groups = field(default_factory=Groups)
    policies: Groups = field(default_factory=Groups)
    voters: Groups = field(default_factory=Groups)
    refusals: Groups = field(default_factory=Groups)
    administrators: Groups = field(default_factory=Groups)
    actions: SeenActions = field(default_factory=SeenActions)
    listing: Listing = field(init=False)
    erased: int = 0
    erased_types: Groups = field(default_factory=Groups)
    first: RunEvent | None = None
    last: RunEvent | None = None

    def __post_init__(self) -> None:
        self.listing = Listing(self.actions)

    @property
    def figures(self) -> dict[str, int]:
        return self.counter.counts

    def add(self, event: RunEvent) -> Iterator[Row]:
        """The rows that this event makes."""
        self.first = self.first or event
        self.last = event
        self.erased += event.is_erased
        if event.is_erased:
            self.erased_types.add(event.event_type, "erased")
        self.counter.add(event)
        self.actions.add(event)
        self.types.add(event.event_type, "events")
        self._group(event)
        if Section.EVENTS in self.sections:
            yield self.listing.event_row(event)
        # Approvals are followed whether they are listed or not: how long they waited is a figure.
        yield from (row for row in self.listing.rows(event) if row.section in self.sections)

    def still_open(self) -> Iterator[Row]:
        if Section.APPROVALS in self.sections:
            yield from self.listing.still_open()

    def _group(self, event: RunEvent) -> None:
        if event.event_type == "decision.made" and event.data:
            self._group_decision(event)
        elif event.event_type in ("approval.approved", "approval.denied", "approval.voted"):
            self.voters.add(event.who or "(erased)", event.text("vote") or event.event_type.partition(".")[2])
        elif event.event_type == "request.refused":
            count = event.data.get("count")
            self.refusals.add(event.text("code") or "(erased)", "refused", count if isinstance(count, int) else 1)
        elif event.actor_type == "user":
            self.administrators.add(event.who, event.event_type.partition(".")[0])

    def _group_decision(self, event: RunEvent) -> None:
        decision, seen = event.text("decision"), self.actions.of(event.action_id)
        self.days.add(_day(event.created_at), decision)
        self.risks.add(event.text("risk_level"), decision)
        self.agents.add(seen.agent or event.agent_id or "(unknown)", decision)
        self.operations.add(seen.operation or "(unknown)", decision)
        self.policies.add(event.text("policy_id") or "(no policy)", decision)


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
