"""The quick look-ups answer, and raise, what mitmproxy's own do."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import http
from mitmproxy.coretypes import multidict

from proxy import fast_headers

_NAMES = st.one_of(
    st.sampled_from([b"Host", b"host", b"HOST", b"X-A", b"x-a", "Host", "x-a", "X-Ä", "\udc80"]), st.binary(max_size=4)
)
_FIELDS = st.lists(
    st.tuples(st.one_of(st.sampled_from([b"Host", b"host", b"X-A", b"\x80", "X-Ä".encode()]), st.binary(max_size=4)),
              st.binary(max_size=6)),
    max_size=6,
)  # fmt: skip


def _slow_get_all(headers: http.Headers, name: str | bytes) -> list[str]:
    """What ``Headers.get_all`` is made of, whatever other tests have put in its place."""
    values = multidict._MultiDict.get_all(headers, http._always_bytes(name))
    return [http._native(value) for value in values]


def outcome(run: Callable[[], object]) -> object:
    try:
        return run()
    except (KeyError, TypeError) as error:
        return type(error), str(error)


@given(_FIELDS, _NAMES)
def test_the_same_answers(fields: list[tuple[bytes, bytes]], name: str | bytes) -> None:
    headers = http.Headers(fields)
    values = _slow_get_all(headers, name)
    assert fast_headers.get_all(headers, name) == values
    assert fast_headers.get(headers, name, "none") == (", ".join(values) if values else "none")
    assert fast_headers.contains(headers, name) is bool(values)
    expected: object = ", ".join(values) if values else (KeyError, str(KeyError(name)))
    assert outcome(lambda: fast_headers.get_item(headers, name)) == expected


@pytest.mark.parametrize(
    "look_up", [fast_headers.get_all, fast_headers.get, fast_headers.get_item, fast_headers.contains]
)
def test_what_is_no_name(look_up: Callable[[http.Headers, object], object]) -> None:
    headers = http.Headers([(b"Host", b"a")])
    expected = outcome(lambda: _slow_get_all(headers, 5))  # type: ignore[arg-type]
    assert outcome(lambda: look_up(headers, 5)) == expected
