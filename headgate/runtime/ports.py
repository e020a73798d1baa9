"""Ports: found or checked once, before anything is started, so that a clash has a clear message."""

import errno
import socket

from headgate.kernel.errors import ConflictError, UnavailableError


def settle_port(host: str, port: int, *, what: str, option: str, variable: str) -> int:
    """``port`` if it is free; for 0 one that is. Raises ConflictError (taken), UnavailableError (no such address)."""
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # Without SO_REUSEPORT: a proxy of another instance would share its port gladly.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConflictError(
                f"port {port} of {host}, for the {what}, is taken by another program: stop it, or choose another port"
                f" with {option} or {variable} (0: any that is free)"
            ) from error
        if error.errno == errno.EACCES:
            raise UnavailableError(
                f"port {port}, for the {what}, needs root: choose one from 1024 with {option}"
            ) from error
        raise UnavailableError(f"{host} port {port}, for the {what}, cannot be listened on: {error}") from error
