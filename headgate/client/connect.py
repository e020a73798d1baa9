"""How both clients are connected."""

import ssl
from typing import Any, Final

from headgate.client.credential import credential_headers

POLL_SECONDS: Final = 30
"""The longest that the API holds one poll."""
UNDECIDED: Final = frozenset({"pending_approval"})


def connection_arguments(url: str, token: str | None, agent_key: str | None, timeout_seconds: float) -> dict[str, Any]:
    """For httpx. Raises ValueError as ``credential_headers``."""
    headers = credential_headers(token, agent_key)
    arguments = {"base_url": url, "headers": headers, "timeout": timeout_seconds, "trust_env": False}
    if url.startswith("http://"):
        # A context that trusts no certificate: no TLS is spoken here, and reading the public roots takes as long as
        # a whole command.
        arguments["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return arguments
