"""Bodies, query strings and labels that look like what clients send, and then not quite."""

from hypothesis import strategies as st

from tests.parsers.readings import Case

_BOUNDARIES = ["x", "----WebKitFormBoundaryAbC123", "0123456789abcdef", "===1==", "a.b_c", "--", "x ", "a:b"]
_NAMES = [
    "a",
    "amount",
    "a[b]",
    "a b",
    "a.b",
    "A",
    "",
    "é",
    "a%22b",
    'a\\"b',
    "a'b",
    "a;b",
    "a&b",
    "&amp;",
    "a/b",
    "a\\b",
]
_NAMES += [
    "n" * 100,
    "n" * 101,
    " a",
    "a ",
    "=",
    "a=b",
    "*",
    "a\tb",
    "%41",
    "..",
    "a,b",
    "a:b",
    "(a)",
    "<a>",
    "UTF-8''a",
]
_FILE_NAMES = [*_NAMES, "f.txt", "../f", "C:\\f", "f" * 255, "f" * 256, ".", "a.tar.gz", "@f", "{f}", "f~1"]
_VALUES = [
    b"1",
    b"",
    b"1000",
    b"a\r\nb",
    b"a\nb",
    b"\r\n",
    b"\n",
    b"\r",
    b"--",
    b"--x",
    b"\n--x\n",
    b"\r--x\r",
    b" --x",
]
_VALUES += ["é".encode(), b"\xe9", b"\xef\xbb\xbf1", b"\x00", b"\t1 ", b"=?utf-8?q?1?=", b"a=1&b=2", b'{"a":1}']
_TYPES = [None, "text/plain", "text/plain; charset=utf-8", "text/plain; charset=latin-1", "application/json"]
_TYPES += ["application/octet-stream", "image/png", "multipart/mixed; boundary=y", "text/plain; charset=utf-7", "x"]
_HEADERS = ["Content-Transfer-Encoding: base64", "Content-Transfer-Encoding: binary", "Content-Length: 1", "X-A: b"]
_HEADERS += [
    "Content-Transfer-Encoding: quoted-printable",
    "Content-Type: text/html",
    " folded",
    "X_A: b",
    "MIME-Version: 1.0",
]
_HEADERS += [
    'Content-Disposition: form-data; name="z"',
    "Content-Disposition: attachment",
    "X: \x00",
    "a",
    ":",
    "X-É: 1",
]
_FRAGMENTS = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\n\n",
    b"--",
    b"-",
    b":",
    b";",
    b'"',
    b"\\",
    b" ",
    b"\t",
    b"\x00",
    b"\xff",
]
_FRAGMENTS += [
    b"%22",
    b"%0a",
    b"--x",
    b"--x--",
    b"\r\n--x\r\n",
    b"\n--x\n",
    b"\r\n--x--\r\n",
    b"name=",
    b"name*=utf-8''y",
]
_FRAGMENTS += [
    b"filename=",
    b'; filename="f"',
    b"; filename*=utf-8''f",
    b"; filename*0=f",
    b"\x0b",
    b"\x0c",
    b"\xc2\x85",
]
_FRAGMENTS += [b'\r\nContent-Disposition: form-data; name="z"\r\n\r\n1', b"Content-Type: text/plain", b"="]

_TEXT_PIECES = [
    "a",
    "b",
    "amount",
    "1",
    "1000",
    "=",
    "&",
    "&&",
    "==",
    "+",
    "%20",
    "%2B",
    "%26",
    "%3D",
    "%3B",
    ";",
    "%",
    "%4",
]
_TEXT_PIECES += [
    "%00",
    "%C3%A9",
    "%E9",
    "%ED%A0%80",
    "%C0%80",
    "é",
    "[",
    "]",
    "[]",
    "%5B",
    "?",
    "/",
    " ",
    "#",
    "\t",
    ".",
]
_TEXT_PIECES += [
    "_charset_=latin-1",
    "a=1&a=2",
    "%0D%0A",
    "%EF%BB%BF",
    "'",
    "\\",
    "%5C",
    "!",
    "~",
    "*",
    "n" * 101,
    "constructor",
]

_JSON_PIECES = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"a"',
    '"amount"',
    "1",
    "1000",
    "-0",
    "0.1",
    "1e2",
    "1E400",
    "1e-400",
    "true",
]
_JSON_PIECES += [
    "null",
    "9007199254740993",
    "9007199254740992",
    "12345678901234567890",
    "1e22",
    "NaN",
    "Infinity",
    "// c\n",
]
_JSON_PIECES += [
    "/* c */",
    '"\\u0061"',
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"é"',
    "\ufeff",
    " ",
    "\n",
    "\x0b",
    "01",
    "+1",
    ".5",
    "1.",
]
_JSON_PIECES += [
    "'a'",
    "a",
    '"\\x"',
    '"\t"',
    '"__proto__"',
    '"\\u0000"',
    '{"a":1}',
    '{"a":1,"a":2}',
    ',"a":2',
    "0x10",
    "1_0",
]

