"""What the gate accepts, every server reads alike: its own reading is compared with those of real parsers.

``PARSER_CASES`` sets how many generated cases of each kind are tried (300 unless it says otherwise).
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headgate.kernel.errors import HeadgateError
from headgate.protocols.body import BodyKind, read_body
from headgate.protocols.content_type import read_content_type
from headgate.protocols.query import parse_pairs
from tests.go_program import build_go_program
from tests.parsers import generated_cases
from tests.parsers.outside_parsers import FOLDER, OutsideParsers, run_outside_parsers
from tests.parsers.python_parsers import read_in_python
from tests.parsers.readings import Case, Form, Json, Label, Reading, form, numbers_as_doubles

# Temporary files that the parsers leave to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.timeout(900),  # a Go program is compiled, once
]

CASES = int(os.environ.get("PARSER_CASES", "300"))


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OutsideParsers]:
    program = build_go_program(FOLDER / "go", tmp_path_factory.mktemp("go"))
    with run_outside_parsers(program) as parsers:
        yield parsers


def ours(case: Case) -> Reading:
    """None: refused. Files are compared by name only: the gate keeps their digests."""
    try:
        if case.kind == "content_type":
            label = read_content_type(case.content_type)
            return Label(label.media_type, label.charset, label.boundary)
        if case.kind == "query":
            pairs = parse_pairs(case.body.decode("latin-1"), field="query")
            return form([(name.encode(), value.encode()) for name, value in pairs])
        body = read_body(case.body, case.content_type, None)
    except HeadgateError:
        return None
    if case.kind == "json":
        if body.kind is not BodyKind.JSON:
            return None
        return Json(json.dumps(numbers_as_doubles(body.value), sort_keys=True))
    if body.kind not in (BodyKind.FORM, BodyKind.MULTIPART):
        return None
    fields = [(name.encode(), value.encode()) for name, value in body.pairs if isinstance(value, str)]
    files = [
        (name.encode(), str(value["filename"]).encode(), b"") for name, value in body.pairs if isinstance(value, dict)
    ]
    return form(fields, files)


def assert_agreed(case: Case, outside: OutsideParsers) -> bool:
    """Whether the gate accepts the case; then all who accept it read the same."""
    own = ours(case)
    if own is None:
        return False
    readings = {name: one for name, one in (read_in_python(case) | outside.read(case)).items() if one is not None}
    nested = readings.pop("qs", None)
    if isinstance(own, Form):
        assert nested is None or _reads_the_same_below(nested, own), (case, own, nested)
        contents = {name: one.files for name, one in readings.items() if isinstance(one, Form)}
        assert len(set(contents.values())) <= 1, (case, contents)
        readings = {
            name: Form(one.fields, tuple((field, filename, b"") for field, filename, _ in one.files))
            for name, one in readings.items()
            if isinstance(one, Form)
        }
    others = {name: one for name, one in readings.items() if one != own}
    assert others == {}, (case, own, others)
    return True


def _reads_the_same_below(nested: Reading, own: Form) -> bool:
    """Whether each value that a reader of nested names read stands below the same first segment. It may drop a member
    without a name."""
    assert isinstance(nested, Form)
    expected = Counter((name.partition(b"[")[0], value) for name, value in own.fields if name)
    return Counter(nested.fields) == expected


@pytest.mark.parametrize(
    ("strategy", "accepted_at_least"),
    [
        pytest.param(generated_cases.multipart_cases(), 0.1, id="multipart"),
        pytest.param(generated_cases.form_cases(), 0.1, id="form"),
        pytest.param(generated_cases.query_cases(), 0.1, id="query"),
        pytest.param(generated_cases.json_cases(), 0.1, id="json"),
        pytest.param(generated_cases.content_type_cases(), 0.05, id="content_type"),
    ],
)
@pytest.mark.timeout(3600)
def test_generated_cases(
    strategy: st.SearchStrategy[Case],
    accepted_at_least: float,
    outside: OutsideParsers,
    request: pytest.FixtureRequest,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    tried = accepted = 0

    @settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        derandomize="PARSER_CASES" not in os.environ,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def agree(case: Case) -> None:
        nonlocal tried, accepted
        tried += 1
        accepted += assert_agreed(case, outside)

    agree()
    record_testsuite_property(request.node.name, f"{accepted} of {tried} accepted, each read alike by all")
    assert accepted >= tried * accepted_at_least


_A = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'
_FORM = "application/x-www-form-urlencoded"
_PART = b'Content-Disposition: form-data; name="amount"%b%b1000'


def _multipart(body: bytes) -> Case:
    return Case("multipart", "multipart/form-data; boundary=x", body + b"\r\n--x--\r\n")


@pytest.mark.parametrize(
    "case",
    [
        _multipart(_A + b"\n--x\n" + _PART % (b"\n", b"\n")),
        _multipart(_A + b"\r--x\r" + _PART % (b"\r", b"\r")),
        _multipart(_A + b"--x\r\n" + _PART % (b"\r\n", b"\r\n")),
        _multipart(_A.replace(b'"a"', b'"a%22b"')),
        _multipart(_A.replace(b'"a"', '"é"'.encode())),
        _multipart(_A.replace(b'"a"', b'"a"; filename="b/c"')),
        _multipart(_A.replace(b'"a"', b'"a"; filename=""')),
        _multipart(_A.replace(b'"a"', b'"a"\r\nContent-Transfer-Encoding: base64').replace(b"\r\n1", b"\r\nMQ==")),
        _multipart(_A.replace(b'"a"', b'"a"\r\nContent-Type: application/octet-stream')),
        _multipart(_A.replace(b'"a"', b'"a"\r\nContent-Type: text/plain; charset=latin-1') + b"\xe9"),
        Case("form", _FORM, b"a=1;b=2"),
        Case("form", _FORM, b"a=" + b"1" * (1 << 20) + b"23"),
        Case("form", _FORM, b"&".join([b"a=1"] * 1001)),
        Case("form", f"{_FORM}; charset=latin-1", b"a=%E9"),
        Case("form", _FORM, b"?amount=1"),
        Case("query", "", b"a=1;b=2"),
        Case("query", "", b"%5Ba%5D=1"),
        Case("query", "", b"a=1&[a]=2"),
        Case("form", _FORM, b"%5Ba%5D=1"),
        Case("form", _FORM, b"a=1&a%5Bb%5D=2"),
        Case("form", _FORM, b"a%5Bb%5B%5D%5D=2"),
        Case("query", "", b"a=%E9"),
        Case("json", "application/json", b'{"a":9007199254740993}'),
        Case("json", "application/json", b'{"a":1} {"a":2}'),
        Case("json", "application/json", b'{"a":"\\ud800"}'),
        Case("content_type", "application/json, text/plain", b""),
        Case("content_type", "multipart/form-data; boundary=a; boundary=b", b""),
    ],
)
def test_what_servers_read_differently_is_refused(case: Case, outside: OutsideParsers) -> None:
    readings = read_in_python(case) | outside.read(case)
    assert len(set(readings.values())) > 1, "this case shows no difference any more"
    assert ours(case) is None


@pytest.mark.parametrize(
    "sent",
    [
        {"data": {"a": "1"}, "files": {"f": ("a b.txt", b"\r\n--\x00\xff", "text/plain")}},
        {"data": {"a": ["1", "2"], "user[name]": "é\n"}, "files": {"f": ("x.bin", b"")}},
        {"data": {"a": "1 &=+;%", "b": "é"}},
    ],
)
def test_what_a_common_client_sends_is_accepted(sent: dict[str, Any], outside: OutsideParsers) -> None:
    request = httpx.Request("POST", "http://h/", **sent)
    kind = "multipart" if "files" in sent else "form"
    assert assert_agreed(Case(kind, request.headers["content-type"], request.read()), outside)
