"""Budgets of tokens and money: what an agent's model calls take is counted, whichever process forwarded them."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import httpx2
import pytest

from tests.e2e.clients import Administrator, error_of
from tests.e2e.instance import Instance
from tests.e2e.model_provider import WORDS, Provider, serving_models
from tests.e2e.spender import CHAT, TOKENS, USER, Spender, ask, last_kept
from tests.e2e.waiting import wait_for

MONEY = """package e2e.money

deny contains "no price" if {
    input.tool == "llm"
    not input.usage.price_known
}

deny contains "nothing left" if {
    input.tool == "llm"
    not money_left
}

money_left if input.usage.agent.cost_usd < 5

allow if input.tool == "llm"
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with serving_models() as server:
        yield server


type NewSpender = Callable[[], Spender]


@pytest.fixture
def new_spender(administrator: Administrator, instance: Instance) -> Iterator[NewSpender]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(Spender(administrator, instance)))


def test_a_budget_of_tokens_is_reached(
    administrator: Administrator, new_spender: NewSpender, provider: Provider
) -> None:
    spender, other = new_spender(), new_spender()
    provider.says(300, 50)
    with administrator.policy(TOKENS, priority=1):
        for _ in range(3):
            assert ask(spender, provider).status_code == 200
            last_kept(administrator, spender)
        # Whichever of the two processes it meets, which learn of each other's calls some milliseconds later.
        wait_for(lambda: ask(spender, provider).status_code == 403, "the thousand tokens are known")
        refused = error_of(ask(spender, provider))
        assert re.search("[0-9]{4} tokens in [34] calls, shared", refused["message"])
        assert ask(other, provider).status_code == 200
    assert last_kept(administrator, other) == {
        "model": "compatible/m",
        "tokens_in": 300,
        "tokens_cached": 0,
        "tokens_cache_written": 0,
        "tokens_out": 50,
        "estimated": False,
        "cost_usd": None,
        "tool_calls": ["pay_invoice"],
    }


def test_the_sdks_stream_word_by_word_and_are_counted(
    administrator: Administrator, new_spender: NewSpender, provider: Provider
) -> None:
    # Loaded here: every process of pytest-xdist collects this file, and one runs it.
    from anthropic import Anthropic  # noqa: PLC0415
    from openai import OpenAI, PermissionDeniedError  # noqa: PLC0415

    with administrator.policy(TOKENS, priority=1):
        agent = new_spender()
        provider.says(400, 100)
        provider.go.clear()
        with agent.client() as http:
            openai = OpenAI(base_url=f"{provider.url}/v1", api_key="k", http_client=http, max_retries=0)
            options = {"include_usage": True}
            stream = openai.chat.completions.create(
                model="m",
                messages=[USER],
                stream=True,
                stream_options=options,  # type: ignore[call-overload]
            )
            words = []
            for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    words.append(chunk.choices[0].delta.content)
                    provider.go.set()  # the provider says no more until the first word has arrived
            assert words == list(WORDS)
        kept = last_kept(administrator, agent)
        assert (kept["tokens_in"], kept["tokens_out"], kept["estimated"]) == (400, 100, False)

        provider.go.clear()
        with httpx2.Client(proxy=httpx2.Proxy(agent.proxy_url, auth=("agent", agent.key)), trust_env=False) as http:
            anthropic = Anthropic(base_url=provider.url, api_key="k", http_client=http, max_retries=0)
            with anthropic.messages.stream(model="m", max_tokens=50, messages=[USER]) as told:  # type: ignore[list-item]
                words = []
                for text in told.text_stream:
                    words.append(text)
                    provider.go.set()
            assert words == list(WORDS)
        kept = last_kept(administrator, agent)
        assert (kept["tokens_in"], kept["tokens_out"], kept["estimated"]) == (400, 100, False)

        wait_for(lambda: ask(agent, provider).status_code == 403, "the thousand tokens are known")
        with agent.client() as http, pytest.raises(PermissionDeniedError, match="tokens in"):
            OpenAI(base_url=f"{provider.url}/v1", api_key="k", http_client=http).chat.completions.create(
                model="m",
                messages=[USER],  # type: ignore[list-item]
            )


def test_an_answer_that_does_not_say_is_estimated(
    administrator: Administrator, new_spender: NewSpender, provider: Provider
) -> None:
    agent = new_spender()
    provider.says(1, 1, says_usage=False)
    with administrator.policy(TOKENS, priority=1):
        size = len(json.dumps({**CHAT, "stream": True}, separators=(",", ":")))
        assert ask(agent, provider, stream=True).status_code == 200
        kept = last_kept(administrator, agent)
        assert (kept["tokens_in"], kept["estimated"]) == (-(-size // 4), True)
        assert kept["tokens_out"] == -(-len("".join(WORDS)) // 4)
        used = administrator.get(f"/admin/agents/{agent.agent_id}/model-usage")
        assert (used["today"]["estimated_calls"], used["today"]["calls"]) == (1, 1)
        # What the provider refused took no tokens.
        provider.says(1, 1, status=404)
        assert ask(agent, provider).status_code == 404
        assert administrator.get(f"/admin/agents/{agent.agent_id}/model-usage")["today"]["calls"] == 1


def test_a_budget_of_money(administrator: Administrator, new_spender: NewSpender, provider: Provider) -> None:
    agent = new_spender()
    provider.says(1_000_000, 100_000)
    prices = "/admin/policies/data/model_prices"
    with administrator.policy(MONEY, priority=1):
        assert "no price" in error_of(ask(agent, provider))["message"]
        refused = administrator.api.put(prices, json={"m": {"input": 2}})
        assert (refused.status_code, "output is missing" in refused.text) == (400, True)
        assert administrator.api.put(prices, json={"m": {"input": 2, "output": 10}}).status_code in (200, 201)
        try:
            assert ask(agent, provider).status_code == 200
            assert last_kept(administrator, agent)["cost_usd"] == 3
            assert administrator.get(f"/admin/agents/{agent.agent_id}/model-usage")["today"]["cost_usd"] == 3
            wait_for(lambda: ask(agent, provider).status_code == 200, "a second call")
            last_kept(administrator, agent)
            wait_for(lambda: ask(agent, provider).status_code == 403, "six dollars are known")
            assert "nothing left" in error_of(ask(agent, provider))["message"]
        finally:
            assert administrator.api.delete(prices).status_code == 200
