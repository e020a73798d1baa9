"""The way to Valkey, which is speed and never truth: whoever asks it bounds the wait, and goes on without an answer."""

from typing import Final

from redis.asyncio import Redis

from headgate.kernel.secrets import Secret

_CONNECT_SECONDS: Final = 1.0


def open_valkey(url: Secret | None) -> Redis | None:
    """A pool that connects at its first use; None where there is no Valkey. Reading has no bound here: who listens to
    a channel waits until something is said."""
    if url is None:
        return None
    # Otherwise each new connection looks the version of the library up on disk, in the event loop.
    return Redis.from_url(url.reveal(), socket_connect_timeout=_CONNECT_SECONDS, driver_info=None)
