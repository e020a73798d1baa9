"""A report for programs: one JSON object, written while the events go by.

``rows`` come first, as many as there are; then what was counted, each figure with its query, the groups, the
statements, and what it all rests on. A file that was cut off is no JSON.
"""

import json
from typing import Any, TextIO

from msgspec.structs import asdict

from headgate.kernel.clock import rfc3339
from headgate.reports.compose import seal_of
from headgate.reports.compose_controls import LABELS
from headgate.reports.figures import FIGURES
from headgate.reports.frameworks import controls
from headgate.reports.model import Section
from headgate.reports.queries import Groups
from headgate.reports.rows import COLUMNS, Row
from headgate.reports.seen_actions import PERMIT_QUERIES
from headgate.reports.statements import Facts

FORMAT = "headgate-report/v1"


class JsonWriter:
    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._is_first = True
        file.write(f'{{"format":"{FORMAT}","rows":[')

    def row(self, row: Row) -> None:
        known: dict[str, Any] = {
            name: value for name, value in zip(COLUMNS, row.cells(), strict=True) if value not in ("", None)
        }
        if row.data is not None:
            known["data"] = row.data
        self._file.write(("\n" if self._is_first else ",\n") + _text(known))
        self._is_first = False

    def end(self, facts: Facts) -> None:
        self._file.write("\n]")
        for name, value in _summary(facts).items():
            self._file.write(f",\n{_text(name)}:{_text(value)}")
        self._file.write("}\n")


def _summary(facts: Facts) -> dict[str, Any]:
    basis, tally, request = facts.basis, facts.tally, facts.basis.request
    summary: dict[str, Any] = {
        "report": {
            "type": request.report_type.value,
            "reference": basis.reference,
            "include": [one.value for one in request.sections],
            "start_date": None if request.start is None else rfc3339(request.start),
            "end_date": rfc3339(request.end),
            "organization": {"id": basis.organization_id, "name": basis.organization},
        },
        "run": {
            "events": basis.total, "first_seq": basis.first_seq, "last_seq": basis.last_seq,
            "first_hash": None if tally.first is None else f"sha256:{tally.first.hash}",
            "last_hash": None if tally.last is None else f"sha256:{tally.last.hash}",
            "erased": tally.erased,
        },
        "checkpoint": None if basis.checkpoint is None else asdict(basis.checkpoint),
        "verification": {"valid": facts.fault is None, "signed": basis.checkpoint is not None,
                         "message": seal_of(facts).title, "fault": facts.fault},
        "figures": {name: {"value": tally.figures[name], "query": query.text} for name, query in FIGURES.items()},
        "executions_begun": {
            name: {"value": tally.actions.started[name], "query": text} for name, text in PERMIT_QUERIES.items()
        },
        "groups": {
            "event_types": _group(tally.types), "days": _group(tally.days), "risk_levels": _group(tally.risks),
            "agents": _group(tally.agents), "operations": _group(tally.operations), "policies": _group(tally.policies),
            "voters": _group(tally.voters), "refusals": _group(tally.refusals),
            "administrators": _group(tally.administrators),
        },
    }  # fmt: skip
    if Section.CONTROLS in request.sections:
        summary["controls"] = [
            {
                "framework": control.framework, "clause": control.clause, "title": control.title,
                "not_shown_by_the_record": control.beyond,
                "statements": [{**asdict(one), "support": LABELS[one.support]} for one in control.statements],
            }
            for control in controls(facts)
        ]  # fmt: skip
    return summary


def _group(groups: Groups) -> dict[str, dict[str, int]]:
    return {name: dict(sorted(kinds.items())) for name, kinds in sorted(groups.counts.items())}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
