"""A document out of what was gathered: title page, summary, the parts that were asked for, how to verify."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from headgate.reports.basis import Basis
from headgate.reports.blocks import Block, Chart, Figures, Notice, Part, ReportDocument
from headgate.reports.charts import DECISIONS, bars_chart, columns_chart, told
from headgate.reports.compose_controls import controls_part, unsupported
from headgate.reports.compose_tables import TableRows, table_part
from headgate.reports.compose_verify import UsedFont, verify_part
from headgate.reports.headlines import HEADLINES
from headgate.reports.model import ReportType, Section
from headgate.reports.periods import by_period
from headgate.reports.statements import Facts, number

_TITLES: Final[Mapping[ReportType, str]] = MappingProxyType(
    {
        ReportType.COMPLIANCE: "Compliance report",
        ReportType.ACTIVITY: "Activity report",
        ReportType.APPROVALS: "Approvals report",
        ReportType.POLICY_CHANGES: "Policy changes report",
        ReportType.ACCESS: "Access report",
    }
)
_SUMMARIES: Final[Mapping[ReportType, str]] = MappingProxyType(
    {
        ReportType.COMPLIANCE: "What the record of AI agents' actions shows about the controls of SOC 2, ISO/IEC 27001,"
        " the EU AI Act and the NIST AI RMF. Every statement is computed from the record and stands beside its figure"
        " and its query; where the record does not support it, the report says so.",
        ReportType.ACTIVITY: "What AI agents asked for, what policies decided, and what came of it.",
        ReportType.APPROVALS: "What was held for people, who decided it, how, and how long it took.",
        ReportType.POLICY_CHANGES: "Which policies were made, changed, restored and deleted, by whom.",
        ReportType.ACCESS: "Who was given access and who lost it: agents, keys, people, settings and exceptions.",
    }
)


def compose(facts: Facts, rows: TableRows, fonts: Sequence[UsedFont] = ()) -> ReportDocument:
    """``fonts``: of a PDF, beside its own."""
    request, basis = facts.basis.request, facts.basis
    wanted = [one for one in request.sections if one is not Section.CONTROLS]
    summary = _summary(facts)
    parts = []
    if Section.CONTROLS in request.sections:
        summary += unsupported(facts)
        parts = controls_part(facts)
    parts = [Part("Summary", tuple(summary)), *parts]
    listed = [one for one in wanted if one is not Section.RISK_SUMMARY]
    # Below a summary with charts is no room for more.
    is_summary_full = len(listed) < len(request.sections)
    parts += [replace(table_part(one, facts, rows), begins_page=is_summary_full and one is listed[0]) for one in listed]
    parts.append(verify_part(facts, fonts))
    return ReportDocument(
        title=_TITLES[request.report_type],
        organization=basis.organization,
        period=period_of(facts.basis),
        ends_at=request.end,
        reference=basis.reference,
        summary=_SUMMARIES[request.report_type],
        cover=tuple(_cover(facts)),
        seal=seal_of(facts),
        parts=tuple(parts),
    )


def period_of(basis: Basis) -> str:
    """Whole days as days; anything else to the second. All times are UTC."""
    start, end = basis.request.start, basis.request.end
    if start is not None:
        return f"{_moment(start, 0)} to {_moment(end, 86_399)}"
    first = "" if basis.record_begins is None else f" ({basis.record_begins.day} {basis.record_begins:%B %Y})"
    return f"First event{first} to {_moment(end, 86_399)}"


def _moment(moment: datetime, seconds_of_day: int) -> str:
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    day = f"{moment.day} {moment:%B %Y}"
    return day if seconds == seconds_of_day else f"{day}, {moment:%H:%M:%S} UTC"


def seal_of(facts: Facts) -> Notice:
    checkpoint, total = facts.basis.checkpoint, facts.basis.total
    if facts.fault is not None:
        return Notice(
            "The record is not what was sealed and signed",
            f"{facts.fault}. Figures from there on show what is stored now, which is not what was sealed."
            " Keep the database as it is, and verify it against exported checkpoints.",
            "bad",
        )
    if not total:
        return Notice("Nothing was recorded in this range", "No event was sealed in it.", "plain")
    if checkpoint is None:
        reason = facts.basis.no_checkpoint or "nothing was signed"
        return Notice(
            "No signed checkpoint covers this range",
            f"{reason[:1].upper()}{reason[1:]}. The chain over {number(total)} events was verified, which does not show"
            " whether all of it was written anew. Take the report again when a checkpoint has been signed.",
            "warning",
        )
    return Notice(
        "Verified against a signed checkpoint",
        f"{number(total)} events were read and verified, hash by hash, and are what was signed in the checkpoint of"
        f" {number(checkpoint.size)} events. None is missing, none was changed since it was sealed.",
        "good",
    )


def _cover(facts: Facts) -> list[tuple[str, str]]:
    basis = facts.basis
    run = "none" if basis.first_seq is None else f"{number(basis.first_seq)} to {number(basis.last_seq or 0)}"
    found = [
        ("Organization", f"{basis.organization} ({basis.organization_id})"),
        ("Period", period_of(basis)),
        ("Events", f"{number(basis.total)}, numbers {run}"),
        ("Reference", basis.reference),
    ]
    if basis.checkpoint is None:
        found.append(("Checkpoint", f"none: {basis.no_checkpoint or 'nothing was signed'}"))
    else:
        found += [
            ("Checkpoint", f"{number(basis.checkpoint.size)} events"),
            ("Log", basis.checkpoint.origin),
            ("Root", basis.checkpoint.root),
        ]
    return found


def _summary(facts: Facts) -> list[Block]:
    blocks: list[Block] = [] if facts.basis.total else [seal_of(facts)]
    if facts.tally.erased:
        blocks.append(
            Notice(
                "Content was erased",
                f"The content of {number(facts.tally.erased)} of {number(facts.basis.total)} events was erased: their"
                " type, time and the digest of their content stay. Figures that need content leave them out.",
                "warning",
            )
        )
    blocks.append(Figures(tuple(HEADLINES[facts.basis.request.report_type](facts))))
    if Section.RISK_SUMMARY in facts.basis.request.sections and facts["decided"]:
        blocks += _decision_charts(facts)
    return blocks


def _decision_charts(facts: Facts) -> list[Block]:
    points = by_period(facts.tally.days.counts)
    risks = [(name, facts.tally.risks.counts.get(name, {})) for name in ("low", "medium", "high", "critical")]
    return [
        Chart("Decisions over time", columns_chart(points, DECISIONS), told(points, DECISIONS)),
        Chart("Decisions by risk", bars_chart(risks, DECISIONS, left=90), told(risks, DECISIONS)),
    ]
