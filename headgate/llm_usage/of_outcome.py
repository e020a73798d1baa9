"""What the outcome of a call keeps of the language model that answered, and back from there. Pure.

``result.llm`` of an execution: ``{model, tokens_in, tokens_cached, tokens_cache_written, tokens_out, estimated,
cost_usd, tool_calls}``. ``cost_usd`` is null where the price was not known.
"""

import json
from collections.abc import Sequence
from math import inf
from typing import Any, Final

from headgate.kernel.canonical_json import JsonObject, JsonValue
from headgate.llm_usage.model import Counts, ModelUse
from headgate.llm_usage.prices import Prices
from headgate.protocols.llm_answer import Usage

MEMBER: Final = "llm"
_MEMBER_BYTES: Final = b'"llm":{"cost_usd":'
_NUMBERS: Final = ("tokens_in", "tokens_cached", "tokens_cache_written", "tokens_out")


def counted_model(models: Sequence[str], usage: Usage, prices: Prices) -> str:
    """The model that this use counts for, because the provider chose which one answered: one without a price, or else
    the most expensive. ``models``: at least one."""
    counts = Counts()
    counts.add(usage)

    def cost_usd(model: str) -> float:
        cost = prices.cost_usd([(model, counts)])
        return inf if cost is None else cost

    return max(models, key=cost_usd)


def kept_usage(model: str, usage: Usage, prices: Prices, tools: Sequence[str]) -> JsonObject:
    counts = Counts()
    counts.add(usage)
    calls: list[JsonValue] = list(tools)
    return {
        "model": model,
        "tokens_in": usage.tokens_in,
        "tokens_cached": usage.tokens_cached,
        "tokens_cache_written": usage.tokens_cache_written,
        "tokens_out": usage.tokens_out,
        "estimated": usage.estimated,
        "cost_usd": prices.cost_usd([(model, counts)]),
        "tool_calls": calls,
    }


def says_usage(result: bytes) -> bool:
    """Of an execution's result as it is stored. Of one text that a server wrote it is no part: quotation marks are
    escaped there."""
    return _MEMBER_BYTES in result


def use_in(result: str, *, execution_id: str, agent_id: str, day: str) -> ModelUse | None:
    """Of a result that says it; None where it does not after all."""
    try:
        value: Any = json.loads(result)
        kept = value[MEMBER]
        given, cached, written, out = (int(kept[name]) for name in _NUMBERS)
        usage = Usage(given, cached, written, out, bool(kept["estimated"]))
        return ModelUse(execution_id, agent_id, str(kept["model"]), day, usage)
    except (ValueError, KeyError, TypeError):
        return None
