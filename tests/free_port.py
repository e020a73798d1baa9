"""A port for a server that has to be told one."""

import random
import socket
from pathlib import Path
from typing import Final

_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Below those that the system gives to outgoing connections (ip(7), ``ip_local_port_range``): one of another test's
    cannot take it before the server does, nor while the server is started anew."""
    first = int(_RANGE.read_text().split()[0])
    for port in random.sample(range(first - 10_000, first), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"a hundred ports below {first} are all taken")
