"""Ports are settled before anything is started."""

import os
import socket

import pytest

from headgate.kernel.errors import ConflictError, UnavailableError
from headgate.runtime.listening import listens_on
from headgate.runtime.ports import keep_port

WORDS = {"what": "API", "option": "--api-port", "variable": "HEADGATE_API_PORT"}


def test_zero_is_any_that_is_free() -> None:
    with keep_port("127.0.0.1", 0, **WORDS) as kept:
        port = kept.getsockname()[1]
    assert 0 < port < 65536
    with keep_port("127.0.0.1", port, **WORDS) as kept:
        assert kept.getsockname()[1] == port


@pytest.mark.parametrize("option", [socket.SO_REUSEADDR, socket.SO_REUSEPORT])
def test_a_kept_port_is_there_for_who_listens_and_for_nobody_else(option: int) -> None:
    """The kernel gave one port to two parts that had asked for any, the second when the first had closed its own."""
    with keep_port("127.0.0.1", 0, **WORDS) as kept, socket.socket() as part, socket.socket() as other:
        with pytest.raises(OSError, match="in use"):
            other.bind(kept.getsockname())
        part.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        part.setsockopt(socket.SOL_SOCKET, option, 1)
        part.bind(kept.getsockname())
        part.listen()
        with socket.create_connection(kept.getsockname(), 5), part.accept()[0]:
            pass


@pytest.mark.parametrize("option", [socket.SO_REUSEADDR, socket.SO_REUSEPORT])
def test_a_taken_port_is_named_with_what_to_do(option: int) -> None:
    """SO_REUSEPORT: another instance's proxy would share its port gladly, and its callers with it."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, option, 1)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConflictError, match=rf"port {port} .* is in use .*--api-port or HEADGATE_API_PORT"):
            keep_port("127.0.0.1", port, **WORDS)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(UnavailableError, match=r"192\.0\.2\.1 port 0, for the API, cannot be listened on"):
        keep_port("192.0.2.1", 0, **WORDS)


def test_who_listens_is_asked_of_the_kernel() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert not listens_on(os.getpid(), port), "bound is not listening"
        listener.listen()
        assert listens_on(os.getpid(), port)
        assert not listens_on(os.getppid(), port), "another process"
        assert not listens_on(2**22 + 1, port), "no process"
