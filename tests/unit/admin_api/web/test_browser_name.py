"""A user agent in two words."""

import pytest

from admin_api.web.browser_name import browser_name

_LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
_MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (f"{_LINUX} Chrome/140.0.0.0 Safari/537.36", "Chrome 140, Linux"),
        (f"{_LINUX} HeadlessChrome/140.0.0.0 Safari/537.36", "Chrome 140, Linux"),
        (f"{_LINUX} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge 140, Linux"),
        (f"{_MAC} Version/18.1 Safari/605.1.15", "Safari 18, macOS"),
        ("Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0", "Firefox 140, Android"),
        ("Firefox/140.0", "Firefox 140"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("x" * 200, "x" * 39 + "…"),
        (None, "Unknown browser"),
    ],
)
def test_the_name(user_agent: str | None, name: str) -> None:
    assert browser_name(user_agent) == name
