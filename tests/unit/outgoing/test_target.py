"""Where a URL leads, and which are refused."""

import pytest

from headgate.kernel.errors import ValidationError
from headgate.outgoing.target import Target, parse_target


@pytest.mark.parametrize(
    ("url", "expected", "authority"),
    [
        ("https://Example.COM", Target("https", "example.com", 443, b"/"), "example.com"),
        ("https://example.com:443/a", Target("https", "example.com", 443, b"/a"), "example.com"),
        ("http://example.com:8080/a?b=c", Target("http", "example.com", 8080, b"/a?b=c"), "example.com:8080"),
        ("https://example.com?b", Target("https", "example.com", 443, b"/?b"), "example.com"),
        ("https://example.com/%2e%2E/x", Target("https", "example.com", 443, b"/%2e%2E/x"), "example.com"),
        ("https://[2001:DB8::1]:8443/", Target("https", "2001:db8::1", 8443, b"/"), "[2001:db8::1]:8443"),
        ("http://10.0.0.1/", Target("http", "10.0.0.1", 80, b"/"), "10.0.0.1"),
        ("https://bücher.example/", Target("https", "xn--bcher-kva.example", 443, b"/"), "xn--bcher-kva.example"),
    ],
)
def test_read(url: str, expected: Target, authority: str) -> None:
    assert parse_target(url) == expected
    assert expected.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/x",
        "ftp://example.com/",
        "file:///etc/passwd",
        "https://user:secret@example.com/",
        "https://example.com@10.0.0.1/",
        "https://example.com\\@10.0.0.1/",
        "https://example.com/#fragment",
        "https://example.com/a b",
        "https://example.com/ä",
        "https://example.com:70000/",
        "https://example.com:22/",
        "https://example.com:0/",
        "https:///path",
        "https://exa mple.com/",
        "https://[fe80::1%25eth0]/",
        "https://[::1/",
        "https://" + "a" * 64 + ".example/",
        "https://example.com/" + "a" * 4096,
    ],
)
def test_refused(url: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_target(url)
    assert refused.value.details is not None
    assert refused.value.details["field"] == "url"
    assert "secret" not in refused.value.message
