"""What clients share of one API process before their requests are known: connections, and memory for bodies."""

from msgspec import Struct, field

from admin_api.body_budget import BODIES_BYTES_MAX, BodyBudget
from admin_api.body_limit import BODY_LIMIT_BYTES
from admin_api.client_places import ClientPlaces
from admin_api.forwarded import TrustedProxies


class ArrivalShares(Struct, frozen=True):
    """``trusted_proxies``: what they say of an address counts for its share."""

    places: ClientPlaces = field(default_factory=ClientPlaces)
    bodies: BodyBudget = field(default_factory=lambda: BodyBudget(BODIES_BYTES_MAX, largest=BODY_LIMIT_BYTES))
    trusted_proxies: TrustedProxies = field(default_factory=TrustedProxies)
