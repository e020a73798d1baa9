"""A program whose only way out is the gate: a network namespace of its own, with nothing in it but a listener.

The program's process makes the namespace and a listener in it, and hands the listener to this process, which stays
outside: a socket belongs to the namespace in which it was made, and whoever has it may accept from it
(network_namespaces(7), unix(7)). So each connection to the listener goes on to the proxy, and there is no other one: no
interface but the loopback, no route, no name server. If this process ends, the program has no network at all.

A user namespace makes this possible without rights (user_namespaces(7)); it also takes from a program of root the right
to enter another network namespace. What it does not hold back: Unix sockets, files, and other processes of the same
user.
"""

import asyncio
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from headgate.kernel.errors import UnavailableError

_PIECE_BYTES: Final = 64 << 10
_CONNECT_SECONDS: Final = 10.0
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_READY: Final = b"\1"
_FORWARDED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_BY_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends these to the program, too."""

type Address = tuple[str, int]


def run_isolated(command: Sequence[str], environment: Mapping[str, str], exits: Mapping[int, Address]) -> int:
    """Runs a program until its end and returns its exit status, as a shell's: 128 and the signal that killed it.

    ``command``: the path of the program, then its arguments. ``exits``: by port of 127.0.0.1, as the program sees it,
    the address that it leads to. Raises UnavailableError where this system makes no such namespaces.
    """
    if not hasattr(os, "unshare"):
        raise UnavailableError(
            "--isolate needs the network namespaces of Linux. Elsewhere use a container (docs/guides/clients.md)"
        )
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        _become(theirs, command, environment, list(exits))
    theirs.close()
    with ours:
        listeners = _receive(ours, child, len(exits))
        return asyncio.run(_relay(child, ours, dict(zip(listeners, exits.values(), strict=True))))


def _become(
    channel: socket.socket, command: Sequence[str], environment: Mapping[str, str], ports: Sequence[int]
) -> None:
    """In the program's process: never returns."""
    try:
        listeners = _enter_namespaces(ports)
        socket.send_fds(channel, [_READY], [one.fileno() for one in listeners])
        for one in listeners:
            one.close()
        if channel.recv(1) != _READY:
            os._exit(1)
        channel.close()
        os.execve(command[0], list(command), dict(environment))  # noqa: S606 - what was asked for
    except OSError as error:
        with suppress(OSError):
            channel.send(str(error).encode())
    os._exit(126)


def _enter_namespaces(ports: Sequence[int]) -> list[socket.socket]:
    user, group = os.getuid(), os.getgid()
    os.unshare(os.CLONE_NEWUSER | os.CLONE_NEWNET)
    # Without rights a process may map itself alone, once it has given up changing its groups.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - no encoding, no buffering to think of
            file.write(text)
    # A program with the set-user-ID bit would run without what was set here.
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs cannot be set")
    with socket.socket() as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
    return [socket.create_server(("127.0.0.1", port), backlog=256) for port in ports]


def _receive(channel: socket.socket, child: int, count: int) -> list[socket.socket]:
    """Raises UnavailableError, after the program's process has ended."""
    said, descriptors, _, _ = socket.recv_fds(channel, 4096, count)
    listeners = [socket.socket(fileno=one) for one in descriptors]
    if said == _READY and len(listeners) == count:
        return listeners
    for one in listeners:
        one.close()
    os.waitpid(child, 0)
    raise UnavailableError(
        f"this system does not let a program have a network namespace of its own ({said.decode(errors='replace')})."
        " Allow unprivileged user namespaces (on Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0), or use a"
        " container whose network leads to the proxy only (docs/guides/clients.md)"
    )


async def _relay(child: int, channel: socket.socket, exits: Mapping[socket.socket, Address]) -> int:
    loop = asyncio.get_running_loop()
    for number in _FORWARDED:
        loop.add_signal_handler(number, _send, child, number)
    for number in _BY_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    for listener, target in exits.items():
        await asyncio.start_server(partial(_carry, target), sock=listener)
    channel.send(_READY)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


async def _carry(target: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, until both sides have ended it. A proxy that does not answer ends it, too."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            out_reader, out_writer = await asyncio.open_connection(*target)
    except (OSError, TimeoutError) as error:
        sys.stderr.write(f"headgate: {target[0]}:{target[1]} cannot be reached: {str(error) or 'no answer'}\n")
        writer.close()
        return
    await asyncio.gather(_pump(reader, out_writer), _pump(out_reader, writer))
    for one in (writer, out_writer):
        one.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.write_eof()


def _send(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)
