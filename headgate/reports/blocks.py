"""A report as a document, before it has a form: what HTML and PDF are both made of. All of it is text, never markup."""

from datetime import datetime
from typing import Literal

from msgspec import Struct, field

type Tone = Literal["good", "warning", "bad", "plain"]


class Paragraph(Struct, frozen=True):
    text: str
    kind: Literal["paragraph"] = "paragraph"


class Notice(Struct, frozen=True):
    """What must not be overlooked."""

    title: str
    text: str
    tone: Tone
    kind: Literal["notice"] = "notice"


class Figure(Struct, frozen=True):
    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


class Figures(Struct, frozen=True):
    items: tuple[Figure, ...]
    kind: Literal["figures"] = "figures"


class Chart(Struct, frozen=True):
    """``svg`` is drawn by ``headgate.reports.charts``; ``told`` says the same in words, for those who do not see it."""

    title: str
    svg: str
    told: str
    kind: Literal["chart"] = "chart"


class Column(Struct, frozen=True):
    """``share`` of the width. ``face``: code for identifiers and digests, number for what is aligned to the right,
    badge for a decision, a risk, an outcome."""

    title: str
    share: float
    face: Literal["text", "code", "number", "badge", "time"] = "text"


class Table(Struct, frozen=True):
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    kind: Literal["table"] = "table"


class Fields(Struct, frozen=True):
    """Names and values, one a line."""

    items: tuple[tuple[str, str], ...]
    kind: Literal["fields"] = "fields"


class Code(Struct, frozen=True):
    text: str
    kind: Literal["code"] = "code"


class Claim(Struct, frozen=True):
    claim: str
    figure: str
    query: str
    support: str
    tone: Tone


class Clause(Struct, frozen=True):
    """One requirement of a framework, with the statements about it."""

    clause: str
    title: str
    asks: str
    claims: tuple[Claim, ...]
    beyond: str
    kind: Literal["clause"] = "clause"


class Heading(Struct, frozen=True):
    """Below a part's title."""

    text: str
    kind: Literal["heading"] = "heading"


type Block = Paragraph | Notice | Figures | Chart | Table | Fields | Code | Clause | Heading


class Part(Struct, frozen=True):
    """``begins_page``: of short ones several share a page."""

    title: str
    blocks: tuple[Block, ...]
    begins_page: bool = True


class ReportDocument(Struct, frozen=True):
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
