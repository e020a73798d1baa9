"""Which events become rows of which part of a report, and what is said of them. Pure."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct, field

from headgate.reports.model import Section
from headgate.reports.rows import Row, row_of
from headgate.reports.run import RunEvent
from headgate.reports.seen_actions import SeenActions

_POLICY_SUBJECTS: Final = frozenset({"policy", "policy_data", "policy_module", "nlp_policy"})
_GATE_SUBJECTS: Final = frozenset({"action", "decision", "execution", "approval", "request", "response"})
"""What agents' calls leave. Everything that is not one of these, a policy or an exception is administration: what is
added to the record later is in the report as well."""
_EXCEPTION_SUBJECTS: Final = frozenset({"grant", "break_glass"})
_ENDED: Final = {"approval.approved": "approved", "approval.denied": "denied", "approval.expired": "expired"}
_SUBJECT_KEYS: Final = (
    "name", "policy_id", "key_id", "email", "user_id", "grant_id", "pass_id", "endpoint_id", "report_id", "action_id",
    "target", "path",
)  # fmt: skip
_DETAIL_KEYS: Final = (
    "version", "previous_version", "changed", "kind", "scopes", "expires_at", "enabled", "priority", "mode",
    "rego_sha256", "scope", "outcome", "note", "format", "report_type", "restored_from", "status", "roles", "max_uses",
)  # fmt: skip
WAIT_BOUNDS: Final = (
    (60, "under 1 min"), (300, "1-5 min"), (900, "5-15 min"), (3600, "15-60 min"), (14_400, "1-4 h"),
    (86_400, "4-24 h"),
)  # fmt: skip
"""Upper ends in seconds, and what is printed; what waited longer is the last."""
LONGEST_WAIT: Final = "over 24 h"
_MOST_OPEN: Final = 100_000


class OpenApproval(Struct, frozen=True):
    requested_at: datetime
    row: Row


class Listing(Struct):
    """Tells rows as the run goes by; ``still_open`` at its end: approvals that nobody had decided by then."""

    actions: SeenActions
    waits: list[int] = field(default_factory=lambda: [0] * (len(WAIT_BOUNDS) + 1))
    waited_most_seconds: int = 0
    _open: dict[str, OpenApproval] = field(default_factory=dict)

    def rows(self, event: RunEvent) -> Iterator[Row]:
        """Those that this event makes; ``actions`` has been told of it already."""
        subject = event.event_type.partition(".")[0]
        if event.event_type == "decision.made":
            yield self._decision(Section.ACTIONS, event)
            if event.data.get("decision") == "deny":
                yield self._decision(Section.DENIALS, event)
        elif subject == "approval":
            yield from self._approval(event)
        elif event.event_type in ("execution.failed", "response.withheld"):
            yield self._execution(event)
        elif subject in _EXCEPTION_SUBJECTS:
            yield self._administration(Section.EXCEPTIONS, event)
        elif subject in _POLICY_SUBJECTS:
            yield self._administration(Section.POLICY_CHANGES, event)
        elif subject not in _GATE_SUBJECTS:
            yield self._administration(Section.ACCESS, event)

    def still_open(self) -> Iterator[Row]:
        for one in self._open.values():
            yield one.row

    @property
    def open_count(self) -> int:
        return len(self._open)

    def event_row(self, event: RunEvent) -> Row:
        """Every event as a row, where all of them were asked for."""
        seen = self.actions.of(event.action_id)
        return row_of(
            Section.EVENTS, event, agent=seen.agent, operation=seen.operation, subject=_subject(event),
            decision=event.text("decision"), risk_level=event.text("risk_level"), reason=event.text("reason"),
            detail=_detail(event), data=None if event.is_erased else event.data,
        )  # fmt: skip

    def _decision(self, section: Section, event: RunEvent) -> Row:
        seen = self.actions.of(event.action_id)
        return row_of(
            section, event, agent=seen.agent, operation=seen.operation, decision=event.text("decision"),
            risk_level=event.text("risk_level"), reason=event.text("reason"), detail=event.text("exempted_by"),
        )  # fmt: skip

    def _approval(self, event: RunEvent) -> Iterator[Row]:
        approval_id, seen = event.text("approval_id"), self.actions.of(event.action_id)
        if event.event_type == "approval.requested":
            row = row_of(
                Section.APPROVALS, event, agent=seen.agent, operation=seen.operation, subject=approval_id,
                decision=seen.decision, risk_level=seen.risk_level, outcome="pending",
            )  # fmt: skip
            if len(self._open) < _MOST_OPEN:
                self._open[approval_id] = OpenApproval(event.created_at, row)
            return
        if event.event_type == "approval.superseded":
            self._open.pop(approval_id, None)
            return
        outcome = _ENDED.get(event.event_type)
        if outcome is None:
            return
        opened = self._open.pop(approval_id, None)
        waited = None
        if opened is not None:
            waited = max(int((event.created_at - opened.requested_at).total_seconds()), 0)
            if outcome != "expired":
                self._wait(waited)
        yield row_of(
            Section.APPROVALS, event, agent=seen.agent, operation=seen.operation, subject=approval_id,
            decision=seen.decision, risk_level=seen.risk_level, outcome=outcome, waited_seconds=waited,
            reason=event.text("reason") or event.text("comment") if outcome != "expired" else "",
            detail=event.text("on_behalf_of"),
        )  # fmt: skip

    def _wait(self, seconds: int) -> None:
        self.waits[sum(seconds >= bound for bound, _ in WAIT_BOUNDS)] += 1
        self.waited_most_seconds = max(self.waited_most_seconds, seconds)

    def _execution(self, event: RunEvent) -> Row:
        seen = self.actions.of(event.action_id)
        outcome = "failed" if event.event_type == "execution.failed" else "answer withheld"
        return row_of(
            Section.EXECUTIONS, event, agent=seen.agent, operation=seen.operation, decision=seen.decision,
            risk_level=seen.risk_level, outcome=outcome, reason=event.text("error") or event.text("reason"),
        )  # fmt: skip

    def _administration(self, section: Section, event: RunEvent) -> Row:
        seen = self.actions.of(event.action_id)
        return row_of(
            section, event, agent=seen.agent, operation=seen.operation, subject=_subject(event),
            reason=event.text("reason"), detail=_detail(event),
        )  # fmt: skip


def _subject(event: RunEvent) -> str:
    return next((found for key in _SUBJECT_KEYS if (found := event.text(key))), event.agent_id or "")


def _detail(event: RunEvent) -> str:
    said: list[str] = []
    for key in _DETAIL_KEYS:
        value = event.data.get(key)
        if isinstance(value, list):
            value = ", ".join(str(one) for one in value)
        if value not in (None, "", {}):
            said.append(f"{key.replace('_', ' ')}: {_plain(value)}")
    return "; ".join(said)


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value.removesuffix(".000000Z") + "Z" if value.endswith(".000000Z") else value
    return json.dumps(value, sort_keys=True, default=str)
