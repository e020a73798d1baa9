"""One spelling of a host and a path; what servers read differently is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kernel.errors import AmbiguousRequestError
from headgate.protocols.http_call import check_method, normalise_host, normalise_path

_SEGMENT_CHARACTERS = "abzABZ019-._~!$&'()*+,;=:@"
_SEGMENTS = st.lists(
    st.text(_SEGMENT_CHARACTERS, min_size=1, max_size=6).filter(lambda one: one.partition(";")[0] not in (".", "..")),
    max_size=5,
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("//", "/"),
        ("/a", "/a"),
        ("/a/", "/a"),
        ("//a///b//", "/a/b"),
        ("/%61", "/a"),
        ("/%7Euser", "/~user"),
        ("/a%20b", "/a%20b"),
        ("/%e2%82%ac", "/%E2%82%AC"),
        ("/%2d%2E%5f", "/-._"),
        ("/.github/x", "/.github/x"),
        ("/...", "/..."),
        ("/a%3Fb", "/a%3Fb"),
        ("/a:b@c;d=e,f", "/a:b@c;d=e,f"),
        ("/%252e%252e", "/%252e%252e"),
    ],
)
def test_paths_have_one_spelling(path: str, expected: str) -> None:
    assert normalise_path(path) == expected
    assert normalise_path(expected) == expected


@pytest.mark.parametrize("path", ["/a%2Fb", "/a%2fb", "/%61%2fb"])
def test_an_encoded_slash_stays_where_the_server_keeps_it(path: str) -> None:
    assert normalise_path(path, encoded_slashes=True) == "/a%2Fb"


@pytest.mark.parametrize("path", ["/a%2F..%2Fb", "/a%2f%2e%2e", "/..%2Fa", "/a%2F..;x%2Fb", "/a%5Cb", "/a%00"])
def test_dot_segments_between_encoded_slashes_are_refused(path: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        normalise_path(path, encoded_slashes=True)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "*",
        "http://x/",
        "/a%2Fb",
        "/a%2fb",
        "/a%5Cb",
        "/a\\b",
        "/../a",
        "/a/..",
        "/a/./b",
        "/.",
        "/%2e%2e/a",
        "/%2E/a",
        "/.%2e/a",
        "/..;/admin",
        "/a/..;x=1/b",
        "/%",
        "/%g0",
        "/%u002f",
        "/%0",
        "/%00",
        "/%0a",
        "/%7f",
        "/%ff",
        "/%c0%af",
        "/%ed%a0%80",
        "/a b",
        "/a?b",
        "/a#b",
        "/é",
        "/a\n",
        '/"',
        "/[a]",
    ],
)
def test_ambiguous_paths_are_refused(path: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        normalise_path(path)


@given(_SEGMENTS)
def test_different_resources_stay_different(segments: list[str]) -> None:
    """What is folded is empty segments alone: the segments come back as they were."""
    path = "/" + "/".join(segments)
    assert normalise_path(path) == path
    assert normalise_path("/" + "//".join(segments) + "/") == path


@given(_SEGMENTS, st.data())
def test_encoding_what_needs_none_changes_nothing(segments: list[str], data: st.DataObject) -> None:
    unreserved = set(_SEGMENT_CHARACTERS) - set("!$&'()*+,;=:@")
    path = "/" + "/".join(segments)
    rewritten = "".join(f"%{ord(one):02x}" if one in unreserved and data.draw(st.booleans()) else one for one in path)
    assert normalise_path(rewritten) == path


@given(st.text(max_size=30) | st.text("/%.2eEfF5cCaé;\\", max_size=20).map(lambda text: "/" + text))
def test_normalising_is_idempotent_and_raises_nothing_else(path: str) -> None:
    try:
        once = normalise_path(path)
    except AmbiguousRequestError:
        return
    assert normalise_path(once) == once
    assert not set(once.split("/")) & {".", ".."}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("API.GitHub.com", "api.github.com"),
        ("api.github.com.", "api.github.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("a_b.example", "a_b.example"),
    ],
)
def test_hosts_have_one_spelling(host: str, expected: str) -> None:
    assert normalise_host(host) == expected
    assert normalise_host(expected) == expected


@pytest.mark.parametrize(
    "host",
    [
        *("", ".", "a..b", "bücher.example", "127.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "010.0.0.1"),
        *(
            "1.2.3.4.5",
            "a b",
            "a/b",
            "user@host",
            "host:80",
            "::ffff:zz",
            "a\n",
            "a" * 64,
            ".".join(["a" * 60] * 5),
            "%61.example",
        ),
    ],
)
def test_ambiguous_hosts_are_refused(host: str) -> None:
    with pytest.raises(AmbiguousRequestError):
        normalise_host(host)


@pytest.mark.parametrize("method", ["", "get", "Delete", "GET ", "GE T", "ÄÖ", "A" * 33, "GET\n"])
def test_methods_are_upper_case(method: str) -> None:
    check_method("M-SEARCH")
    with pytest.raises(AmbiguousRequestError):
        check_method(method)
