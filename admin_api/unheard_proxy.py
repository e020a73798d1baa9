"""A reverse proxy that says whom it speaks for, and is not believed: then all of its clients count as one address.

Nothing is believed because of this: an operator is told once, in the log, by ``/health`` and by ``headgate doctor``.
Any client can write the header, so that it may mean nothing.
"""

import structlog
from starlette.types import Scope

from admin_api.client_address import client_address
from admin_api.forwarded import TrustedProxies

_log = structlog.get_logger(__name__)


class UnheardProxy:
    """Of one process; nothing is looked at any more once there is a ``warning``."""

    def __init__(self, trusted: TrustedProxies) -> None:
        self._trusted = trusted
        self.warning: str | None = None

    def look(self, scope: Scope) -> None:
        """At a request as it came, before its client is located."""
        if self.warning is not None or (header := self._trusted.unheard(scope)) is None:
            return
        address = client_address(scope)
        self.warning = (
            f"ignored {header} from {address}, because HEADGATE_TRUSTED_PROXIES does not name this address: if it is"
            " your reverse proxy, add it; otherwise all of its clients count as one address"
        )
        _log.warning("forwarded_header_not_read", header=header, address=address, set="HEADGATE_TRUSTED_PROXIES")
