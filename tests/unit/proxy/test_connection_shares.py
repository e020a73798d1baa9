"""Who may have how many connections, and which gives way."""

from dataclasses import dataclass, field

import pytest
from mitmproxy.connection import Client, ConnectionState

from addons.share import REFUSALS_AT_ONCE, REFUSALS_PER_SECOND, Share
from addons.verdict import ClientState
from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.gate.caller import Caller
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from proxy.connection_shares import ConnectionShares


def _state() -> ClientState:
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), state=ConnectionState.OPEN)
    return ClientState(client, lambda reason: None)


@dataclass(eq=False)
class Fake:
    """A connection that is closed at once."""

    shares: "ConnectionShares[Fake]"
    idle_since: float | None = 0.0
    closing: bool = False
    state: ClientState = field(default_factory=_state)

    def hard_close(self, reason: str) -> None:
        self.closing = True
        self.shares.leave(self)


@pytest.fixture
def seconds() -> list[float]:
    return [0.0]


@pytest.fixture
def shares(seconds) -> ConnectionShares[Fake]:
    return ConnectionShares(40, lambda: seconds[0])


def caller(agent: str, organization: str = "org_1") -> Caller:
    identity = KeyIdentity(organization, "key_1", KeyKind.AGENT, agent, None, None, frozenset(), None, 1)
    return Caller(Secret("a key"), identity)


def come(shares: ConnectionShares[Fake], address: str = "192.0.2.1", *, idle_since: float | None = 0.0) -> Fake | None:
    share = shares.admit(address)
    if share is None:
        return None
    made = Fake(shares, idle_since)
    shares.enter(made, share)
    made.state.on_identified = lambda who: shares.identified(made, who)
    return made


def come_as(
    shares: ConnectionShares[Fake], agent: str, organization: str = "org_1", *, idle_since: float | None = 0.0
) -> Fake:
    made = come(shares, idle_since=idle_since)
    assert made is not None
    made.state.identify(caller(agent, organization))
    return made


def test_an_address_without_a_key_has_a_quarter(shares) -> None:
    made = [come(shares) for _ in range(30)]
    assert [one.closing for one in made] == [True] * 20 + [False] * 10
    assert come(shares, "192.0.2.2") is not None
    assert not made[-1].closing


def test_an_agent_has_half_and_gives_up_its_idlest(shares) -> None:
    made = [come_as(shares, "agt_1", idle_since=float(100 - number)) for number in range(20)]
    newest = come_as(shares, "agt_1", idle_since=200.0)
    assert [one for one in made if one.closing] == [made[-1]]
    assert not newest.closing


def test_an_agent_with_none_idle_is_refused_and_stays_without_a_key(shares) -> None:
    for _ in range(20):
        come_as(shares, "agt_1", idle_since=None)
    refused = come(shares)
    assert refused is not None
    with pytest.raises(UnavailableError, match="this agent has 20"):
        refused.state.identify(caller("agt_1"))
    assert refused.state.caller is None
    assert come_as(shares, "agt_2").state.caller is not None


def test_an_organization_has_three_quarters(shares) -> None:
    agents = [come_as(shares, f"agt_{number}", idle_since=None) for number in range(30)]
    refused = come(shares)
    assert refused is not None
    with pytest.raises(UnavailableError, match="this organization has 30"):
        refused.state.identify(caller("agt_30"))
    assert come_as(shares, "agt_x", "org_2").state.caller is not None
    assert not any(one.closing for one in agents)


def test_where_all_are_taken_who_has_no_key_gives_way_first(shares) -> None:
    for number in range(30):
        come_as(shares, f"agt_{number}")
    without = [come(shares, f"192.0.2.{10 + number % 2}") for number in range(10)]
    assert come(shares, "192.0.2.9") is not None
    assert [one for one in without if one.closing] == [without[0]]


def test_where_all_have_a_key_the_heaviest_gives_up_its_idlest(shares) -> None:
    heavy = [come_as(shares, "agt_1", idle_since=float(number)) for number in range(20)]
    light = [come_as(shares, f"agt_{number}", "org_2") for number in range(20)]
    newcomer = come_as(shares, "agt_2", "org_3")
    assert newcomer.state.caller is not None
    assert [one for one in heavy if one.closing] == heavy[:1]
    assert not any(one.closing for one in light)


def test_of_those_with_one_each_none_gives_way(shares) -> None:
    for number in range(40):
        come_as(shares, f"agt_{number}", f"org_{number % 4}")
    assert come(shares) is None


def test_an_address_that_is_refused_too_often_is_not_let_in_for_a_while(shares, seconds) -> None:
    share = shares.of_address("192.0.2.1")
    assert [share.count_refusal() for _ in range(REFUSALS_AT_ONCE + 1)] == [True] * REFUSALS_AT_ONCE + [False]
    assert come(shares) is None
    waiting = [shares.keep_waiting("192.0.2.1") for _ in range(11)]
    assert waiting == [share] * 10 + [None]
    for _ in range(10):
        shares.give_back(share)
    assert shares.keep_waiting("192.0.2.2") is None
    assert come(shares, "192.0.2.2") is not None
    seconds[0] = 2 / REFUSALS_PER_SECOND
    assert come(shares) is not None
    seconds[0] = 1.0
    assert come(shares) is not None


def test_nothing_is_left_counted(shares) -> None:
    made = [come_as(shares, f"agt_{number % 3}", f"org_{number % 2}") for number in range(12)]
    made += [come(shares) for _ in range(5)]
    for one in made:
        one.hard_close("the end")
    shares.give_back(shares.admit("192.0.2.1"))
    assert shares._count() == 0
    assert shares.of_address("192.0.2.1").connections == 0
    assert not shares._of
    assert not shares._agents


def test_ipv6_addresses_count_with_their_network(shares) -> None:
    assert shares.of_address("2001:db8::1") is shares.of_address("2001:db8::ffff:2")
    assert shares.of_address("2001:db8::1") is not shares.of_address("2001:db8:0:1::1")
    assert isinstance(shares.of_address("fe80::1%eth0"), Share)


def test_addresses_are_forgotten(shares) -> None:
    for number in range(30_000):
        shares.of_address(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(shares._addresses) <= 10_000
