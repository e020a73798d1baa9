"""Where messages may go in the clear: only to private addresses that the organization's allowlist names."""

from msgspec import Struct

from headgate.organizations.addresses import Address, AddressKind, kind_of
from headgate.organizations.destinations import DestinationRules


class PrivateOnly(Struct, frozen=True):
    """The organization's rules without the public internet: for ``http://``, where everybody on the way could read."""

    rules: DestinationRules

    def permits(self, host: str, address: Address, port: int) -> bool:
        return kind_of(address) is not AddressKind.PUBLIC and self.rules.permits(host, address, port)


def rules_for(url: str, rules: DestinationRules) -> DestinationRules:
    return rules if url.startswith("https://") else PrivateOnly(rules)
