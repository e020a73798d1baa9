"""What agents call themselves and say, put into every form: it is text there, and nothing else."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from headgate.kernel.visible_text import visible
from headgate.reports.blocks import Chart
from headgate.reports.charts import DECISIONS, bars_chart
from headgate.reports.model import ReportFormat, ReportType, Section
from tests.unit.reports.run_of import PERSON, Told, action, agent, basis_of, made, sealed
from tests.unit.reports.tiny_font import write_font

_HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><script>alert(1)</script>",
    "</text></svg><script>alert(1)</script>",
    '#eval("1+1") #panic("owned") $x^2$ *bold* `raw` <label> @cite // comment',
    '#read("/etc/passwd")',
    "] #sys.inputs [",
    "\\u{41} \\ #",
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\r=1+1",
    " =1+1",
    "＝1+1",  # noqa: RUF001 - full width, which is meant
    'a","b\r\n"c',
    "\u202eevil\u202c",
    "zero\u200bwidth",
    "bell\x07 escape\x1b[31m",
    "東京 🤖",
    "東京 office \\ff",
    "東\u3099e\u3099 ffi東\u0301 \u3099京 🤖\u3099",
    "שלום مرحبا नमस्ते ไทย",
    "\ufb01 \u2603 \u1e9e \u0301 \ud7a3 \U0001f9d1\u200d\U0001f4bb \ufffe \U0010ffff",
    "{{ 7*7 }} {% raw %}",
    "x" * 5_000,
)


def _events(text: str) -> list[Told]:
    robot = agent(text)
    return [
        ("policy.created", PERSON, {"policy_id": "pol_1", "name": text, "version": 1, "note": text}, None),
        *action(1, robot, "deny", risk="critical", reason=text),
        *action(2, robot, "require_approval", risk="high", reason=text),
        ("approval.requested", robot, {"approval_id": "apr_1"}, "act_2"),
        ("approval.denied", PERSON, {"approval_id": "apr_1", "vote": "deny", "reason": text}, "act_2"),
        ("request.refused", robot, {"code": text, "count": 1}, None),
        ("key.created", PERSON, {"key_id": text, "kind": text, "scopes": [text]}, None),
    ]


class _Read(HTMLParser):
    """Which elements and attributes a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


def _page(text: str) -> str:
    events = _events(text)
    return made(
        sealed(events), basis_of(len(events), ReportFormat.HTML, organization=text, names={"pol_1": text})
    ).decode()


@pytest.mark.parametrize("text", _HOSTILE)
def test_in_html_it_adds_no_element_and_no_attribute(text: str) -> None:
    harmless, hostile = _Read(), _Read()
    harmless.feed(_page("Robot"))
    hostile.feed(_page(text))
    assert hostile.elements == harmless.elements
    assert hostile.attributes == harmless.attributes
    assert not hostile.elements & {"script", "img", "iframe", "object", "form", "link", "base"}
    assert not any(name.startswith("on") or name in ("src", "style") for name in hostile.attributes)


def test_html_loads_nothing_and_allows_only_its_own_style() -> None:
    page = _page("Robot")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert page.count("<style>") == 1


@pytest.fixture(params=[False, True], ids=["no fonts of the installation", "with a font of it"])
def fonts(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    return [write_font(tmp_path / "east-asian.ttf", "Squares", "東京שלום\u0301\u3099")] if request.param else []


@pytest.mark.parametrize("text", _HOSTILE)
def test_in_pdf_the_typesetter_takes_it_for_text(text: str, fonts: list[Path]) -> None:
    events = _events(text)
    basis = basis_of(len(events), ReportFormat.PDF, organization=text, names={"pol_1": text})
    assert made(sealed(events), basis, fonts).startswith(b"%PDF-1.7")


@pytest.mark.parametrize("text", _HOSTILE)
def test_in_csv_no_cell_is_a_formula_and_none_ends_its_row(text: str) -> None:
    events = _events(text)
    basis = basis_of(len(events), ReportFormat.CSV, sections=(*Section,), organization=text)
    rows = list(csv.reader(io.StringIO(made(sealed(events), basis).decode(), newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    begins = {cell.lstrip(" ")[:1] for row in rows for cell in row}
    assert not begins & set("=+-@\t\r\n＝＋－＠|%")  # noqa: RUF001 - full width, which is meant
    shown = [row[rows[0].index("agent")] for row in rows if row[0] == "denials"]
    is_formula = text.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "＝"))  # noqa: RUF001
    assert shown == [("'" if is_formula else "") + visible(text, kept="\n")]


@pytest.mark.parametrize("text", _HOSTILE)
def test_in_json_it_is_what_it_was(text: str) -> None:
    events = _events(text)
    document = json.loads(made(sealed(events), basis_of(len(events), ReportFormat.JSON)))
    denial = next(row for row in document["rows"] if row["section"] == "denials")
    assert (denial["agent"], denial["reason"]) == (text, text)


def test_a_chart_writes_hidden_characters_out_and_escapes_the_rest() -> None:
    chart = Chart("t", bars_chart([("<b>\u202ex&", {"deny": 1})], DECISIONS), "")
    assert "&lt;b&gt;\\u{202e}x&amp;" in chart.svg
    assert "\u202e" not in chart.svg


def test_a_pdf_can_show_every_character_that_there_is() -> None:
    for first in range(0x20, 0x3000, 0x400):
        text = "".join(chr(one) for one in range(first, first + 0x400))
        events = _events(text[:600])
        assert made(
            sealed(events), basis_of(len(events), ReportFormat.PDF, ReportType.POLICY_CHANGES, organization=text)
        )


def test_every_kind_takes_a_large_text() -> None:
    events = _events("y" * 200_000)
    for report_type in ReportType:
        assert len(made(sealed(events), basis_of(len(events), ReportFormat.HTML, report_type))) < 3_000_000
