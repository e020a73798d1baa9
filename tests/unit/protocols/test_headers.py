"""Headers in their two selections: what an approval covers, and what policies see."""

import pytest

from headgate.configuration.yaml_document import parse_document
from headgate.kernel.errors import AmbiguousRequestError, ValidationError
from headgate.kernel.secrets import MASK
from headgate.protocols.headers import make_header_lists, read_headers, without_secrets


def test_selections() -> None:
    headers = read_headers(
        (
            (b"Host", b"api.example.com"),
            (b"User-Agent", b"agent/1"),
            (b"Authorization", b"Bearer x"),
            (b"X-Api-Key", b"sekret"),
            (b"X-Stainless-Retry-Count", b"1"),
            (b"Proxy-Connection", b"keep-alive"),
            (b"If-Match", b'"v1"'),
            (b"X-Many", b"1"),
            (b"x-many", b"2"),
            (b"X-Many", b"3"),
            (b"X-Latin", b"caf\xe9"),
            (b"Content-Type", b"application/json"),
        )
    )
    assert headers.covered == {
        "x-api-key": "sekret",
        "if-match": '"v1"',
        "x-many": ["1", "2", "3"],
        "x-latin": "café",
        "content-type": "application/json",
    }
    assert headers.shown == {
        **headers.covered,
        "host": "api.example.com",
        "user-agent": "agent/1",
        "authorization": MASK,
        "x-api-key": MASK,
        "x-stainless-retry-count": "1",
        "proxy-connection": "keep-alive",
    }
    assert headers.content_type == "application/json"
    assert headers.content_encoding is None
    assert "x-api-key" not in without_secrets(headers.covered)


@pytest.mark.parametrize("name", [b"X-HTTP-Method-Override", b"x-http-method", b"X-Method-Override"])
def test_method_overrides_are_refused(name: bytes) -> None:
    with pytest.raises(AmbiguousRequestError, match="overrides the method"):
        read_headers(((name, b"DELETE"),))


@pytest.mark.parametrize("name", [b"X-Original-URL", b"X-Rewrite-Url", b"x-forwarded-host"])
def test_headers_that_replace_the_target_are_refused(name: bytes) -> None:
    with pytest.raises(AmbiguousRequestError, match="overrides the URL or the host"):
        read_headers(((name, b"/admin"),))


@pytest.mark.parametrize("value", [b"host=evil.example", b"for=1.2.3.4;Host=evil.example", b'for=a, host = "b"'])
def test_a_forwarded_header_that_names_a_host_is_refused(value: bytes) -> None:
    """Rack 3 and Spring take it for the host of the request."""
    with pytest.raises(AmbiguousRequestError, match="overrides the URL or the host"):
        read_headers(((b"Forwarded", value),))


def test_a_forwarded_header_without_a_host_is_a_header() -> None:
    headers = read_headers(((b"Forwarded", b"for=192.0.2.1;proto=https;by=localhost"),))
    assert headers.covered == {"forwarded": "for=192.0.2.1;proto=https;by=localhost"}


@pytest.mark.parametrize(
    "name",
    [b"X_HTTP_Method_Override", b"X.HTTP.Method.Override", b"X-Original_URL", b"Content_Type", b"X~Rewrite!Url"],
)
def test_another_spelling_of_a_header_that_a_server_obeys_is_refused(name: bytes) -> None:
    """CGI, WSGI and PHP make one variable of all of them."""
    with pytest.raises(AmbiguousRequestError, match="with hyphens"):
        read_headers(((name, b"x"),))


def test_other_headers_have_any_spelling() -> None:
    assert read_headers(((b"X_Tenant", b"a"), (b"x.tenant", b"b"))).covered == {"x_tenant": "a", "x.tenant": "b"}


@pytest.mark.parametrize(
    "name", [b"Content-Type", b"Content-Encoding", b"Host", b"Content-Length", b"Authorization", b"Range"]
)
def test_repeated_headers_of_which_one_counts_are_refused(name: bytes) -> None:
    with pytest.raises(AmbiguousRequestError, match="more than once"):
        read_headers(((name, b"a"), (name.lower(), b"b")))


@pytest.mark.parametrize("name", [b"", b"a b", b"a:", b"\xc3\xa9", b"a\n"])
def test_names_are_tokens(name: bytes) -> None:
    with pytest.raises(AmbiguousRequestError):
        read_headers(((name, b""),))


@pytest.mark.parametrize("text", ["ignored_headers: [Date]", "ignored_prefixes: ['a b']", "ignored: [date]"])
def test_lists_that_could_never_match_are_refused(text: str) -> None:
    with pytest.raises(ValidationError, match=r"digest\.yaml\.ignored"):
        make_header_lists(
            parse_document(text, where="digest.yaml"), parse_document("headers: []", where="masking.yaml")
        )
