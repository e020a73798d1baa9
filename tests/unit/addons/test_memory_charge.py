"""What is kept of one thing is counted in its process's budget, in place of what was counted before."""

import pytest
from mitmproxy.connection import Client

from addons.memory_charge import MemoryCharge
from addons.verdict import ClientState
from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.gate.caller import Caller
from headgate.kernel.errors import UnavailableError
from headgate.kernel.secrets import Secret
from proxy.budget import BufferBudget


def client() -> ClientState:
    return ClientState(Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2)), lambda reason: None)


def test_the_last_size_is_counted() -> None:
    budget, state = BufferBudget(100), client()
    one, two = MemoryCharge(budget, state), MemoryCharge(budget, state)
    used = []
    for charge, size in ((one, 60), (two, 40), (one, 20), (two, 80)):
        charge.charge(size)
        used.append(budget.used_bytes)
    assert used == [60, 100, 60, 100]
    one.release()
    two.release()
    two.release()
    assert (budget.used_bytes, state.buffered_bytes) == (0, 0)


def test_what_has_no_room_leaves_what_was_counted() -> None:
    budget, state = BufferBudget(100), client()
    charge = MemoryCharge(budget, state)
    charge.charge(60)
    with pytest.raises(UnavailableError, match="memory for bodies and messages"):
        charge.charge(101)
    assert (charge.size_bytes, budget.used_bytes) == (60, 60)


def test_nothing_more_needs_no_room() -> None:
    """What came before its agent was known may be more than one agent gets."""
    budget, state = BufferBudget(100), client()
    charge = MemoryCharge(budget, state)
    charge.charge(60)
    identity = KeyIdentity("org_1", "key_1", KeyKind.AGENT, "agt_1", None, None, frozenset(), None, 1)
    state.caller = Caller(Secret("a key"), identity)
    with pytest.raises(UnavailableError):
        charge.charge(61)
    charge.charge(60)
    MemoryCharge(budget, state).release()
    charge.release()
    assert budget.used_bytes == 0


def test_a_charge_that_outlives_its_connection_releases_nothing_more() -> None:
    budget, gone, other = BufferBudget(100), client(), client()
    charge = MemoryCharge(budget, gone)
    charge.charge(60)
    assert budget.reserve(other, 30)
    budget.release_all(gone)
    charge.release()
    assert budget.used_bytes == 30
