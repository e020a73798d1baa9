"""Which address counts as a client's behind reverse proxies: the first from the right that is not one of ours."""

from ipaddress import ip_network

import pytest

from admin_api.forwarded import ForwardedHeader, TrustedProxies

OURS = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def located(client: tuple[str, int] | None, *lines: str, header: ForwardedHeader, networks=OURS) -> str | None:
    scope = {"type": "http", "client": client, "headers": [(header.encode(), line.encode()) for line in lines]}
    TrustedProxies(networks, header).locate(scope)
    return None if scope["client"] is None else scope["client"][0]


@pytest.mark.parametrize(
    ("client", "lines", "found"),
    [
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.66, 198.51.100.7"], "198.51.100.7"),  # the left one is what the client wrote
        ("10.0.0.1", ["203.0.113.66, 198.51.100.7, 10.9.9.9"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.66", "198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["10.1.1.1, 10.2.2.2"], "10.1.1.1"),  # all ours: the farthest of them
        ("10.0.0.1", ["198.51.100.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7, <script>, 10.9.9.9"], "10.9.9.9"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", ["1.1.1.1," * 2000], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.66, " * 1000 + "198.51.100.7"], "198.51.100.7"),  # nobody hides behind much
        ("10.0.0.1", ["1" * 9000], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.1", ["2001:db8::7"], "2001:db8::7"),
        ("10.0.0.1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("fd00::1", ["::ffff:198.51.100.7"], "198.51.100.7"),
        ("192.0.2.9", ["198.51.100.7"], "192.0.2.9"),  # who is no proxy of ours may write what they like
    ],
)
def test_the_first_from_the_right_that_is_no_proxy_of_ours(client: str, lines: list[str], found: str) -> None:
    assert located((client, 1), *lines, header=ForwardedHeader.X_FORWARDED_FOR) == found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["for=198.51.100.7"], "198.51.100.7"),
        (['for=203.0.113.66, For="[2001:db8::7]:4711";proto=https;by=10.0.0.9'], "2001:db8::7"),
        (["for=198.51.100.7;for=203.0.113.66"], "10.0.0.1"),
        (["proto=https"], "10.0.0.1"),
        (["for=203.0.113.66, " * 1000 + "for=198.51.100.7"], "198.51.100.7"),
        (["for=198.51.100.7, for=_hidden"], "10.0.0.1"),
        (["for=198.51.100.7, for=10.3.3.3"], "198.51.100.7"),
    ],
)
def test_the_header_of_rfc_7239(lines: list[str], found: str) -> None:
    assert located(("10.0.0.1", 1), *lines, header=ForwardedHeader.FORWARDED) == found


def test_nothing_is_read_where_no_proxy_is_trusted_and_where_the_server_names_no_client() -> None:
    assert located(("10.0.0.1", 1), "198.51.100.7", header=ForwardedHeader.X_FORWARDED_FOR, networks=()) == "10.0.0.1"
    assert located(None, "198.51.100.7", header=ForwardedHeader.X_FORWARDED_FOR) is None


def test_the_other_header_says_nothing() -> None:
    scope = {"type": "http", "client": ("10.0.0.1", 1), "headers": [(b"forwarded", b"for=203.0.113.66")]}
    TrustedProxies(OURS, ForwardedHeader.X_FORWARDED_FOR).locate(scope)
    assert scope["client"][0] == "10.0.0.1"
