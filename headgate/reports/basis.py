"""What a report rests on: the run, its verification, the checkpoint. Handed from the worker to the child."""

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from headgate.kernel.clock import rfc3339
from headgate.reports.model import ReportFormat, ReportRequest, ReportType, Section


class SignedCheckpoint(Struct, frozen=True):
    """``note``: the signed text as it is. What witnesses and time-stamp authorities say of it is not here: they may
    add to it later, and the same report would be another file."""

    origin: str
    size: int
    root: str
    note: str


class Basis(Struct, frozen=True):
    """``first_seq`` and ``last_seq`` None: the run is empty. ``prev_hash`` (hexadecimal): of the event before it.
    ``no_checkpoint``: why there is none. ``fault``: what verification found, in one sentence. ``record_begins``: when
    the first event of all was sealed. ``names``: what policies were called, by id. ``total``: events of the run."""

    organization_id: str
    organization: str
    request: ReportRequest
    first_seq: int | None
    last_seq: int | None
    prev_hash: str
    checkpoint: SignedCheckpoint | None
    no_checkpoint: str | None
    fault: str | None
    record_begins: datetime | None
    names: Mapping[str, str]

    @property
    def total(self) -> int:
        return 0 if self.first_seq is None or self.last_seq is None else self.last_seq - self.first_seq + 1

    @property
    def reference(self) -> str:
        """A name of what the report says, whenever and by whomever it is made: two reports with one reference have
        the same content."""
        said = {
            "org": self.organization_id, "type": self.request.report_type.value,
            "sections": [one.value for one in self.request.sections], "first": self.first_seq, "last": self.last_seq,
            "start": _text(self.request.start), "end": _text(self.request.end),
            "root": None if self.checkpoint is None else self.checkpoint.root,
        }  # fmt: skip
        digest = sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        return f"HG-{digest[:4]}-{digest[4:8]}-{digest[8:12]}".upper()


def to_document(basis: Basis) -> bytes:
    request = basis.request
    document = {
        **asdict(basis),
        "checkpoint": None if basis.checkpoint is None else asdict(basis.checkpoint),
        "record_begins": _text(basis.record_begins),
        "names": dict(basis.names),
        "request": {
            "report_type": request.report_type.value,
            "format": request.format.value,
            "sections": [one.value for one in request.sections],
            "start": _text(request.start),
            "end": _text(request.end),
            "most_events": request.most_events,
        },
    }
    return json.dumps(document).encode()


def from_document(document: bytes) -> Basis:
    """Raises ValueError, KeyError."""
    read: dict[str, Any] = json.loads(document)
    request = read.pop("request")
    checkpoint = read.pop("checkpoint")
    begins = read.pop("record_begins")
    return Basis(
        **read,
        checkpoint=None if checkpoint is None else SignedCheckpoint(**checkpoint),
        record_begins=None if begins is None else datetime.fromisoformat(begins),
        request=ReportRequest(
            report_type=ReportType(request["report_type"]),
            format=ReportFormat(request["format"]),
            sections=tuple(Section(one) for one in request["sections"]),
            start=None if request["start"] is None else datetime.fromisoformat(request["start"]),
            end=datetime.fromisoformat(request["end"]),
            most_events=request["most_events"],
        ),
    )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)
