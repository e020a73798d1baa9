"""Bytes are counted in once and out once."""

from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.connection import Client

from addons.verdict import ClientState
from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.gate.caller import Caller
from headgate.kernel.secrets import Secret
from proxy.budget import BufferBudget


def client() -> ClientState:
    return ClientState(Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2)), lambda reason: None)


def test_limit() -> None:
    budget, one, two = BufferBudget(100), client(), client()
    assert budget.reserve(one, 60)
    assert not budget.reserve(two, 41)
    assert budget.reserve(two, 40)
    assert (budget.used_bytes, one.buffered_bytes, two.buffered_bytes) == (100, 60, 40)
    budget.release_all(one)
    assert (budget.used_bytes, one.buffered_bytes) == (40, 0)
    assert budget.peak_bytes == 100


def identified(agent_id: str) -> ClientState:
    state = client()
    identity = KeyIdentity("org_1", "key_1", KeyKind.AGENT, agent_id, None, None, frozenset(), None, 1)
    state.caller = Caller(Secret("a key"), identity)
    return state


def test_one_agent_gets_half() -> None:
    budget = BufferBudget(100)
    first, second, other = identified("agt_1"), identified("agt_1"), identified("agt_2")
    assert budget.reserve(first, 40)
    assert not budget.reserve(second, 11)
    assert budget.reserve(second, 10)
    assert budget.reserve(other, 50)
    assert not budget.reserve(other, 1)
    budget.release(first, 5)
    assert not budget.reserve(other, 1)
    assert budget.reserve(second, 5)


def test_what_came_before_the_key_was_known_counts_for_the_agent() -> None:
    budget, one, two = BufferBudget(100), client(), identified("agt_1")
    assert budget.reserve(one, 60)
    one.caller = two.caller
    assert not budget.reserve(one, 1)
    assert not budget.reserve(two, 1)
    budget.release_all(one)
    assert budget.reserve(two, 50)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60), st.booleans())))
def test_never_over_the_limit_and_back_to_nothing(steps) -> None:
    budget = BufferBudget(100)
    clients = [client(), client(), identified("agt_1"), identified("agt_1"), identified("agt_2")]
    for number, size, give_back in steps:
        if give_back:
            budget.release(clients[number], min(size, clients[number].buffered_bytes))
        else:
            budget.reserve(clients[number], size)
        assert budget.used_bytes == sum(one.buffered_bytes for one in clients) <= 100
        assert clients[2].buffered_bytes + clients[3].buffered_bytes <= 50
        assert clients[4].buffered_bytes <= 50
    for one in clients:
        budget.release_all(one)
    assert budget.used_bytes == 0
    assert not budget._used_by  # nothing is kept of agents that have gone
