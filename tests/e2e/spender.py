"""An agent that asks language models, under a budget of a thousand tokens."""

from typing import Any

import httpx

from tests.e2e.clients import Administrator, Agent
from tests.e2e.instance import Instance
from tests.e2e.model_provider import Provider

USER = {"role": "user", "content": "Say hello."}
CHAT = {"model": "m", "messages": [USER]}
TOKENS = """package e2e.budget

deny contains message if {
    input.tool == "llm"
    not input.usage.agent.tokens < 1000
    used := input.usage.agent
    message := sprintf("%v tokens in %v calls, %v", [used.tokens, used.calls, input.usage.view])
}

allow if input.tool == "llm"
"""


class Spender(Agent):
    """An agent of its own, of which nothing is counted yet."""

    def __init__(self, administrator: Administrator, instance: Instance) -> None:
        created = administrator.new_agent("with a budget")
        super().__init__(instance, key=created["api_key"]["key"])
        self.agent_id: str = created["id"]


def ask(agent: Agent, provider: Provider, **more: Any) -> httpx.Response:
    return agent.call("POST", f"{provider.url}/v1/chat/completions", json={**CHAT, **more})


def last_kept(administrator: Administrator, agent: Spender) -> dict[str, Any]:
    """What the agent's last execution kept of the model's answer."""
    action = administrator.get(f"/admin/agents/{agent.agent_id}/actions", limit=1)["data"][0]
    administrator.settled(action["id"])
    [*_, event] = administrator.events(action["id"])
    kept: dict[str, Any] = event["data"]["result"]["llm"]
    return kept
