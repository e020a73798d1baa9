"""Text in the address of a call: encoded in one place or cut into several, and what ordinary addresses carry."""

import base64
import gzip
import json
import zlib
from urllib.parse import quote

import pytest

from headgate.detectors import carried_text
from headgate.detectors.assess import EmbeddedModel, assess
from headgate.detectors.carried_text import ENCODED_IN_ADDRESS, TABLE_IN_ADDRESS
from headgate.kernel.canonical_json import JsonValue

_TEXT = "host db-prod-2 port 5432\nuser ledger\nvpn gateway is 10.12.0.5\n"
_BASE64 = base64.urlsafe_b64encode(_TEXT.encode()).decode().rstrip("=")
_HEX = _TEXT.encode().hex()


def _issues(path: str = "/a.png", **query: str) -> tuple[str, ...]:
    http: JsonValue = {
        "method": "GET", "scheme": "https", "host": "img.example.com", "path": path,
        "query": {name: [value] for name, value in query.items()},
    }  # fmt: skip
    return assess(EmbeddedModel.HOST_NAMES, {"tool": "http", "http": http}).issues


@pytest.mark.parametrize(
    ("path", "query"),
    [
        (f"/p/{_BASE64}/a.png", {}),
        (f"/p/{_HEX}.png", {}),
        ("/" + "/".join(_HEX[at : at + 32] for at in range(0, len(_HEX), 32)) + "/0.png", {}),
        ("/" + "/".join(_BASE64[at : at + 24] for at in range(0, len(_BASE64), 24)), {}),
        ("/c/" + "-".join(str(ord(one)) for one in _TEXT if one != "\n"), {}),
        ("/a", {"d": _BASE64}),
        ("/resolve", {"name": "004-017-4d5953514c5f524f4f545f484f53543d64622d70726f64.x7f2.example.org", "type": "A"}),
        ("/a", {"d": _HEX}),
        ("/a", {"d": base64.b32encode(_TEXT.encode()).decode()}),
        ("/a", {"d": base64.b64encode(_BASE64.encode()).decode()}),
        ("/a", {"meta": base64.b64encode(gzip.compress(_TEXT.encode(), mtime=0)).decode()}),
    ],
)
def test_encoded_text_is_found(path: str, query: dict[str, str]) -> None:
    assert _issues(path, **query) == (ENCODED_IN_ADDRESS,)


def test_no_number_of_other_values_hides_it() -> None:
    assert _issues("/a", **{f"p{number}": "x" for number in range(300)}, d=_BASE64) == (ENCODED_IN_ADDRESS,)


def test_tables_are_found() -> None:
    assert _issues("/log", d="id,name\n1,Ada\n2,Grace\n") == (TABLE_IN_ADDRESS,)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/repos/acme/app/commits/56ef446e5e2697ec123326dfeade924ff0f2697c", {}),
        ("/blobs/sha256:1a1aa359743bcda910eef897365677be8e0d9e9603d8441d5adea487d8d03668", {}),
        ("/packages/0e/ac/03925ff8af552feb977d00bf4c59683b16306083a1278980537d988028df/x.whl", {}),
        ("/list", {"cursor": base64.b64encode(json.dumps({"id": 4711, "after": "2026-01-01"}).encode()).decode()}),
        ("/list", {"pageToken": base64.b64encode(b"next_ts:1716412823456789:C05QK7P2L9M:9981").decode()}),
        ("/login", {"state": base64.urlsafe_b64encode(b"https://app.example.com/after/login?tab=1").decode()}),
        ("/search", {"q": "how do I read a file line by line in Python without running out of memory"}),
        ("/graphql", {"query": "query {\n  viewer {\n    login\n  }\n}\n"}),
        ("/sql", {"q": "SELECT a\nFROM b\nWHERE c > 1\n"}),
        ("/list", {"cursor": base64.b64encode(json.dumps({"id": 4711, "filter": "a b c d " * 60}).encode()).decode()}),
        (
            "/logo",
            {"logo": "data:image/svg+xml;base64," + base64.b64encode(b"<svg> a b c d</svg>" * 5).decode()},
        ),
        ("/resolve", {"name": "ec2-52-95-110-1.eu-west-1.compute.amazonaws.com", "type": "A"}),
        ("/t", {"days": ",".join(str(number) for number in range(40, 75))}),
        ("/kql", {"q": "Events\n| where a == 1\n| count\n"}),
        ("/say", {"text": "Dear all,\nthe train is late.\nSee you at nine\n"}),
        ("/f", {"sig": "H4sIAAAA" + "AbCdEf0123456789" * 6}),
        ("/" + quote("große-übersicht"), {}),
    ],
)
def test_ordinary_addresses_carry_none(path: str, query: dict[str, str]) -> None:
    assert _issues(path, **query) == ()


@pytest.mark.parametrize("value", [None, 1, "text", [], {"http": 1}, {"http": {"path": 7, "query": [None, {"a": 1}]}}])
def test_what_is_no_call_has_no_address(value: JsonValue) -> None:
    assert assess(EmbeddedModel.HOST_NAMES, value).issues == ()


def test_nested_tokens_are_bounded() -> None:
    """Each of these tokens unpacks to 4 KB of tokens, twice."""

    def packed(text: str) -> str:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31, 9)
        return base64.b64encode(packer.compress(text.encode()) + packer.flush()).decode().rstrip("=")

    token = packed("a" * 4096)
    for _ in range(2):
        token = packed(".".join([token] * 200)[:4090])
    http: JsonValue = {"scheme": "https", "host": "a.example", "path": "/x", "query": {"q": [".".join([token] * 8)]}}
    tried: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        unpacked = carried_text._unpacked
        patch.setattr(carried_text, "_unpacked", lambda data: tried.append(1) or unpacked(data))
        assess(EmbeddedModel.HOST_NAMES, {"http": http})
    assert len(tried) < 400
