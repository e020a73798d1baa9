import pytest

from admin_api.client_address import address_subject


@pytest.mark.parametrize(
    ("client", "subject"),
    [
        (("192.0.2.7", 1), "192.0.2.7"),
        (("2001:db8:1:2:3::4", 1), "2001:db8:1:2::/64"),
        (("::ffff:192.0.2.7", 1), "192.0.2.7"),
        (("fe80::1%eth0", 1), "fe80::/64"),
        (("testclient", 1), "unknown"),
        (None, "unknown"),
    ],
)
def test_who_shares_a_quota(client, subject: str) -> None:
    assert address_subject({"type": "http", "client": client}) == subject
