"""The probe of a container: what it asks, and what it says of the answer."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headgate.monitor.probe import main, where


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server for one connection: its port, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                asked.append(connection.recv(4096))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], asked
        thread.join(10)


@pytest.mark.parametrize(
    ("environment", "asked"),
    [
        ({}, ("127.0.0.1", 8470, "/ready")),
        ({"HEADGATE_API_HOST": "0.0.0.0", "HEADGATE_API_PORT": "9000"}, ("127.0.0.1", 9000, "/ready")),
        ({"HEADGATE_MONITOR_ADDRESS": "0.0.0.0:9470"}, ("127.0.0.1", 9470, "/readyz")),
        ({"HEADGATE_MONITOR_ADDRESS": "[::]:9470"}, ("::1", 9470, "/readyz")),
        ({"HEADGATE_MONITOR_ADDRESS": "proxy-monitor:9470"}, ("proxy-monitor", 9470, "/readyz")),
    ],
)
def test_it_asks_the_part_or_the_api(environment: dict[str, str], asked: tuple[str, int, str]) -> None:
    assert where(environment) == asked


def test_a_ready_part_is_healthy() -> None:
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nready\n") as (port, asked):
        assert main({"HEADGATE_MONITOR_ADDRESS": f"127.0.0.1:{port}"}) == 0
    assert asked[0].startswith(b"GET /readyz HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\ndraining\n", "503: draining"),
        (b"nonsense\r\n\r\n", "no answer"),
        (b"", "no answer"),
    ],
)
def test_another_answer_is_not_healthy(answer: bytes, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(answer) as (port, _):
        assert main({"HEADGATE_MONITOR_ADDRESS": f"127.0.0.1:{port}"}) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1", "127.0.0.1:http"])
def test_no_answer_and_no_address_are_not_healthy(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main({"HEADGATE_MONITOR_ADDRESS": address}) == 1
    assert "no answer" in capsys.readouterr().err
