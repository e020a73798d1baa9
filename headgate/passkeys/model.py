"""What the slice speaks of: the relying party, a passkey, and what a challenge is for."""

from datetime import datetime
from enum import StrEnum
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

_LOOPBACK_NAMES: Final = (".localhost", "localhost")


class RelyingParty(Struct, frozen=True):
    """``origin``: of the pages; browsers sign it. ``rp_id``: its host; a passkey is bound to it (section 4)."""

    rp_id: str
    origin: str


def relying_party_of(public_url: str) -> RelyingParty | None:
    """None: an address cannot be a relying party, only a name can (section 5.1.2)."""
    parts = urlsplit(public_url)
    host = parts.hostname or ""
    try:
        ip_address(host)
    except ValueError:
        pass
    else:
        return None
    if parts.scheme != "https" and not host.endswith(_LOOPBACK_NAMES):
        return None
    port = "" if parts.port is None else f":{parts.port}"
    return RelyingParty(host, f"{parts.scheme}://{host}{port}")


class Registered(Struct, frozen=True):
    credential_id: bytes
    credential: bytes
    sign_count: int


class Presented(Struct, frozen=True):
    """What an answer says of itself, before anything is checked."""

    challenge: bytes
    credential_id: bytes


class Purpose(StrEnum):
    REGISTER = "register"
    SIGN_IN = "sign_in"


class Challenge(Struct, frozen=True):
    """``about``: who or which invitation it was given out for. ``user_handle``: what the passkey calls its user."""

    purpose: Purpose
    about: str
    user_handle: bytes
    expires_at: datetime


class Passkey(Struct, frozen=True):
    """``credential``: AAGUID, credential id and COSE key (section 6.5.1). ``sign_count`` 0: it keeps none."""

    org_id: str
    passkey_id: str
    user_id: str
    credential_id: bytes
    credential: bytes
    user_handle: bytes
    sign_count: int
    name: str
    created_at: datetime
    last_used_at: datetime | None = None
