"""Bytes are counted in once and out once."""

from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.connection import Client

from addons.verdict import ClientState
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


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.booleans())))
def test_never_over_the_limit_and_back_to_nothing(steps) -> None:
    budget, clients = BufferBudget(100), [client() for _ in range(3)]
    for number, size, give_back in steps:
        if give_back:
            budget.release(clients[number], min(size, clients[number].buffered_bytes))
        else:
            budget.reserve(clients[number], size)
        assert budget.used_bytes == sum(one.buffered_bytes for one in clients) <= 100
    for one in clients:
        budget.release_all(one)
    assert budget.used_bytes == 0
