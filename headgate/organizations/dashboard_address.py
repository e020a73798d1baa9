"""Where people open the dashboard of an instance on their own machine."""

import hashlib
import hmac
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from headgate.organizations.local_issuer import LocalIssuer

_PURPOSE: Final = b"host name of the dashboard"


def dashboard_address(issuer: LocalIssuer, api_url: str) -> str:
    """A host name that nothing else is served at, where the API listens on loopback; any other address as it is.

    Cookies know no ports (RFC 6265, section 8.5): a page that an agent serves at another port of 127.0.0.1 would be
    sent the reviewer's session. Browsers resolve every name below localhost to loopback (RFC 6761, section 6.3).
    Nobody who cannot read the issuer's key knows this one.
    """
    parts = urlsplit(api_url)
    try:
        is_loopback = ip_address(parts.hostname or "").is_loopback
    except ValueError:
        is_loopback = False
    if parts.scheme != "http" or not is_loopback:
        return api_url
    label = hmac.digest(issuer.private_key.private_bytes_raw(), _PURPOSE, hashlib.sha256).hex()[:16]
    return f"http://headgate-{label}.localhost" + ("" if parts.port is None else f":{parts.port}")
