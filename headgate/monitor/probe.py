"""``python -m headgate.monitor.probe``: whether the part of this container is ready, for HEALTHCHECK, without curl.

It asks ``/readyz`` at HEADGATE_MONITOR_ADDRESS. Without that variable a whole instance runs here, and its API is asked.
Exit status 0: ready; 1: not ready, or no answer.
"""

import os
import sys
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Final
from urllib.parse import urlsplit

_TIMEOUT_SECONDS: Final = 5.0
_HERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - listened on by the part, not here


def where(environment: Mapping[str, str]) -> tuple[str, int, str]:
    """Host, port and path to ask. Raises ValueError for an address without a port."""
    address = environment.get("HEADGATE_MONITOR_ADDRESS")
    if not address:
        host = environment.get("HEADGATE_API_HOST") or "127.0.0.1"
        return _HERE.get(host, host), int(environment.get("HEADGATE_API_PORT") or 8470), "/ready"
    parts = urlsplit(f"//{address}")
    if parts.hostname is None or parts.port is None:
        raise ValueError(f"HEADGATE_MONITOR_ADDRESS is {address}: give a host and a port")
    return _HERE.get(parts.hostname, parts.hostname), parts.port, "/readyz"


def main(environment: Mapping[str, str] = os.environ) -> int:
    """The exit status. Prints why it is not 0."""
    try:
        host, port, path = where(environment)
        connection = HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read(200).decode("utf-8", "replace").strip()
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        sys.stderr.write(f"no answer: {error}\n")
        return 1
    if answer.status != 200:
        sys.stderr.write(f"{answer.status}: {text}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
