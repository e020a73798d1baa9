"""How many clients a process may have, by the file descriptors that it gets."""

import resource
from typing import Final

_WANTED: Final = 65_536
_KEPT_BACK: Final = 64
"""For the database, Valkey, logs and files."""


def raise_descriptor_limit() -> None:
    """To what the system allows: 1,024, a common default, are 1,024 idle connections of somebody without a key."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """Clients for which there are descriptors, with one more for each: a proxy's connection to a server."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = _WANTED if soft == resource.RLIM_INFINITY else soft
    return max(1, (descriptors - _KEPT_BACK) // 2)
