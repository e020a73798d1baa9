"""What the doctor says of the operator's proxy, asked over a real connection."""

import asyncio
import socket

import pytest

from headgate.cli import upstream_probe
from headgate.cli.diagnosis import check_variables
from headgate.cli.finding import Finding, Verdict
from tests.forward_proxy import forward_proxy

OUT_OF_REACH = b"HTTP/1.1 502 Bad Gateway\r\n\r\n"


@pytest.fixture(autouse=True)
def resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name server outside."""
    monkeypatch.setattr(upstream_probe, "_PUBLIC_NAME", "localhost")


async def findings(url: str, **settings: str) -> list[Finding]:
    """Of the upstream proxy, without that of the settings."""
    environment = {"HEADGATE_UPSTREAM_PROXY_URL": url, **settings}
    return (await asyncio.to_thread(lambda: list(check_variables(environment))))[1:]


async def test_a_proxy_that_answers_connect_and_takes_the_credentials() -> None:
    async with forward_proxy() as proxy:
        proxy.credentials, proxy.answer = "user:p@ss", OUT_OF_REACH
        connection, resolution = await findings(f"http://user:p%40ss@127.0.0.1:{proxy.port}")
    assert connection == Finding(
        Verdict.OK,
        f"the upstream proxy at 127.0.0.1:{proxy.port} answers CONNECT, and accepts its user and password",
    )
    assert resolution.verdict is Verdict.OK
    assert proxy.asked == ["headgate.invalid:443"], "nobody is called"


@pytest.mark.parametrize(
    ("user", "said"),
    [("", "asks for a user and a password (407)"), ("user:wrong@", "does not accept the user and password")],
)
async def test_credentials_that_are_missing_or_refused(user: str, said: str) -> None:
    async with forward_proxy() as proxy:
        proxy.credentials = "user:right"
        connection, _ = await findings(f"http://{user}127.0.0.1:{proxy.port}")
    assert connection.verdict is Verdict.WRONG
    assert said in connection.text
    assert "wrong" not in connection.text, "a password is shown to nobody"


async def test_a_server_that_opens_no_tunnels() -> None:
    async with forward_proxy() as proxy:
        proxy.answer = b"HTTP/1.1 405 Method Not Allowed\r\n\r\n"
        connection, _ = await findings(f"http://127.0.0.1:{proxy.port}")
    assert connection.verdict is Verdict.WRONG
    assert "(405 to CONNECT)" in connection.text


async def test_a_proxy_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_probe, "_SECONDS", 0.2)
    async with forward_proxy() as proxy:
        proxy.answer = b""
        connection, _ = await findings(f"http://127.0.0.1:{proxy.port}")
    assert connection.verdict is Verdict.WRONG
    assert "did not answer within 0.2 s" in connection.text


async def test_a_proxy_that_is_not_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    connection, _ = await findings(f"http://127.0.0.1:{port}")
    assert connection.verdict is Verdict.WRONG
    assert "takes no connection" in connection.text
    assert f"127.0.0.1:{port}" in connection.text


async def test_who_resolves_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_probe, "_PUBLIC_NAME", "headgate.invalid")
    async with forward_proxy() as proxy:
        proxy.answer = OUT_OF_REACH
        url = f"http://127.0.0.1:{proxy.port}"
        _, here = await findings(url)
        _, there = await findings(url, HEADGATE_UPSTREAM_PROXY_RESOLUTION="proxy")
    assert here.verdict is Verdict.WRONG
    assert "HEADGATE_UPSTREAM_PROXY_RESOLUTION=proxy" in here.text
    assert there == Finding(Verdict.OK, "the upstream proxy resolves names (HEADGATE_UPSTREAM_PROXY_RESOLUTION=proxy)")


async def test_without_a_proxy_nothing_is_said() -> None:
    assert [one.text for one in check_variables({})] == ["the settings are readable"]
