"""A report out of a stream of events: one pass, whatever its form."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from headgate.kernel.extras import importing
from headgate.reports.basis import Basis
from headgate.reports.compose import compose
from headgate.reports.compose_tables import TableRows
from headgate.reports.compose_verify import UsedFont
from headgate.reports.csv_writer import CsvWriter
from headgate.reports.frames import ChainRow
from headgate.reports.html_writer import render_html
from headgate.reports.json_writer import JsonWriter
from headgate.reports.model import ReportFormat, Section
from headgate.reports.rows import Row
from headgate.reports.run import RunReader
from headgate.reports.statements import Facts
from headgate.reports.tally import Tally

MOST_ROWS: Final = {ReportFormat.PDF: 500, ReportFormat.HTML: 2_000}
"""Of each table in a report for reading; csv and json have all."""


class _Sink(Protocol):
    def row(self, row: Row) -> None: ...
    def end(self, facts: Facts) -> None: ...


class _Pages:
    """HTML and PDF: composed when everything is known."""

    def __init__(self, file: BinaryIO, form: ReportFormat, fonts: Sequence[Path]) -> None:
        self._file = file
        self._fonts = fonts
        self._form = form
        self._rows = TableRows(MOST_ROWS[form])

    def row(self, row: Row) -> None:
        self._rows.add(row)

    def end(self, facts: Facts) -> None:
        if self._form is ReportFormat.HTML:
            self._file.write(render_html(compose(facts, self._rows)))
            return
        # Loaded for PDF only: the typesetter is large.
        with importing("reports", "PDF reports"):
            from headgate.reports.pdf_writer import render_pdf  # noqa: PLC0415
            from headgate.reports.typefaces import open_typefaces  # noqa: PLC0415

        typefaces = open_typefaces(self._fonts)
        used = tuple(UsedFont(one.family, one.scripts, one.sha256) for one in typefaces)
        try:
            content = render_pdf(compose(facts, self._rows, used), typefaces)
        except RuntimeError:
            if not typefaces:
                raise
            # What somebody is called must not leave an organization without its report: everything is written out.
            content = render_pdf(compose(facts, self._rows))
        self._file.write(content)


def make_report(basis: Basis, rows: Iterator[ChainRow], file: BinaryIO, fonts: Sequence[Path] = ()) -> None:
    """Writes the file; ``fonts``: of a PDF, beside its own. Raises CutOffError where the stream ends before its end,
    FontError, MissingExtraError."""
    request = basis.request
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=False)
    sink: _Sink
    match request.format:
        case ReportFormat.CSV:
            sink = CsvWriter(text)
        case ReportFormat.JSON:
            sink = JsonWriter(text)
        case ReportFormat.PDF | ReportFormat.HTML:
            sink = _Pages(file, request.format, fonts)
    reader = RunReader(basis.prev_hash, basis.first_seq or 1)
    tally = Tally(frozenset(request.sections) - {Section.CONTROLS})
    for event in reader.read(rows):
        for row in tally.add(event):
            sink.row(row)
    for row in tally.still_open():
        sink.row(row)
    fault = basis.fault or reader.fault
    if fault is None and basis.total != reader.next_seq - (basis.first_seq or 1):
        fault = f"event {reader.next_seq} is missing"
    sink.end(Facts(basis, tally, fault))
    text.flush()
    text.detach()
