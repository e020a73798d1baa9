"""A report as a document, before it has a form: what HTML and PDF are both made of. All of it is text, never markup."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

type Tone = Literal["good", "warning", "bad", "plain"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Notice:
    """What must not be overlooked."""

    title: str
    text: str
    tone: Tone
    kind: Literal["notice"] = "notice"


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Figures:
    items: tuple[Figure, ...]
    kind: Literal["figures"] = "figures"


@dataclass(frozen=True, slots=True)
class Chart:
    """``svg`` is drawn by ``headgate.reports.charts``; ``told`` says the same in words, for those who do not see it."""

    title: str
    svg: str
    told: str
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True, slots=True)
class Column:
    """``share`` of the width. ``face``: code for identifiers and digests, number for what is aligned to the right,
    badge for a decision, a risk, an outcome."""

    title: str
    share: float
    face: Literal["text", "code", "number", "badge", "time"] = "text"


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Fields:
    """Names and values, one a line."""

    items: tuple[tuple[str, str], ...]
    kind: Literal["fields"] = "fields"


@dataclass(frozen=True, slots=True)
class Code:
    text: str
    kind: Literal["code"] = "code"


@dataclass(frozen=True, slots=True)
class Claim:
    claim: str
    figure: str
    query: str
    support: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Clause:
    """One requirement of a framework, with the statements about it."""

    clause: str
    title: str
    asks: str
    claims: tuple[Claim, ...]
    beyond: str
    kind: Literal["clause"] = "clause"


@dataclass(frozen=True, slots=True)
class Heading:
    """Below a part's title."""

    text: str
    kind: Literal["heading"] = "heading"


type Block = Paragraph | Notice | Figures | Chart | Table | Fields | Code | Clause | Heading


@dataclass(frozen=True, slots=True)
class Part:
    """``begins_page``: of short ones several share a page."""

    title: str
    blocks: tuple[Block, ...]
    begins_page: bool = True


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """``ends_at``: the end of the period, which a PDF is dated by: when it was made would make another file of it.
    ``cover``: the fields of the title page. ``seal``: in one sentence, whether the record is what was signed."""

    title: str
    organization: str
    period: str
    ends_at: datetime
    reference: str
    summary: str
    cover: tuple[tuple[str, str], ...]
    seal: Notice
    parts: tuple[Part, ...] = field(default=())
