"""Every way of writing an address that is not public is seen as what it reaches."""

from ipaddress import ip_address

import pytest

from headgate.organizations.addresses import AddressKind, embedded_ipv4, kind_of


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("1.1.1.1", AddressKind.PUBLIC),
        ("93.184.216.34", AddressKind.PUBLIC),
        ("172.15.255.255", AddressKind.PUBLIC),
        ("172.32.0.0", AddressKind.PUBLIC),
        ("100.63.255.255", AddressKind.PUBLIC),
        ("2606:4700::1111", AddressKind.PUBLIC),
        ("2a00:1450:4001:80b::200e", AddressKind.PUBLIC),
        ("127.0.0.1", AddressKind.LOOPBACK),
        ("127.255.255.254", AddressKind.LOOPBACK),
        ("0.0.0.0", AddressKind.LOOPBACK),
        ("::1", AddressKind.LOOPBACK),
        ("::", AddressKind.LOOPBACK),
        ("10.1.2.3", AddressKind.PRIVATE),
        ("172.16.0.1", AddressKind.PRIVATE),
        ("172.31.255.255", AddressKind.PRIVATE),
        ("192.168.1.1", AddressKind.PRIVATE),
        ("100.64.0.1", AddressKind.PRIVATE),
        ("198.18.0.1", AddressKind.PRIVATE),
        ("fc00::1", AddressKind.PRIVATE),
        ("fdff::1", AddressKind.PRIVATE),
        ("fec0::1", AddressKind.PRIVATE),
        ("64:ff9b:1::1", AddressKind.PRIVATE),
        ("169.254.1.1", AddressKind.LINK_LOCAL),
        ("fe80::1", AddressKind.LINK_LOCAL),
        ("169.254.169.254", AddressKind.METADATA),
        ("169.254.170.2", AddressKind.METADATA),
        ("100.100.100.200", AddressKind.METADATA),
        ("168.63.129.16", AddressKind.METADATA),
        ("fd00:ec2::254", AddressKind.METADATA),
        ("224.0.0.1", AddressKind.MULTICAST),
        ("239.255.255.255", AddressKind.MULTICAST),
        ("ff02::1", AddressKind.MULTICAST),
        ("255.255.255.255", AddressKind.RESERVED),
        ("240.0.0.1", AddressKind.RESERVED),
        ("192.0.2.1", AddressKind.RESERVED),
        ("2001:db8::1", AddressKind.RESERVED),
        ("2001::1", AddressKind.RESERVED),
        ("100::1", AddressKind.RESERVED),
        ("5f00::1", AddressKind.RESERVED),
        # An IPv4 address inside an IPv6 one counts as itself.
        ("::ffff:127.0.0.1", AddressKind.LOOPBACK),
        ("::ffff:1.1.1.1", AddressKind.PUBLIC),
        ("::ffff:0:10.0.0.1", AddressKind.PRIVATE),
        ("::10.0.0.1", AddressKind.PRIVATE),
        ("64:ff9b::a9fe:a9fe", AddressKind.METADATA),
        ("64:ff9b::101:101", AddressKind.PUBLIC),
        ("2002:7f00:1::", AddressKind.LOOPBACK),
        ("2002:a9fe:a9fe::1", AddressKind.METADATA),
        ("2002:101:101::", AddressKind.PUBLIC),
    ],
)
def test_kind(address: str, kind: AddressKind) -> None:
    assert kind_of(ip_address(address)) is kind


@pytest.mark.parametrize("address", ["1.1.1.1", "::", "::1", "2606:4700::1111"])
def test_no_ipv4_inside(address: str) -> None:
    assert embedded_ipv4(ip_address(address)) is None
