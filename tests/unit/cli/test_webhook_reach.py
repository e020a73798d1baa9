"""An endpoint that nothing will ever reach is told of when it is made."""

import httpx
import pytest

from headgate.cli.webhook_reach import refused_because, warn_where_refused
from headgate.organizations.destinations import Allowlist, parse_allowlist
from tests.answering_api import answering_api

NAMED = parse_allowlist('{"destinations": [{"host": "10.0.0.0/8", "ports": [8443], "private": true}]}', None)


@pytest.mark.parametrize(
    ("url", "allowlist"),
    [
        ("https://hooks.example.com/", Allowlist.empty()),
        ("https://93.184.216.34/", Allowlist.empty()),
        ("https://10.0.0.7:8443/", NAMED),
        ("http://10.0.0.7:8443/", NAMED),
    ],
    ids=["name", "public", "private", "in the clear"],
)
def test_what_is_permitted_or_not_known_here(url: str, allowlist: Allowlist) -> None:
    assert refused_because(url, allowlist) is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:9999/", "headgate allowlist add 127.0.0.1 --port 9999 --private"),
        ("https://LOCALHOST/", "--port 443 --private"),
        ("https://[fd00::7]:8443/", "is a private address that is not on the allowlist"),
        ("https://10.0.0.7/", "10.0.0.7 port 443 is a private address that is not on the allowlist"),
        ("http://93.184.216.34/", "http:// is allowed for private addresses only"),
        ("http://169.254.169.254/", "hands this machine's own credentials"),
    ],
    ids=["loopback", "localhost", "IPv6", "port", "in the clear", "metadata"],
)
def test_what_is_refused_and_why(url: str, said: str) -> None:
    assert said in (refused_because(url, NAMED) or "")


@pytest.mark.parametrize(("status", "is_warned"), [(404, True), (403, False), (503, False)])
def test_what_may_not_be_read_is_nothing_to_fail_for(
    status: int, is_warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = httpx.Response(status, json={"error": {"code": "X", "message": "no", "details": {}}})
    with answering_api(lambda request: answer) as client:
        warn_where_refused(client, "https://10.0.0.7/")
    assert ("messages cannot be delivered" in capsys.readouterr().err) is is_warned
