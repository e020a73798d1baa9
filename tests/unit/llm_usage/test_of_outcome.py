"""Which model a use counts for where the request lets several answer."""

import pytest

from headgate.llm_usage.of_outcome import counted_model
from headgate.llm_usage.prices import parse_prices
from headgate.protocols.llm_answer import Usage

PRICES = parse_prices({"reads": {"input": 9, "output": 1}, "writes": {"input": 1, "output": 9}})


@pytest.mark.parametrize(
    ("models", "usage", "expected"),
    [
        (("p/reads",), Usage(1, 0, 0, 1), "p/reads"),
        (("p/reads", "p/writes"), Usage(100, 0, 0, 1), "p/reads"),
        (("p/reads", "p/writes"), Usage(1, 0, 0, 100), "p/writes"),
        (("p/reads", "p/unpriced", "p/writes"), Usage(100, 0, 0, 100), "p/unpriced"),
    ],
)
def test_the_dearest_counts(models: tuple[str, ...], usage: Usage, expected: str) -> None:
    assert counted_model(models, usage, PRICES) == expected
