"""The classes of requests and the quota of each (specification, "Limits"; the proxy's is Headgate's own)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from headgate.configuration.settings import Settings
from headgate.ratelimits.gcra import Quota


class RateClass(StrEnum):
    ACTIONS = "actions"
    ADMIN = "admin"
    DECISIONS = "decisions"
    WEBHOOKS = "webhooks"
    PROXY = "proxy"
    CONNECT = "connect"
    PUBLIC = "public"
    PAGES = "pages"


DEFAULT_QUOTAS: Final[Mapping[RateClass, Quota]] = MappingProxyType(
    {
        RateClass.ACTIONS: Quota(100, 60),
        RateClass.ADMIN: Quota(50, 60),
        RateClass.DECISIONS: Quota(100, 60),  # of its own: who has just looked at approvals can still decide
        RateClass.WEBHOOKS: Quota(1000, 60),
        RateClass.PROXY: Quota(1200, 60),
        RateClass.CONNECT: Quota(1200, 60),  # a tunnel for each request is how many clients work
        RateClass.PUBLIC: Quota(60, 60),
        RateClass.PAGES: Quota(600, 60),  # a live page is fetched again with each change
    }
)


def quotas_of(settings: Settings) -> Mapping[RateClass, Quota]:
    """Those that the process was configured with."""
    named = {
        RateClass.ACTIONS: settings.rate_limit_actions,
        RateClass.ADMIN: settings.rate_limit_admin,
        RateClass.DECISIONS: settings.rate_limit_decisions,
        RateClass.WEBHOOKS: settings.rate_limit_webhooks,
        RateClass.PROXY: settings.rate_limit_proxy,
        RateClass.CONNECT: settings.rate_limit_proxy,
        RateClass.PUBLIC: settings.rate_limit_public,
        RateClass.PAGES: settings.rate_limit_pages,
    }
    return MappingProxyType({name: Quota(one.count, one.seconds) for name, one in named.items()})
