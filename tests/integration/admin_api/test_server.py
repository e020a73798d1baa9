"""The process: it comes up, finishes what is in flight when it is told to stop, and says when it cannot start."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from admin_api.server import listen
from headgate.configuration.data_directory import DataDirectory
from headgate.kernel.clock import system_clock
from headgate.kernel.errors import UnavailableError
from headgate.kernel.public_roots import public_roots
from headgate.organizations.local_issuer import open_local_issuer
from headgate.organizations.model import Role
from tests.free_port import free_port

_PROGRAM = """
import sys
from pathlib import Path
from admin_api.process_settings import ApiSettings
from admin_api.server import run
from headgate.kernel.secrets import Secret
run(ApiSettings(Secret(sys.argv[1]), None, Path(sys.argv[2]), port=int(sys.argv[3]), rate_limits=False))
"""


@pytest.fixture
def process(cluster, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    port = free_port()
    started = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, cluster.dsn("headgate_api"), str(tmp_path), str(port)],
        stdout=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(started, url)
        yield started, url
    finally:
        started.kill()
        started.wait()


def _wait_until_ready(started: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + 90
    while True:
        try:
            if httpx.get(f"{url}/ready", verify=public_roots(), trust_env=False).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


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
            httpx.post(
                f"{url}/v1/actions", verify=public_roots(), content=slow_body(), headers=headers, trust_env=False
            ).status_code
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
        pytest.raises(UnavailableError, match=r"in use by another program.*another port"),
    ):
        listen("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_that_is_not_ours(host: str) -> None:
    with pytest.raises(UnavailableError, match="cannot be used"):
        listen(host, 0)


def test_processes_may_share_a_port_if_they_all_say_so() -> None:
    with listen("127.0.0.1", 0, reuse_port=True) as first:
        listen("127.0.0.1", first.getsockname()[1], reuse_port=True).close()


def test_a_stream_without_an_end_does_not_keep_it_from_stopping(
    process: tuple[subprocess.Popen[bytes], str], organization, tmp_path: Path
) -> None:
    started, url = process
    token = open_local_issuer(DataDirectory(tmp_path).issuer).mint(
        org_id=organization.org_id,
        subject="alice",
        roles=[Role.VIEWER],
        now=system_clock(),
        lifetime=timedelta(minutes=5),
    )
    headers = {"authorization": f"Bearer {token.reveal()}"}
    with httpx.stream(
        "GET", f"{url}/v1/approvals/events", verify=public_roots(), headers=headers, trust_env=False, timeout=30
    ) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "retry: 1000"
        began = time.monotonic()
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0
        # It would be cut off after ten seconds otherwise.
        assert time.monotonic() - began < 8


def test_a_connection_that_nobody_reads_is_given_up_by_the_kernel() -> None:
    """Also after it was closed, when nothing of the process looks at it any more."""
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
