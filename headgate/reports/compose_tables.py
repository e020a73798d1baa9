"""The parts that list events, each with its charts; how many rows a page takes, and how many there are."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from headgate.reports.blocks import Block, Chart, Column, Paragraph, Part, Table
from headgate.reports.charts import DECISIONS, NEUTRAL, Series, bars_chart, told
from headgate.reports.listing import LONGEST_WAIT, WAIT_BOUNDS
from headgate.reports.model import Section
from headgate.reports.periods import waited_text
from headgate.reports.rows import Row
from headgate.reports.statements import Facts, number

_TOP: Final = 12
_MOST_TEXT: Final = 280
_MOST_NAMED: Final = 100


class TableRows(Struct):
    """The first rows of each section, and how many there were: pages of them help nobody, files do."""

    most: int
    rows: dict[Section, list[Row]] = field(default_factory=dict)
    counts: dict[Section, int] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        kept = self.rows.setdefault(row.section, [])
        if len(kept) < self.most:
            kept.append(row)
        self.counts[row.section] = self.counts.get(row.section, 0) + 1


class _Layout(Struct, frozen=True):
    title: str
    about: str
    columns: tuple[Column, ...]
    cells: Callable[[Row, Facts], tuple[str, ...]]


def table_part(section: Section, facts: Facts, rows: TableRows) -> Part:
    layout = _LAYOUTS[section]
    blocks: list[Block] = [Paragraph(layout.about), *_charts(section, facts)]
    if layout.columns:
        blocks.append(_table(section, layout, facts, rows))
    return Part(layout.title, tuple(blocks))


def _table(section: Section, layout: _Layout, facts: Facts, rows: TableRows) -> Block:
    kept, count = rows.rows.get(section, []), rows.counts.get(section, 0)
    if not count:
        return Paragraph("None in this range.")
    note = f"{number(count)} in all."
    if count > len(kept):
        note = (
            f"The first {number(len(kept))} of {number(count)}: a report for reading lists no more."
            " The same report as csv or json holds all of them."
        )
    return Table(layout.title, layout.columns, tuple(layout.cells(row, facts) for row in kept), note)


def _charts(section: Section, facts: Facts) -> list[Block]:
    tally = facts.tally
    if section is Section.ACTIONS and facts["decided"]:
        top = tally.operations.top(_TOP)
        return [Chart("Most frequent operations", bars_chart(top, DECISIONS), told(top, DECISIONS))]
    if section is Section.AGENTS and facts["decided"]:
        top = tally.agents.top(_TOP)
        return [Chart("Decisions by agent", bars_chart(top, DECISIONS), told(top, DECISIONS)), _agents(facts)]
    if section is Section.DENIALS and facts["denied"]:
        series = (Series("deny", "Denied", DECISIONS[2].colour),)
        top = [(facts.basis.names.get(name, name), kinds) for name, kinds in tally.policies.top(_TOP, "deny")]
        return [Chart("Denials by policy", bars_chart(top, series), told(top, series))]
    if section is Section.APPROVALS and any(tally.listing.waits):
        labels = [*(label for _, label in WAIT_BOUNDS), LONGEST_WAIT]
        waits = [(label, {"value": count}) for label, count in zip(labels, tally.listing.waits, strict=True)]
        voters = tally.voters.top(_TOP)
        return [
            Chart("Time until a person had decided", bars_chart(waits, (NEUTRAL,), left=110), told(waits, (NEUTRAL,))),
            Chart("Who decided", bars_chart(voters, _VOTES), told(voters, _VOTES)),
        ]
    if section is Section.ACCESS and tally.administrators.counts:
        return [_administrators(facts)]
    if section is Section.EXECUTIONS and tally.refusals.counts:
        refused = (Series("refused", "Refused", NEUTRAL.colour),)
        top = tally.refusals.top(_TOP)
        return [Chart("Requests refused before they were actions", bars_chart(top, refused), told(top, refused))]
    return []


def _agents(facts: Facts) -> Block:
    agents = facts.tally.agents
    rows = tuple(
        (_cut(name), *(number(kinds.get(one.name, 0)) for one in DECISIONS), number(sum(kinds.values())))
        for name, kinds in agents.top(_MOST_NAMED)
    )
    columns = (Column("Agent", 0.4), *(Column(one.label, 0.15, "number") for one in DECISIONS),
               Column("Decided", 0.15, "number"))  # fmt: skip
    return Table("Agents", columns, rows, _of(len(rows), len(agents.counts), "agents"))


def _administrators(facts: Facts) -> Block:
    people = facts.tally.administrators
    rows = tuple(
        (_cut(name), number(sum(kinds.values())),
         ", ".join(f"{kind.replace('_', ' ')} {number(count)}" for kind, count in sorted(kinds.items())))
        for name, kinds in people.top(_MOST_NAMED)
    )  # fmt: skip
    columns = (Column("Who", 0.3), Column("Events", 0.1, "number"), Column("About", 0.6))
    return Table("Who administered", columns, rows, "By person: " + _of(len(rows), len(people.counts), "people"))


def _of(shown: int, count: int, what: str) -> str:
    return f"{number(count)} {what} in all." if shown == count else f"the first {number(shown)} of {number(count)}."


_VOTES: Final = (
    Series("approve", "Approved", DECISIONS[0].colour),
    Series("deny", "Denied", DECISIONS[2].colour),
)


def _time(row: Row) -> str:
    return f"{row.created_at:%Y-%m-%d %H:%M:%S}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"


def _action(row: Row, facts: Facts) -> tuple[str, ...]:
    return (str(row.seq), _time(row), _cut(row.agent), _cut(row.operation), row.decision, row.risk_level,
            _cut(row.reason))  # fmt: skip


def _approval(row: Row, facts: Facts) -> tuple[str, ...]:
    waited = "" if row.waited_seconds is None else waited_text(row.waited_seconds)
    by = "" if row.outcome == "pending" else row.actor if row.outcome != "expired" else "nobody"
    return (str(row.seq), _time(row), _cut(row.agent), _cut(row.operation), row.risk_level, row.outcome, _cut(by),
            waited, _cut(row.reason))  # fmt: skip


def _execution(row: Row, facts: Facts) -> tuple[str, ...]:
    return str(row.seq), _time(row), _cut(row.agent), _cut(row.operation), row.outcome, _cut(row.reason)


def _change(row: Row, facts: Facts) -> tuple[str, ...]:
    return (str(row.seq), _time(row), row.event_type, _cut(_subject(row, facts)), _cut(row.actor),
            _cut("; ".join(one for one in (row.detail, row.reason) if one)))  # fmt: skip


def _subject(row: Row, facts: Facts) -> str:
    return facts.basis.names.get(row.subject, row.subject)


def _event(row: Row, facts: Facts) -> tuple[str, ...]:
    return str(row.seq), _time(row), row.event_type, _cut(row.actor), _cut(row.operation or row.subject), row.hash[:16]


_NO: Final = Column("No.", 0.06, "number")
_WHEN: Final = Column("Time (UTC)", 0.16, "time")
_CHANGES: Final = (
    _NO, _WHEN, Column("Event", 0.17), Column("About", 0.16), Column("By", 0.2), Column("Detail", 0.28),
)  # fmt: skip
_DECISIONS: Final = (
    _NO, _WHEN, Column("Agent", 0.14), Column("Operation", 0.19), Column("Decision", 0.08, "badge"),
    Column("Risk", 0.09, "badge"), Column("Reason", 0.25),
)  # fmt: skip
_LAYOUTS: Final[Mapping[Section, _Layout]] = MappingProxyType(
    {
        Section.ACTIONS: _Layout(
            "Actions", "Every action that an agent asked for, with the decision of the policies.", _DECISIONS, _action
        ),
        Section.DENIALS: _Layout("Denials", "Actions that policies refused.", _DECISIONS, _action),
        Section.AGENTS: _Layout("Agents", "Who asked, and how it was decided.", (), _action),
        Section.APPROVALS: _Layout(
            "Approvals",
            "Actions that were held, and what people made of them. A row is the event that ended it, or the one that"
            " asked where it is still open at the end of the range.",
            (
                _NO, _WHEN, Column("Agent", 0.11), Column("Operation", 0.15), Column("Risk", 0.08, "badge"),
                Column("Outcome", 0.1, "badge"), Column("By", 0.13), Column("Waited", 0.09), Column("Reason", 0.14),
            ),
            _approval,
        ),
        Section.EXECUTIONS: _Layout(
            "Failures and refusals", "What was permitted and did not succeed, and answers that were withheld.",
            (
                _NO, _WHEN, Column("Agent", 0.15), Column("Operation", 0.21), Column("Outcome", 0.14, "badge"),
                Column("Why", 0.3),
            ),
            _execution,
        ),
        Section.EXCEPTIONS: _Layout(
            "Exceptions", "Standing permissions and emergency access: what went around an approval, on record.",
            _CHANGES, _change,
        ),
        Section.POLICY_CHANGES: _Layout(
            "Policy changes", "Each version of a policy, its data and its modules, and who made it.", _CHANGES, _change
        ),
        Section.ACCESS: _Layout(
            "Access and administration", "Agents, keys, people, settings, stops, webhooks and what was taken out.",
            _CHANGES, _change,
        ),
        Section.EVENTS: _Layout(
            "Events", "The record itself, in the order of the chain.",
            (
                _NO, _WHEN, Column("Event", 0.2), Column("By", 0.2), Column("About", 0.22),
                Column("Hash (begins)", 0.18, "code"),
            ),
            _event,
        ),
    }
)  # fmt: skip
