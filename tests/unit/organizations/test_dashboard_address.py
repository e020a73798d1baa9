"""The dashboard of a local instance has a host name of its own, which stays and which the public key does not tell."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headgate.organizations.dashboard_address import dashboard_address
from headgate.organizations.local_issuer import LocalIssuer

ISSUER = LocalIssuer(Ed25519PrivateKey.from_private_bytes(bytes(32)))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "[::1]"])
def test_an_address_of_loopback_gets_a_name(host: str) -> None:
    address = dashboard_address(ISSUER, f"http://{host}:8470")
    assert address == "http://headgate-26ef7fbe41827f53.localhost:8470"
    other = LocalIssuer(Ed25519PrivateKey.generate())
    assert dashboard_address(other, f"http://{host}:8470") != address


@pytest.mark.parametrize(
    "address", ["http://localhost:8470", "https://127.0.0.1:8470", "http://10.0.0.1:8470", "https://gate.example.com"]
)
def test_other_addresses_stay(address: str) -> None:
    assert dashboard_address(ISSUER, address) == address
