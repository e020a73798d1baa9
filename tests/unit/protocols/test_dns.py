"""Queries of DNS over HTTPS: recognised in each form, read as dnspython reads them, and nothing else taken for one."""

import base64
import gzip

import dns.exception
import dns.message
import dns.name
import dns.rdatatype
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.canonical_json import JsonObject
from headgate.protocols.body import read_body
from headgate.protocols.dns import Question, is_answerable, read_question, recognise
from headgate.protocols.draft import make_read_call
from headgate.protocols.headers import read_headers
from headgate.protocols.http_call import HttpCall
from headgate.protocols.query import parse_pairs

QUERY = dns.message.make_query("www.Example.com", "AAAA", id=0).to_wire()
ENCODED = base64.urlsafe_b64encode(QUERY).rstrip(b"=").decode()
READ: JsonObject = {"form": "message", "name": "www.example.com", "type": "AAAA", "trailing_bytes": 0}
UNREAD: JsonObject = {"form": "message", "name": None, "type": None, "trailing_bytes": None}
MESSAGE = {"Content-Type": "application/dns-message"}


def _recognised(
    method: str = "GET",
    path: str = "/dns-query",
    query: str = "",
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    host: str = "resolver.example",
) -> JsonObject | None:
    raw = tuple((name.encode(), value.encode()) for name, value in (headers or {}).items())
    call = HttpCall(method, "https", host, 443, path, query, raw, body)
    read = read_headers(raw)
    read_call = make_read_call(
        call,
        path,
        parse_pairs(query, field="query"),
        read,
        read_body(body, read.content_type, read.content_encoding),
    )
    return recognise(read_call, read)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/dns-query", "/abc123", "/", "/users/7/dns-query"])
@pytest.mark.parametrize("padding", ["", "%3D", "="])
def test_a_query_in_the_address_is_one_at_any_path(method: str, path: str, padding: str) -> None:
    assert _recognised(method, path, f"dns={ENCODED}{padding}") == READ


@pytest.mark.parametrize("value", [f"{ENCODED[:9]}%0D%0A{ENCODED[9:]}", f"{ENCODED[:9]}%09{ENCODED[9:]}%3D%3D%3D"])
def test_what_lenient_decoders_take_is_a_query(value: str) -> None:
    assert _recognised(path="/any", query=f"dns={value}") == READ


def test_a_query_among_others_is_one_whose_question_is_unknown() -> None:
    assert _recognised(path="/any", query=f"dns=x&dns={ENCODED}") == UNREAD
    assert _recognised(query=f"dns={ENCODED}&name=secret.example.com") == UNREAD


@pytest.mark.parametrize("path", ["/dns-query", "/anything"])
def test_a_query_in_the_body_is_told_by_its_label(path: str) -> None:
    assert _recognised("POST", path, headers=MESSAGE, body=QUERY) == READ
    assert _recognised("POST", path, headers={"Content-Type": "Application/DNS-Message; v=1"}, body=QUERY) == READ


def test_at_the_address_of_a_resolver_no_label_is_needed() -> None:
    assert _recognised("POST", body=QUERY) == READ


@pytest.mark.parametrize("dns_value", ["", "x", "AAAA", "%C3%A9", f"{ENCODED}&dns={ENCODED}", ENCODED[:-8]])
def test_a_question_that_cannot_be_read_is_a_query_without_one(dns_value: str) -> None:
    assert _recognised(query=f"dns={dns_value}") == UNREAD
    assert _recognised(path="/q", query=f"dns={dns_value}", headers={"Accept": "application/dns-message"}) == UNREAD


def test_a_coded_body_is_not_read() -> None:
    assert _recognised("POST", headers=MESSAGE | {"Content-Encoding": "gzip"}, body=gzip.compress(QUERY)) == UNREAD


def test_an_oblivious_query_cannot_be_read() -> None:
    headers = {"Content-Type": "application/oblivious-dns-message"}
    assert _recognised("POST", "/proxy", headers=headers, body=QUERY) == UNREAD | {"form": "oblivious"}


