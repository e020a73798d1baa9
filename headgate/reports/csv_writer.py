"""Rows as CSV (RFC 4180), safe to open in a spreadsheet.

A cell that begins like a formula is written with an apostrophe before it. Every cell is quoted, so that none can end
its row, and what is hidden in it is written out, as for people everywhere: a terminal obeys an escape sequence, a
spreadsheet an override of the direction. JSON has each text as it was.
"""

import csv
from typing import TextIO

from headgate.kernel.spreadsheet import is_formula
from headgate.kernel.visible_text import visible
from headgate.reports.compose import compose, period_of
from headgate.reports.compose_controls import LABELS
from headgate.reports.compose_tables import TableRows
from headgate.reports.frameworks import controls
from headgate.reports.model import Section
from headgate.reports.rows import COLUMNS, Row
from headgate.reports.statements import Facts


class CsvWriter:
    """One schema for all kinds of report; the last row says what the file rests on, and that it is whole."""

    def __init__(self, file: TextIO) -> None:
        self._rows = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        self._rows.writerow(COLUMNS)

    def row(self, row: Row) -> None:
        self._rows.writerow([_cell(one) for one in row.cells()])

    def end(self, facts: Facts) -> None:
        basis = facts.basis
        if Section.CONTROLS in basis.request.sections:
            self._controls(facts)
        checkpoint = "none" if basis.checkpoint is None else f"{basis.checkpoint.size} {basis.checkpoint.root}"
        document = compose(facts, TableRows(most=0))
        self._write(
            section="report", seq=str(basis.last_seq or 0), event_type=basis.request.report_type.value,
            subject=basis.reference, actor=basis.organization, outcome=document.seal.title, reason=checkpoint,
            detail=period_of(basis),
            hash="" if facts.tally.last is None else f"sha256:{facts.tally.last.hash}",
        )  # fmt: skip

    def _controls(self, facts: Facts) -> None:
        for control in controls(facts):
            for one in control.statements:
                self._write(
                    section=Section.CONTROLS.value, subject=f"{control.framework} {control.clause}",
                    operation=control.title, outcome=LABELS[one.support], detail=f"{one.claim} {one.figure}",
                    reason=one.query,
                )  # fmt: skip

    def _write(self, **cells: str) -> None:
        self._rows.writerow([_cell(cells.get(name, "")) for name in COLUMNS])


def _cell(value: str | int | None) -> str:
    text = "" if value is None else str(value)
    shown = visible(text, kept="\n")
    return f"'{shown}" if is_formula(text) else shown
