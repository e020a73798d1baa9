"""The frameworks' part of a compliance report."""

from collections.abc import Sequence
from typing import Final

from headgate.reports.blocks import Block, Claim, Clause, Column, Heading, Notice, Paragraph, Part, Table, Tone
from headgate.reports.frameworks import Control, controls
from headgate.reports.statements import Facts, Statement, Support

_TONES: Final[dict[Support, Tone]] = {
    Support.SUPPORTED: "good", Support.CONTRADICTED: "bad", Support.NO_DATA: "plain",
}  # fmt: skip
LABELS: Final[dict[Support, str]] = {
    Support.SUPPORTED: "supported",
    Support.CONTRADICTED: "not supported",
    Support.NO_DATA: "nothing to show",
}
_READING: Final = (
    "Each statement is computed from the sealed events of the range. Supported: the figure shows it. Not supported: the"
    " figure contradicts it. Nothing to show: nothing of the kind happened in the range, which is neither good nor bad."
    " Queries name events and members as GET /admin/audit answers them. Requirements are paraphrased. This is evidence"
    " for an auditor's judgement, and no judgement itself: what the record cannot show is said below each control."
)


def controls_part(facts: Facts) -> list[Part]:
    found = controls(facts)
    return [Part("Controls at a glance", (Paragraph(_READING), _overview(found))), *_frameworks(found)]


def unsupported(facts: Facts) -> list[Block]:
    """What a reader should see first: statements that the figures contradict."""
    found = {
        (one.claim, one.figure): control
        for control in reversed(controls(facts))
        for one in control.statements
        if one.support is Support.CONTRADICTED
    }
    if not facts.basis.total:
        return []
    if not found:
        return [
            Notice("No figure contradicts a statement", "What the record supports follows, control by control.", "good")
        ]
    rows = tuple((claim, figure, f"{one.framework}, {one.clause}") for (claim, figure), one in reversed(found.items()))
    columns = (Column("Statement", 0.45), Column("Figure", 0.3), Column("First named by", 0.25))
    return [Heading("Statements that the record does not support"), Table("Not supported", columns, rows)]


def _overview(found: Sequence[Control]) -> Table:
    rows = tuple(
        (control.framework, control.clause, control.title, *(_count(control, one) for one in Support))
        for control in found
    )
    columns = (
        Column("Framework", 0.26), Column("Clause", 0.15), Column("Control", 0.29), Column("Supported", 0.1, "number"),
        Column("Not supp.", 0.1, "number"), Column("Nothing to show", 0.1, "number"),
    )  # fmt: skip
    return Table("Statements by control", columns, rows)


def _count(control: Control, support: Support) -> str:
    count = sum(one.support is support for one in control.statements)
    return str(count) if count else "-"


def _frameworks(found: Sequence[Control]) -> list[Part]:
    parts: dict[str, list[Block]] = {}
    for control in found:
        clause = Clause(
            control.clause, control.title, control.asks, tuple(_claim(one) for one in control.statements),
            control.beyond,
        )  # fmt: skip
        parts.setdefault(control.framework, []).append(clause)
    return [Part(name, tuple(blocks)) for name, blocks in parts.items()]


def _claim(statement: Statement) -> Claim:
    return Claim(
        statement.claim, statement.figure, statement.query, LABELS[statement.support], _TONES[statement.support]
    )