@pytest.mark.parametrize(
    ("host", "path", "query", "headers"),
    [
        ("resolver.example", "/dns-query", "", {}),
        ("resolver.example", "/dns-query", "&ct=application/dns-json", {}),
        ("resolver.example", "/any", "", {"Accept": "text/html, Application/DNS-JSON"}),
        ("resolver.example", "/any", "&ct=application/dns-json", {}),
        ("dns.google", "/resolve", "", {}),
        ("8.8.8.8", "/resolve", "&do=1", {}),
    ],
)
def test_the_json_form_names_its_question(host: str, path: str, query: str, headers: dict[str, str]) -> None:
    recognised = _recognised(host=host, path=path, query="name=Www.Example.com.&type=28" + query, headers=headers)
    assert recognised == READ | {"form": "json", "trailing_bytes": None}


@pytest.mark.parametrize(
    ("query", "name", "kind"),
    [
        ("name=a.example", "a.example", "A"),
        ("name=a.example&type=txt", "a.example", "TXT"),
        ("name=a.example&type=1234", "a.example", "TYPE1234"),
        ("name=.", ".", "A"),
        ("name=", None, None),
        ("name=a&name=b", None, None),
        ("name=a&type=A&type=TXT", None, None),
        ("name=a&type=1%20OR%202", None, None),
        ("name=%C3%A9.example", None, None),
        (f"name={'a' * 256}", None, None),
    ],
)
def test_what_resolvers_of_the_json_form_are_asked(query: str, name: str | None, kind: str | None) -> None:
    assert _recognised(query=query) == {"form": "json", "name": name, "type": kind, "trailing_bytes": None}


@pytest.mark.parametrize(
    ("method", "path", "query", "headers", "body"),
    [
        ("GET", "/settings", "dns=1.1.1.1", {}, b""),
        ("GET", "/settings", f"dns={ENCODED[:-8]}", {}, b""),
        ("GET", "/resolve", "name=pkg", {}, b""),
        ("GET", "/users", "name=maria", {"Accept": "application/json"}, b""),
        ("GET", "/dns-query", "", {}, b""),
        ("GET", "/dns-query", "q=1", {}, b""),
        ("POST", "/upload", "", {"Content-Type": "application/octet-stream"}, QUERY),
        ("PUT", "/dns-query", "", MESSAGE, QUERY),
    ],
)
def test_every_other_call_is_none(method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> None:
    assert _recognised(method, path, query, headers, body) is None


_LABELS = st.lists(st.binary(min_size=1, max_size=63), max_size=4)


@given(labels=_LABELS, kind=st.integers(0, 65_535), edns=st.booleans(), padding=st.integers(0, 400))
def test_a_question_is_read_as_dnspython_wrote_it(labels: list[bytes], kind: int, edns: bool, padding: int) -> None:
    name = dns.name.Name([*labels, b""]) if sum(map(len, labels)) + len(labels) < 255 else dns.name.root
    message = dns.message.make_query(
        name, dns.rdatatype.RdataType.make(kind), use_edns=edns, pad=padding if edns else 0
    )
    wire = message.to_wire()
    question = read_question(wire)
    assert question is not None
    assert question.trailing_bytes == len(wire) - 12 - len(name.to_wire() or b"") - 4
    expected = name.to_text(omit_final_dot=True).lower() if labels and name != dns.name.root else "."
    # dnspython escapes more punctuation by a backslash alone: compare what the texts mean.
    assert dns.name.from_text(question.name) == dns.name.from_text(expected)
    assert dns.rdatatype.from_text(question.type) == kind


@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda rest: QUERY[:12] + rest))
def test_any_bytes_are_read_or_none_and_a_question_is_what_dnspython_reads(content: bytes) -> None:
    question = read_question(content)
    if question is None:
        return
    question_only = content[: len(content) - question.trailing_bytes]
    read = dns.message.from_wire(question_only, question_only=True)
    [asked] = read.question
    assert dns.name.from_text(question.name) == dns.name.from_text(asked.name.to_text().lower())


