"""Hosts have one spelling and targets one meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addons.wellformed import canonical_host, check_authority, check_fields, check_target
from headgate.kernel.errors import AmbiguousRequestError, HeadgateError, PayloadTooLargeError


@pytest.mark.parametrize(
    ("host", "canonical"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.Com", "example.com"),
        ("a_b.example", "a_b.example"),
        ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example"),
        ("münchen.example", "xn--mnchen-3ya.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2606:4700:0::1111", "2606:4700::1111"),
        ("localhost", "localhost"),
        ("1password.com", "1password.com"),
    ],
)
def test_canonical_host(host, canonical) -> None:
    assert canonical_host(host) == canonical
    assert canonical_host(canonical) == canonical


@pytest.mark.parametrize(
    "host",
    [
        "",
        "example.com.",
        ".example.com",
        "a..b",
        "-a.example",
        "a b",
        "a/b",
        "a@b",
        "a%2eb",
        "127.1",
        "0",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "::ffff:127.0.0.1",
        "64:ff9b::1.2.3.4",
        "::g",
        "straße.de",
        "a" * 64 + ".example",
        "a." * 127 + "a",
        "\ud800.example",
        "①②⑦.0.0.1",
    ],
)
def test_hosts_with_several_readings(host) -> None:
    with pytest.raises(AmbiguousRequestError):
        canonical_host(host)


@given(st.text(max_size=40))
def test_a_canonical_host_is_stable_or_refused(host) -> None:
    try:
        canonical = canonical_host(host)
    except HeadgateError:
        return
    assert canonical.isascii()
    assert canonical_host(canonical) == canonical


@pytest.mark.parametrize(
    "target",
    [
        b"/",
        b"/a",
        b"/a/b?c=d",
        b"/a?b=/../c%2F",
        b"/a.b/..c/d..",
        b"/a%20b",
        b"/a//b",
        b"/a%2fb",
        b"/@a%2Fb%2fc",
        b"/~a;b=c",
        b"/a?b?c",
        b"/....",
    ],
)
def test_targets_that_pass(target) -> None:
    check_target(target, max_bytes=100)


@pytest.mark.parametrize(
    "target",
    [
        b"",
        b"*",
        b"a",
        b"http://x/",
        b"/..",
        b"/.",
        b"/a/.",
        b"/a/./b",
        b"/a/../b",
        b"/%2e%2e/b",
        b"/.%2E/b",
        b"/a/..;b/c",
        b"/..?x",
        b"/a%5Cb",
        b"/a%00b",
        b"/a%",
        b"/a%2",
        b"/a%gg",
        b"/a#b",
        b"/a\\b",
        b"/a b",
        b"/a\tb",
        b"/a\r\nb",
        b"/\x00",
        b"/\xc3\xa9",
        b"/a?b#c",
        b"/a?b c",
        b"/a?\x7f",
    ],
)
def test_targets_with_several_readings(target) -> None:
    with pytest.raises(AmbiguousRequestError):
        check_target(target, max_bytes=100)


def test_length_of_the_target() -> None:
    check_target(b"/" + b"a" * 99, max_bytes=100)
    with pytest.raises(PayloadTooLargeError):
        check_target(b"/" + b"a" * 100, max_bytes=100)


@pytest.mark.parametrize(
    ("written", "host", "port", "scheme", "same"),
    [
        (b"example.com", "example.com", 443, "https", True),
        (b"example.com:443", "example.com", 443, "https", True),
        (b"EXAMPLE.com", "example.com", 443, "https", True),
        (b"example.com:8443", "example.com", 8443, "https", True),
        (b"[::1]:8443", "::1", 8443, "https", True),
        (b"[0:0::1]:8443", "::1", 8443, "https", True),
        (b"example.com", "example.com", 80, "http", True),
        (b"example.com", "example.com", 443, "http", False),
        (b"example.com", "example.com", 8443, "https", False),
        (b"example.com:443", "example.com", 80, "http", False),
        (b"a.example.com", "example.com", 443, "https", False),
        (b"", "example.com", 443, "https", False),
        (b"example.com:", "example.com", 443, "https", False),
        (b"example.com, example.com", "example.com", 443, "https", False),
        (b"example.com/", "example.com", 443, "https", False),
        (b"a@example.com", "example.com", 443, "https", False),
    ],
)
def test_authority(written, host, port, scheme, same) -> None:
    try:
        check_authority(written, host=host, port=port, scheme=scheme, what="the Host header")
    except AmbiguousRequestError:
        assert not same
    else:
        assert same


def test_fields_that_are_looked_at() -> None:
    seen = check_fields(
        [(b"HOST", b"a"), (b"X-Other", b"b"), (b"Connection", b"close"), (b"connection", b"te")],
        max_count=10,
        max_bytes=1000,
    )
    assert seen == {b"host": b"a", b"connection": b"close,te"}


@pytest.mark.parametrize("value", [b"a\rb", b"a\nb", b"a\0b", b"a\x1bb", b"a\x7fb", b"a\r\n b"])
def test_control_characters_in_values(value) -> None:
    with pytest.raises(AmbiguousRequestError):
        check_fields([(b"a", value)], max_count=10, max_bytes=1000)


def test_tab_and_obs_text_are_legal() -> None:
    check_fields([(b"a", b"b\tc"), (b"d", b"\xe9")], max_count=10, max_bytes=1000)


@pytest.mark.parametrize(("count", "size"), [(11, 1), (1, 1000)])
def test_too_many_or_too_large(count, size) -> None:
    with pytest.raises(PayloadTooLargeError):
        check_fields([(b"a", b"b" * size)] * count, max_count=10, max_bytes=1000)
