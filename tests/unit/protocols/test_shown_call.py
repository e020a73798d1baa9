import pytest

from headgate.protocols.shown_call import shown_authority, shown_method


@pytest.mark.parametrize(
    ("scheme", "port", "shown"),
    [
        ("https", 443, "api.example.com"),
        ("http", 80, "api.example.com"),
        ("https", 8443, "api.example.com:8443"),
        ("https", 80, "api.example.com:80"),
        ("http", 443, "api.example.com:443"),
        ("ftp", 21, "api.example.com:21"),
        (None, 443, "api.example.com"),
        (None, 80, "api.example.com"),
        (None, 8080, "api.example.com:8080"),
        ("https", None, "api.example.com"),
    ],
)
def test_a_port_is_shown_unless_it_is_the_schemes(scheme: str | None, port: int | None, shown: str) -> None:
    assert shown_authority(scheme, "api.example.com", port) == shown


@pytest.mark.parametrize(
    ("tool", "operation", "shown"),
    [
        ("websocket", "send", "message"),
        ("websocket", "connect", "GET"),
        ("http", "send", "GET"),
        ("mail", "send", "GET"),
    ],
)
def test_a_message_is_no_get(tool: str, operation: str, shown: str) -> None:
    assert shown_method(tool, operation, "GET") == shown
