"""What the run has said of actions so far, in bounded memory, and whether what was carried out had been permitted."""

from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from headgate.reports.run import RunEvent

_MOST_ACTIONS: Final = 100_000


class SeenAction(Struct):
    operation: str = ""
    agent: str = ""
    decision: str = ""
    risk_level: str = ""
    is_approved: bool = False
    is_exempted: bool = False
    is_submitted: bool = False
    is_decided: bool = False

    @property
    def is_permitted(self) -> bool:
        """A denial by the policies of a later moment ends what an approval before it permits."""
        return self.decision == "allow" or self.is_exempted or (self.is_approved and self.decision != "deny")


DECIDED_QUERY: Final = (
    "count of actions with action.submitted and a later decision.made in the run; of: count where event_type ="
    " action.submitted"
)
REVIEWED_QUERY: Final = (
    "count of data.pass_id with break_glass.opened, and of those with a later break_glass.reviewed in the run"
)
PERMIT_QUERIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "permitted": "count where event_type = execution.started, of whose action an earlier event of the run is"
        ' decision.made with data.decision = "allow" or data.exempted_by, grant.used or'
        " break_glass.used, or approval.approved and its latest decision.made is no denial",
        "unpermitted": "count where event_type = execution.started, of whose action the run has an earlier"
        " decision.made and none of those that permit",
        "undetermined": "count where event_type = execution.started, of whose action the run has no earlier"
        f" decision.made (or more than {_MOST_ACTIONS} actions ago)",
    }
)


class SeenActions(Struct):
    """``started`` counts executions that began, by whether that was permitted; ``decided`` actions that were submitted
    and then decided. ``is_last_decided``: the end of a range may fall between the last action and its decision."""

    decided: int = 0
    is_last_decided: bool = True
    started: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PERMIT_QUERIES, 0))
    glass_opened: set[str] = field(default_factory=set)
    glass_reviewed: set[str] = field(default_factory=set)
    _last: str = ""
    _seen: OrderedDict[str, SeenAction] = field(default_factory=OrderedDict)

    def of(self, action_id: str | None) -> SeenAction:
        return self._seen.get(action_id or "", _NOTHING)

    def add(self, event: RunEvent) -> None:
        if event.action_id is None:
            return
        match event.event_type:
            case "action.submitted":
                seen = self._entry(event.action_id)
                seen.operation = f"{event.text('tool')}.{event.text('operation')}" if event.data else ""
                seen.agent = event.who
                seen.is_submitted, self.is_last_decided = True, False
                self._last = event.action_id
            case "decision.made":
                seen = self._entry(event.action_id)
                self.decided += seen.is_submitted and not seen.is_decided
                seen.is_decided = True
                self.is_last_decided = self.is_last_decided or event.action_id == self._last
                seen.decision, seen.risk_level = event.text("decision"), event.text("risk_level")
                seen.is_exempted = seen.is_exempted or bool(event.data.get("exempted_by"))
            case "approval.approved":
                self._entry(event.action_id).is_approved = True
            case "grant.used" | "break_glass.used":
                self._entry(event.action_id).is_exempted = True
            case "break_glass.opened" if len(self.glass_opened) < _MOST_ACTIONS:
                self.glass_opened.add(event.text("pass_id") or event.event_id)
            case "break_glass.reviewed" if len(self.glass_reviewed) < _MOST_ACTIONS:
                self.glass_reviewed.add(event.text("pass_id"))
            case "execution.started":
                self._start(event)

    def _start(self, event: RunEvent) -> None:
        seen = self.of(event.action_id)
        if seen.is_permitted:
            self.started["permitted"] += 1
        elif seen.decision:
            self.started["unpermitted"] += 1
        else:
            self.started["undetermined"] += 1

    def _entry(self, action_id: str) -> SeenAction:
        seen = self._seen.get(action_id)
        if seen is None:
            seen = self._seen[action_id] = SeenAction()
            if len(self._seen) > _MOST_ACTIONS:
                self._seen.popitem(last=False)
        else:
            self._seen.move_to_end(action_id)
        return seen


_NOTHING: Final = SeenAction()