@pytest.mark.parametrize(
    "message",
    [
        QUERY[:2] + b"\x81" + QUERY[3:],
        QUERY[:2] + b"\x11" + QUERY[3:],
        QUERY[:4] + b"\0\2" + QUERY[6:],
        QUERY[:12] + b"\xc0\x0c" + QUERY[14:],
        QUERY[:12] + b"\x40" + b"a" * 64 + b"\0\0\1\0\1",
        QUERY[:12] + (b"\x3f" + b"a" * 63) * 4 + b"\0\0\1\0\1",
        QUERY[:-1],
        QUERY[:12],
        b"",
        QUERY + bytes(65_536),
    ],
    ids=["response", "status", "two", "pointer", "label", "long", "cut", "header", "empty", "huge"],
)
def test_what_is_no_standard_query_with_one_question_has_none(message: bytes) -> None:
    assert read_question(message) is None


_TYPE = b"\0\1\0\1"
_ANSWERABLE = {
    "pointer into the header": QUERY[:12] + b"\x06secret\x04evil\x03com\xc0\x04" + _TYPE,
    "pointer alone": QUERY[:12] + b"\xc0\x12" + _TYPE + b"\x04evil\x03com\0",
    "two": QUERY[:4] + b"\0\2" + QUERY[6:],
    "notify": QUERY[:2] + b"\x21" + QUERY[3:],
    "usual": QUERY,
}
_UNANSWERABLE = {
    "response": QUERY[:2] + b"\x81" + QUERY[3:],
    "none": QUERY[:4] + b"\0\0" + QUERY[6:],
    "circle": QUERY[:12] + b"\xc0\x0c" + _TYPE,
    "pointer behind the end": QUERY[:12] + b"\xc0\xff" + _TYPE,
    "pointer cut": QUERY[:12] + b"\x01a\xc0",
    "label": QUERY[:12] + b"\x40" + b"a" * 64 + b"\0" + _TYPE,
    "long": QUERY[:12] + (b"\x3f" + b"a" * 63) * 4 + b"\0" + _TYPE,
    "no class": QUERY[:12] + b"\x01a\xc0\x04\0\1",
    "header": QUERY[:12],
}


def _encoded(message: bytes) -> str:
    return base64.urlsafe_b64encode(message).rstrip(b"=").decode()


@pytest.mark.parametrize("message", _ANSWERABLE.values(), ids=_ANSWERABLE)
def test_what_a_resolver_answers_is_a_query_at_any_path(message: bytes) -> None:
    facts = READ if message == QUERY else UNREAD
    assert _recognised(path="/abc123", query=f"dns={_encoded(message)}") == facts
    assert _recognised(path="/abc123", query=f"dns=x&dns={_encoded(message)}") == UNREAD


@pytest.mark.parametrize("message", _UNANSWERABLE.values(), ids=_UNANSWERABLE)
def test_what_none_answers_is_no_query_elsewhere(message: bytes) -> None:
    assert _recognised(path="/abc123", query=f"dns={_encoded(message)}") is None


@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda rest: QUERY[:12] + rest))
def test_whatever_can_be_read_is_answerable_and_so_is_what_dnspython_reads(content: bytes) -> None:
    if read_question(content) is not None:
        assert is_answerable(content)
    try:
        [asked] = dns.message.from_wire(content, ignore_trailing=True, question_only=True).question
    except (dns.exception.DNSException, ValueError):
        return
    assert is_answerable(content) or content[2] & 0x80, asked


def test_a_dot_inside_a_label_is_no_boundary() -> None:
    assert read_question(QUERY[:12] + b"\x03a.b\x00\0\x01\0\x01") == Question("a\\046b", "A", 0)
