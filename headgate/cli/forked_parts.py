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
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import Any, Final

from headgate.cli.main import main as run_command
from headgate.configuration.shared_metrics import share_metrics
from headgate.kernel.import_path import extend_import_path
from headgate.runtime.account import child_setup
from headgate.runtime.process_title import show_as

MODULES: Final[dict[str, tuple[str, ...]]] = {
    "worker": ("headgate.cli.parts", "headgate.cli.evidence_settings", "headgate.worker.main"),
    "proxy": ("headgate.cli.parts", "proxy.server"),
    "api": ("headgate.cli.parts", "fastapi", "admin_api.dependencies", "admin_api.server"),
}
"""What a part imports when it starts, in pieces of a second or two."""
_LENGTH: Final = Struct(">I")


def main() -> None:
    extend_import_path()
    gc.disable()  # headgate.kernel.loading: modules stay
    share_metrics(Path(sys.argv[1]))
    show_as("headgate: loads the parts")
    with socket.socket(fileno=os.dup(0)) as channel:
        part = _serve(channel)
    if part is None:
        return
    gc.enable()
    sys.argv = ["headgate", part]
    run_command()


def _serve(channel: socket.socket) -> str | None:
    """None: the other side has closed. A part: this is the process that was forked for it."""
    to_load: deque[str] = deque()
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select(0 if to_load else None):
                if key.fileobj is not channel:
                    selector.unregister(key.fileobj)
                    os.close(key.fd)
                    _, status = os.waitpid(key.data, 0)
                    _send(channel, {"ended": key.data, "status": os.waitstatus_to_exitcode(status)})
                elif (message := _received(channel)) is None:
                    return None
                elif "load" in message:
                    to_load += (module for part in message["load"] for module in MODULES[part])
                else:
                    pid = _fork(message["start"], message["environment"])
                    if pid == 0:
                        for one in selector.get_map().values():
                            if one.fileobj is not channel:
                                os.close(one.fd)
                        return str(message["start"])
                    selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
                    _send(channel, {"started": pid})
            if to_load:
                import_module(to_load.popleft())


def _fork(part: str, environment: Mapping[str, str]) -> int:
    """0 in the new process, which then has the session and the environment of a process that was started alone."""
    for module in MODULES[part]:
        import_module(module)
    gc.freeze()  # a collection would write to every page that is shared
    set_up = child_setup(signal.SIGKILL, None)
    pid = os.fork()
    if pid == 0:
        set_up()
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.environ.clear()
        os.environ.update(environment)
        show_as(f"headgate {part}")
    return pid


def _received(channel: socket.socket) -> dict[str, Any] | None:
    if not (header := channel.recv(_LENGTH.size, socket.MSG_WAITALL)):
        return None
    (size,) = _LENGTH.unpack(header)
    message: dict[str, Any] = json.loads(channel.recv(size, socket.MSG_WAITALL))
    return message


def _send(channel: socket.socket, message: Mapping[str, object]) -> None:
    document = json.dumps(message).encode()
    channel.sendall(_LENGTH.pack(len(document)) + document)


if __name__ == "__main__":
    main()
