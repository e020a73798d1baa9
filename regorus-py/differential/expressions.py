"""Generates expressions of numbers and operators, which OPA calculates with mantissas of 64 bits."""

from random import Random

from differential.ask import Expression
from differential.values import FRACTIONS, WHOLE

DEPTH = 4
OPERATORS = ("+", "-", "*", "/", "%")
SMALL = (1, 2, 3, 7, 10, 49, 100)


def expressions(seed: int, count: int) -> list[Expression]:
    """Returns ``count`` expressions, the same for the same seed."""
    random = Random(seed)  # noqa: S311 - nothing secret
    return [Expression(_expression(random, random.randint(1, DEPTH))) for _ in range(count)]


def _expression(random: Random, depth: int) -> str:
    if depth == 0 or random.random() < 0.2:
        return _number(random)
    text = f" {random.choice(OPERATORS)} ".join(
        _expression(random, depth - 1) for _ in range(random.choice((2, 2, 2, 3)))
    )
    return text if random.random() < 0.4 else f"({text})"


def _number(random: Random) -> str:
    kind = random.random()
    if kind < 0.4:
        return str(random.choice(SMALL))
    if kind < 0.6:
        return f"{random.randrange(1, 10**6)}e-{random.randrange(1, 9)}"
    return repr(random.choice(WHOLE if kind < 0.8 else FRACTIONS))
