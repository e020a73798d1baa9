"""What is kept of a refused request: where it was for, and nothing secret."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.http import Headers, Request, RequestData

from addons.refused_call import refused_call
from headgate.kernel.canonical_json import canonical_bytes
from headgate.kernel.errors import AmbiguousRequestError, DestinationBlockedError, HeadgateError

BLOCKED = DestinationBlockedError("10.0.0.5 is a private address")
TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f0A"


def _data(path: bytes = b"/", host: str = "api.example.com", method: bytes = b"GET") -> RequestData:
    return Request(host, 443, method, b"https", b"", path, b"HTTP/1.1", Headers(), b"", None, 0, 0).data


def test_where_it_was_for() -> None:
    call = refused_call(_data(b"/v1/files?name=report.pdf&mode=x&name=y"), BLOCKED)
    assert call.shown() == {
        "method": "GET",
        "host": "api.example.com",
        "port": 443,
        "path": "/v1/files",
        "query": ["name", "mode"],
        "reason": "10.0.0.5 is a private address",
    }


def test_a_tunnel_has_no_path() -> None:
    assert "path" not in refused_call(_data(b"", method=b"CONNECT"), BLOCKED).shown()


@pytest.mark.parametrize(
    ("path", "host", "error"),
    [
        (f"/bot/{TOKEN}/send".encode(), "a.example", BLOCKED),
        (f"/x?{TOKEN}".encode(), "a.example", BLOCKED),
        (f"/x?k={TOKEN}".encode(), "a.example", BLOCKED),
        (f"/x?{TOKEN}=1".encode(), "a.example", BLOCKED),
        (f"/x#{TOKEN}".encode(), "a.example", BLOCKED),
        (b"/" + b"a" * 250 + f"/{TOKEN}".encode(), "a.example", BLOCKED),
        (b"/", f"{TOKEN}.a.example", BLOCKED),
        (b"/", "a.example", AmbiguousRequestError(f"the value {TOKEN} has two readings")),
    ],
)
def test_secrets_are_masked(path: bytes, host: str, error: HeadgateError) -> None:
    shown = str(refused_call(_data(path, host), error).shown())
    assert TOKEN not in shown
    assert TOKEN[:20] not in shown


def test_everything_is_short() -> None:
    path = b"/" + b"p" * 10_000 + b"?" + b"&".join(b"n%d" % number + b"m" * 100 + b"=v" for number in range(500))
    call = refused_call(_data(path, "h" * 10_000, b"M" * 1000), DestinationBlockedError("r" * 10_000))
    assert len(canonical_bytes(call.shown())) < 2_000


def test_what_cannot_be_seen_is_kept_for_those_who_show_it() -> None:
    call = refused_call(_data("/a\u202eb\r\n\x00\x1b[2J".encode() + b"\xff", "h\u202e"), BLOCKED)
    assert call.path == "/a\u202eb\r\n\\x00\x1b[2J\\xff"
    assert call.host == "h\u202e"


@given(st.binary(max_size=300), st.text(max_size=50), st.binary(min_size=1, max_size=20), st.text(max_size=100))
def test_any_request_can_be_recorded(path: bytes, host: str, method: bytes, reason: str) -> None:
    data: Any = _data(path, "x", method)
    data.host = host
    canonical = canonical_bytes(refused_call(data, AmbiguousRequestError(reason)).shown())
    assert b"\\u0000" not in canonical
