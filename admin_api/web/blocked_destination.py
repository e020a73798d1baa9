"""A call that policies allowed and whose destination was then refused (DESTINATION_BLOCKED): how the record says
so, and the line that allows the destination."""

import shlex
from ipaddress import ip_address
from typing import Final

from headgate.kernel.canonical_json import JsonObject
from headgate.organizations.addresses import AddressKind, kind_of

_BLOCKED: Final = (
    "destination blocked by the gate",
    "which is called only where the organization's allowlist names it",
)
"""As the proxy and the executor record it."""


def is_blocked(error: str | None) -> bool:
    """``error``: of an execution."""
    return error is not None and any(one in error for one in _BLOCKED)


def blocked_advice(http: JsonObject | None) -> str:
    """Offers no line for an address of cloud metadata: who copied it would give the machine's credentials away."""
    said = "A policy allowed the call, but the destination is refused, and nothing was sent."
    host, port = (http or {}).get("host"), (http or {}).get("port")
    if not isinstance(host, str) or not isinstance(port, int) or _is_metadata(host):
        return f"{said} Agents reach it only where the organization's allowlist names it."
    line = shlex.join(["headgate", "allowlist", "add", host, "--port", str(port), "--private"])
    return f"{said} To allow it, an administrator runs: {line}"


def _is_metadata(host: str) -> bool:
    try:
        return kind_of(ip_address(host)) is AddressKind.METADATA
    except ValueError:
        return False