_LABELS = [
    "application/json",
    "text/plain",
    "multipart/form-data",
    ";",
    ",",
    " ",
    "charset=utf-8",
    "charset=utf-16",
    "=",
]
_LABELS += [
    "charset",
    '"utf-8"',
    "charset='utf-8'",
    'charset="utf-8"',
    "boundary=x",
    'boundary="x"',
    'boundary="a;b"',
    "\t",
]
_LABELS += [
    "boundary*=utf-8''x",
    "boundary*0=x",
    'boundary="a\\"b"',
    "Boundary=y",
    "CHARSET=UTF-8",
    "é",
    '"',
    "\\",
    "/",
    "json",
]


def _mostly[T](plain: list[T], odd: list[T]) -> st.SearchStrategy[T]:
    """So that much is accepted: one odd thing among plain ones is what finds a difference."""
    return st.integers(0, 7).flatmap(lambda one: st.sampled_from(odd if one == 0 else plain))


def _mutated(draw: st.DrawFn, body: bytes) -> bytes:
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(body)))
        to = at + draw(st.sampled_from([0, 0, 0, 1, 2]))
        body = body[:at] + draw(st.sampled_from(_FRAGMENTS)) + body[to:]
    return body


@st.composite
def multipart_cases(draw: st.DrawFn) -> Case:
    boundary = draw(_mostly(_BOUNDARIES[:5], _BOUNDARIES))
    delimiter = b"--" + boundary.encode()
    body = b""
    for _ in range(draw(st.integers(1, 3))):
        head = f'Content-Disposition: form-data; name="{draw(_mostly(_NAMES[:6], _NAMES))}"'
        if draw(st.booleans()):
            head += f'; filename="{draw(_mostly(["f.txt", "a b.png"], _FILE_NAMES))}"'
        lines = [head]
        if (content_type := draw(_mostly(_TYPES[:3], _TYPES))) is not None:
            lines.append(f"Content-Type: {content_type}")
        if draw(st.integers(0, 7)) == 0:
            lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(_HEADERS)))
        body += (
            delimiter
            + b"\r\n"
            + "\r\n".join(lines).encode()
            + b"\r\n\r\n"
            + draw(_mostly(_VALUES[:6], _VALUES))
            + b"\r\n"
        )
    body = _mutated(draw, body + delimiter + b"--" + draw(st.sampled_from([b"\r\n", b""])))
    written = draw(st.sampled_from([f"boundary={boundary}", f'boundary="{boundary}"']))
    charset = draw(_mostly([""], ["; charset=utf-8", "; charset=latin-1", "; charset=utf-7"]))
    return Case("multipart", f"multipart/form-data; {written}{charset}", body)


def _joined(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=9).map("".join)


def _members_text() -> st.SearchStrategy[str]:
    word = st.lists(_mostly(["a", "b", "1", "+", "%20", "%26", "%C3%A9"], _TEXT_PIECES), max_size=3).map("".join)
    member = st.tuples(word, st.sampled_from(["=", "=", "=", "", "=="]), word).map("".join)
    return st.one_of(_joined(_TEXT_PIECES), st.lists(member, max_size=4).map("&".join))


def _members(kind: str, charset: st.SearchStrategy[str]) -> st.SearchStrategy[Case]:
    return st.builds(
        lambda text, label: Case(kind, f"application/x-www-form-urlencoded{label}", text.encode()),
        _members_text(),
        charset,
    )


def form_cases() -> st.SearchStrategy[Case]:
    return _members("form", _mostly([""], ["; charset=utf-8", "; charset=latin-1", "; charset=utf-7"]))


def query_cases() -> st.SearchStrategy[Case]:
    return _members("query", st.just(""))


def json_cases() -> st.SearchStrategy[Case]:
    plain = ["1", '"a"', "null", "true", '"é"', "[]", "0.1", '{"a":1}', "9007199254740992", "-0"]
    values = st.recursive(
        _mostly(plain, _JSON_PIECES), lambda inner: st.lists(inner, max_size=3).map(lambda one: f"[{','.join(one)}]")
    )
    objects = st.lists(
        st.tuples(_mostly(['"a"', '"amount"', '"b"', '"__proto__"'], _JSON_PIECES), values), max_size=3
    ).map(lambda members: "{" + ",".join(f"{name}:{value}" for name, value in members) + "}")
    return st.one_of(_joined(_JSON_PIECES), values, objects).map(
        lambda text: Case("json", "application/json", text.encode())
    )


def content_type_cases() -> st.SearchStrategy[Case]:
    starts = st.sampled_from(["application/json", "text/plain", "multipart/form-data", "Application/JSON", "a/b", ""])
    odd = st.tuples(starts, _joined(_LABELS)).map("".join)
    parameter = st.sampled_from([one for one in _LABELS if "=" in one] + ["q=1", "version=2"])
    plain = st.tuples(starts, st.lists(parameter, max_size=2)).map(lambda pair: "; ".join([pair[0], *pair[1]]))
    return st.one_of(odd, plain).map(lambda text: Case("content_type", text, b""))
