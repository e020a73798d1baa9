"""What a data document of prices says, and what is refused."""

from typing import Any

import pytest

from headgate.kernel.errors import ValidationError
from headgate.llm_usage.model import Counts
from headgate.llm_usage.prices import NO_PRICES, parse_prices, stored_prices

CHEAP, DEAR = {"input": 1, "output": 2}, {"input": 10, "output": 50}


@pytest.mark.parametrize(
    ("document", "model", "expected"),
    [
        ({"gpt-5": CHEAP}, "openai/gpt-5", 1),
        ({"openai/gpt-5": CHEAP}, "openai/gpt-5", 1),
        ({"openai/gpt-5": CHEAP, "gpt-5": DEAR}, "azure/gpt-5", 10),
        ({"openai/gpt-5": CHEAP, "gpt-5": DEAR}, "openai/gpt-5", 1),
        ({"gpt-5*": DEAR, "gpt-5-mini*": CHEAP}, "openai/gpt-5-mini-2025-08-07", 1),
        ({"gpt-5*": DEAR, "gpt-5-mini*": CHEAP}, "openai/gpt-5-2025-08-07", 10),
        ({"gpt-5-mini-*": DEAR, "gpt-5-mini-x": CHEAP}, "openai/gpt-5-mini-x", 1),
        ({"*": CHEAP}, "compatible/anything", 1),
        ({"openai/gpt-5": CHEAP}, "openrouter/openai/gpt-5", 1),
        ({"gpt-5": CHEAP}, "openai/gpt-5-mini", None),
        ({"GPT-5": CHEAP}, "openai/gpt-5", None),
        ({}, "openai/gpt-5", None),
    ],
)
def test_which_price_is_a_models(document: Any, model: str, expected: float | None) -> None:
    prices = parse_prices(document)
    for _ in range(2):  # the second time from memory
        price = prices.of(model)
        assert (None if price is None else price.input) == expected


def test_what_was_cached_has_a_price_of_its_own() -> None:
    prices = parse_prices({"m": {"input": 4, "cached_input": 1, "cache_write": 5, "output": 20}})
    used = Counts(1, 1_000_000, 500_000, 100_000, 50_000)
    assert prices.cost_usd([("a/m", used)]) == pytest.approx(0.4 * 4 + 0.5 * 1 + 0.1 * 5 + 0.05 * 20)
    assert parse_prices({"m": CHEAP}).cost_usd([("a/m", used)]) == pytest.approx(1 + 0.1)


def test_the_cost_of_several_is_unknown_where_one_is() -> None:
    prices = parse_prices({"m": CHEAP})
    assert prices.cost_usd([("a/m", Counts(1, 10)), ("a/n", Counts(1, 1))]) is None
    assert prices.cost_usd([]) == 0
    assert NO_PRICES.cost_usd([]) == 0


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "object of prices"),
        ({"m": 3}, "object with input and output"),
        ({"m": {"input": 1}}, "output is missing"),
        ({"m": {"input": 1, "output": 1, "outptu": 1}}, "no outptu"),
        ({"m": {"input": True, "output": 1}}, "m.input must be a number"),
        ({"m": {"input": 1, "output": "2"}}, "m.output must be a number"),
        ({"m": {"input": 1, "output": -1}}, "m.output must be a number"),
        ({"m": {"input": 1, "output": 10**9}}, "m.output must be a number"),
        ({"m*x": CHEAP}, "asterisk at its end only"),
        ({"": CHEAP}, "a name has up to"),
        ({"m" * 301: CHEAP}, "a name has up to"),
        ({f"m{number}": CHEAP for number in range(2001)}, "at most 2000"),
    ],
)
def test_what_is_refused(document: Any, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        parse_prices(document)


@pytest.mark.parametrize("content", ["{", "[]", '{"m": {}}'])
def test_a_document_that_cannot_be_read_says_no_price(content: str) -> None:
    assert stored_prices({"model_prices": content}).of("openai/m") is None
    assert stored_prices({}).of("openai/m") is None
