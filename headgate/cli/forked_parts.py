"""``python -P -m headgate.cli.forked_parts METRICS``: loads the modules of the parts, and forks each part on request.

The other side and the messages: ``headgate.runtime.fork_server``. Standard input is the socket. While nothing is asked,
modules are loaded one after the other, so that a part can be forked before those of another are there.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final

from headgate.cli.main import main as run_command
from headgate.configuration.shared_metrics import VARIABLE as METRICS_VARIABLE
from headgate.configuration.shared_metrics import share_metrics
from headgate.kernel.errors import UnavailableError
from headgate.kernel.import_path import extend_import_path
from headgate.runtime.account import child_setup
from headgate.runtime.fork_server import FILES_MAX, PACKET_BYTES
from headgate.runtime.process_title import show_as

_EVERY_PART: Final = (
    "headgate.cli.parts",
    "headgate.configuration.logs",
    "headgate.configuration.credentials:known_credentials",
    "headgate.runtime.first_uses:use_tls",
    "headgate.runtime.first_uses:use_cryptography",
)
MODULES: Final[dict[str, tuple[str, ...]]] = {
    "prepare": ("headgate.runtime.prepare",),
    "token": ("headgate.runtime.prepare",),
    "worker": (
        *_EVERY_PART,
        "headgate.cli.evidence_settings",
        "headgate.cli.report_fonts",
        "headgate.worker.main",
        "procrastinate.builtin_tasks",
    ),
    "proxy": (
        *_EVERY_PART,
        "proxy.server",
        "headgate.detectors.rehearsal:rehearse",
        "headgate.tools.load:load_catalogues",
    ),
    "api": (
        *_EVERY_PART,
        "admin_api.framework:load_framework",
        "admin_api.dependencies",
        "admin_api.server",
        "headgate.cli.evidence_settings",
        "headgate.cli.issuer_settings",
        "uvicorn.lifespan.off",
    ),
}
"""What a part or a task imports, or calls, when it starts, in pieces of a second or two. Detectors' lists and
the patterns that ordinary calls need, of some 30 MB, and the catalogues that come with Headgate are among it: otherwise
each process makes its own."""
TASKS: Final = {
    "prepare": "headgate.runtime.prepare:prepare",
    "token": "headgate.runtime.prepare:renew_token",
}
"""Processes that do one thing, answer on their standard output and end. They are neither parts nor commands."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    extend_import_path()
    gc.disable()  # headgate.kernel.loading: modules stay
    # SIGTERM to the whole group stops the parts, which finish their work; it must not end this process first, and them
    # with it. Blocked, not ignored: a part that is just being forked receives its signal when it can handle it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        share_metrics(Path(sys.argv[1]))
    except UnavailableError as error:
        sys.exit(f"headgate: {error.message}")
    show_as("headgate: loads the parts")
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    part = _Server(channel).serve()
    if part is None:
        return
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    gc.enable()
    sys.argv = ["headgate", part]
    if part in TASKS:
        _load(TASKS[part])
    else:
        run_command()


class _Server:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._selector = selectors.DefaultSelector()
        self._selector.register(channel, selectors.EVENT_READ)
        self._to_load: deque[str] = deque()

    def serve(self) -> str | None:
        """Returns the part to run in a forked process, and None here when the other side has closed."""
        while True:
            asked = self._selector.select(0 if self._to_load else None)
            for key, _ in asked:
                if key.fileobj is not self._channel:
                    self._report_end(key.fd, key.data)
                    continue
                packet, files, _, _ = socket.recv_fds(self._channel, PACKET_BYTES, FILES_MAX)
                if not packet:
                    return None
                message = json.loads(packet)
                if "load" in message:
                    self._to_load += (module for part in message["load"] for module in MODULES[part])
                elif self._start(message["start"], *files):
                    return str(message["start"])
            if self._to_load and not asked:  # parts that are forked at one point share more pages
                name = self._to_load.popleft()
                with suppress(Exception):  # said when a part that needs it is started
                    _load(name)

    def _start(self, part: str, environment: int, output: int | None = None) -> bool:
        """Whether this is the forked process. What cannot be started is reported, and ends no other part."""
        pid = None
        try:
            for name in MODULES[part]:
                _load(name)
            gc.freeze()  # a collection would write to every page that is shared
            set_up = child_setup(signal.SIGKILL, None)
            pid = os.fork()
            if pid == 0:
                self._become(part, set_up, environment, output)
                return True
            descriptor = os.pidfd_open(pid)
        except Exception as error:
            if pid == 0:
                raise
            if pid:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            answer: dict[str, object] = {"failed": f"{part} cannot be started: {type(error).__name__}: {error}"}
            files = []
        else:
            self._selector.register(descriptor, selectors.EVENT_READ, pid)
            answer, files = {"started": pid}, [descriptor]
        os.close(environment)
        if output is not None:
            os.close(output)
        self._send(answer, files)
        return False

    def _become(self, part: str, set_up: Callable[[], None], environment: int, output: int | None) -> None:
        """With the session, the environment and the descriptors of a process that was started alone."""
        set_up()
        os.setsid()
        for key in self._selector.get_map().values():
            os.close(key.fd)
        self._channel.detach()
        self._selector.close()
        if output is not None:
            os.dup2(output, 1)
            os.close(output)
        with os.fdopen(environment, "rb") as file:
            given = json.load(file)
        metrics = os.environ[METRICS_VARIABLE]
        os.environ.clear()
        os.environ.update({METRICS_VARIABLE: metrics, **given})
        show_as(f"headgate {part}")

    def _report_end(self, descriptor: int, pid: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(pid, 0)
        self._send({"ended": pid, "status": os.waitstatus_to_exitcode(status)})

    def _send(self, message: Mapping[str, object], files: Sequence[int] = ()) -> None:
        with suppress(OSError):  # the other side is gone, which is seen next
            socket.send_fds(self._channel, [json.dumps(message).encode()], files)


def _load(name: str) -> None:
    """A module, or what a function makes once: ``module:function``."""
    module, _, function = name.partition(":")
    loaded = import_module(module)
    if function:
        getattr(loaded, function)()


if __name__ == "__main__":
    main()
