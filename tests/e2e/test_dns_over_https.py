"""DNS over HTTPS through the gate: refused by the default policies, decided by the name under an own one."""

import dns.message
import pytest

from tests.e2e.clients import Administrator, Agent, error_of
from tests.e2e.upstream import Upstream

MESSAGE = {"Content-Type": "application/dns-message"}
JSON = {"Accept": "application/dns-json"}
KNOWN_NAMES = """package e2e.names

allow if {
    input.tool == "dns"
    input.dns.name == "www.example.com"
    input.dns.type in {"A", "AAAA"}
    input.dns.trailing_bytes == 0
}
"""


def _wire(name: str) -> bytes:
    return dns.message.make_query(name, "A", id=0).to_wire()


@pytest.mark.parametrize("form", ["address", "body", "json"])
def test_a_query_never_leaves_by_default(
    administrator: Administrator, agent: Agent, upstream: Upstream, form: str
) -> None:
    path = f"/default/{form}/dns-query"
    url = f"{upstream.url}{path}"
    if form == "body":
        refused = agent.call("POST", url, headers=MESSAGE, content=_wire("secret.example.com"))
    elif form == "json":
        refused = agent.call("GET", f"{url}?name=secret.example.com", headers=JSON)
    else:
        refused = agent.call("GET", f"{url}?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB")
    assert (refused.status_code, error_of(refused)["code"]) == (403, "ACTION_DENIED")
    assert "DNS over HTTPS is refused by default" in error_of(refused)["message"]
    assert upstream.of(path) == []
    [action] = administrator.actions_of(path)
    assert (action["tool"], action["operation"]) == ("dns", "query")


def test_a_policy_decides_by_the_name_that_is_asked(
    administrator: Administrator, agent: Agent, upstream: Upstream
) -> None:
    path = "/by-name/dns-query"
    url = f"{upstream.url}{path}"
    with administrator.policy(KNOWN_NAMES, priority=400):
        allowed = agent.call("POST", url, headers=MESSAGE, content=_wire("www.example.com"))
        others = [
            agent.call("POST", url, headers=MESSAGE, content=content)
            for content in (_wire("c2VjcmV0.example.com"), _wire("www.example.com") + b"data", b"no message")
        ]
    assert allowed.status_code == 200
    assert [other.status_code for other in others] == [403, 403, 403]
    assert [received.body for received in upstream.of(path)] == [_wire("www.example.com")]
