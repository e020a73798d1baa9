"""The process: it comes up, finishes what is in flight when it is told to stop, and says when it cannot start."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from admin_api.server import listen
from headgate.kernel.errors import UnavailableError

_PROGRAM = """
import sys
from pathlib import Path
from admin_api.process_settings import ApiSettings
from admin_api.server import run
from headgate.kernel.secrets import Secret
run(ApiSettings(Secret(sys.argv[1]), None, Path(sys.argv[2]), port=int(sys.argv[3]), rate_limits=False))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def process(cluster, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    port = free_port()
    started = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, cluster.dsn("headgate_api"), str(tmp_path), str(port)],
        stdout=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 30
    while True:
        try:
            if httpx.get(f"{url}/ready", trust_env=False).status_code == 200:
                break
        except httpx.TransportError:
            pass
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield started, url
    started.kill()
    started.wait()


def test_it_stops_in_order_and_answers_what_it_was_asked(process: tuple[subprocess.Popen[bytes], str]) -> None:
    started, url = process
    begun, answers = threading.Event(), []

    def slow_body() -> Iterator[bytes]:
        begun.set()
        yield b"{"
        time.sleep(1)
        yield b"}"

    def ask() -> None:
        headers = {"Authorization": "Bearer hg_nobody", "Content-Type": "application/json"}
        answers.append(
            httpx.post(f"{url}/v1/actions", content=slow_body(), headers=headers, trust_env=False).status_code
        )

    thread = threading.Thread(target=ask)
    thread.start()
    begun.wait()
    time.sleep(0.3)
    started.send_signal(signal.SIGTERM)
    thread.join()
    assert answers == [401]
    assert started.wait(15) == 0


def test_a_port_that_is_taken_is_said_plainly() -> None:
    with (
        listen("127.0.0.1", 0) as first,
        pytest.raises(UnavailableError, match=r"taken by another program.*another port"),
    ):
        listen("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_that_is_not_ours(host: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be used"):
        listen(host, 0)


def test_processes_may_share_a_port_if_they_all_say_so() -> None:
    with listen("127.0.0.1", 0, reuse_port=True) as first:
        listen("127.0.0.1", first.getsockname()[1], reuse_port=True).close()
