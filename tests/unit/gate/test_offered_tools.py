"""Which tools of a list an agent is offered: what its policies deny whatever the params are, it is not."""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import cast

import pytest

from headgate.agents.model import KeyIdentity
from headgate.agents.scopes import KeyKind
from headgate.gate import offered_tools
from headgate.gate.fair_decisions import FairDecisions
from headgate.gate.offered_tools import ToolListing
from headgate.gate.organization_state import OrganizationState
from headgate.mcp_tools.pins import ToolPins
from headgate.mcp_tools.store import Noted
from headgate.organizations.destinations import Allowlist
from headgate.policies.evaluate import PolicySet
from headgate.policies.model import Decision, RulePolicy
from headgate.protocols.http_call import HttpCall
from headgate.protocols.mcp_tool_list import OfferedTool
from headgate.tools.interpret import interpret
from headgate.tools.load import load_catalogues

_NOW = datetime(2026, 11, 22, tzinfo=UTC)
_IDENTITY = KeyIdentity("org_a", "key_1", KeyKind.AGENT, "agt_1", "Robot", None, frozenset(), None, 1)
_REGO = """package t
import rego.v1

allow := true

deny contains "not this one" if input.mcp.name == "drop"

deny contains "no files" if { input.tool == "mcp_tools_example"; startswith(input.operation, "file_") }

deny contains "not by this agent" if { input.mcp.name == "mail"; input.agent.name == "Robot" }

deny contains "not a call" if input.mcp.name == "mcp_tools_list"
"""
_HEADERS = ((b"accept", b"application/json, text/event-stream"), (b"content-type", b"application/json"))


@pytest.fixture
async def rules() -> AsyncIterator[FairDecisions]:
    made = FairDecisions()
    yield made
    made.close()


class Pins:
    """In place of ``ToolPins``: these tools have changed."""

    def __init__(self, *changed: str) -> None:
        self.changed = frozenset(changed)

    async def note(self, *_: object, **__: object) -> Noted:
        return Noted(0, self.changed, is_full=False)


async def denied(rules: FairDecisions, rego: str, names: list[str], *changed: str) -> Mapping[str, Decision]:
    tools = [OfferedTool(name, {"name": name}) for name in names]
    offer = await listing(rules, rego, *changed).offer(tools)
    assert offer.changed == frozenset(changed)
    return offer.denied


def listing(rules: FairDecisions, rego: str, *changed: str) -> ToolListing:
    policy = RulePolicy("pol_1", 1, "one", None, rego, True, 100, None, _NOW, _NOW, "org_a")
    state = OrganizationState("org_a", 1, PolicySet([policy], b"{}"), Allowlist.empty())
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    call = HttpCall("POST", "https", "tools.example", 443, "/mcp", "", _HEADERS, body)
    draft = interpret(call, load_catalogues())
    return ToolListing(rules, cast("ToolPins", Pins(*changed)), state, _IDENTITY, draft, "act_1")


async def test_tools_whose_every_call_is_denied_are_named_with_the_denial(rules: FairDecisions) -> None:
    said = await denied(rules, _REGO, ["read", "drop", "file_save", "mail", "drop", "mcp_tools_list"])
    assert {name: one.reason for name, one in said.items()} == {
        "drop": "not this one",
        "file_save": "no files",
        "mail": "not by this agent",
        "mcp_tools_list": "not a call",
    }


async def test_a_changed_tool_may_be_denied(rules: FairDecisions) -> None:
    rego = "package t\nimport rego.v1\nallow := true\ndeny if input.mcp.tool_changed"
    assert set(await denied(rules, rego, ["read", "mail"], "mail")) == {"mail"}


async def test_without_a_policy_nothing_is_offered(rules: FairDecisions) -> None:
    assert set(await denied(rules, "package t\nallow := false", ["read"])) == {"read"}


async def test_tools_beyond_the_bound_are_offered(rules: FairDecisions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offered_tools, "ASKED_TOOLS_MAX", 2)
    assert set(await denied(rules, "package t\nallow := false", ["a", "b", "c"])) == {"a", "b"}


async def test_a_long_list_is_asked_in_several_turns(rules: FairDecisions, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0
    real = rules._turns.turn

    def counted(org_id: str, agent_id: str) -> object:
        nonlocal turns
        turns += 1
        return real(org_id, agent_id)

    monkeypatch.setattr(rules._turns, "turn", counted)
    names = [f"file_{number}" for number in range(400)]
    assert len(await denied(rules, _REGO, names)) == 400
    assert turns > 1
