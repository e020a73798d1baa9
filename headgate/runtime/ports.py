"""Ports: found or checked before anything is started, so that a clash has a clear message, and kept until all ends."""

import errno
import socket

from headgate.kernel.errors import ConflictError, UnavailableError


def keep_port(host: str, port: int, *, what: str, option: str, variable: str) -> socket.socket:
    """A socket that is bound to ``port`` and never listens; for 0, to one that is free.

    As long as it is open, whoever says SO_REUSEADDR may listen there, and the kernel gives the port neither to another
    part that asks for any nor to an outgoing connection (ip(7)), also while a part is started anew.

    Raises ConflictError (taken), UnavailableError (no such address).
    """
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
        kept = socket.socket(family, socket.SOCK_STREAM)
        try:
            # Without SO_REUSEPORT: a proxy of another instance would share its port gladly.
            kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            kept.bind(address)
        except OSError:
            kept.close()
            raise
        return kept
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConflictError(
                f"port {port} of {host}, for the {what}, is in use by another program: stop it, or choose another port"
                f" with {option} or {variable} (0: any that is free)"
            ) from error
        if error.errno == errno.EACCES:
            raise UnavailableError(
                f"port {port}, for the {what}, needs root: choose one from 1024 with {option}"
            ) from error
        raise UnavailableError(f"{host} port {port}, for the {what}, cannot be listened on: {error}") from error
