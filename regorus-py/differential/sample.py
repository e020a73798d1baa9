"""A fixed sample of calls and expressions, with OPA's answers, for where there is no Go."""

from pathlib import Path
from random import Random

from differential import builtins, expressions, patterns
from differential.ask import Call, Expression
from differential.compare import NOT_THERE, digest

GOLDEN = Path(__file__).parent / "golden.txt"
SEED = 20
PATTERN_CALLS, BUILTIN_CALLS, EXPRESSIONS = 2_400, 6_000, 2_000
SKIPPED = "?"
"""For a builtin that OPA's version has not, and for a panic in it."""


def make(seed: int, pattern_calls: int, builtin_calls: int, expression_count: int) -> list[Call | Expression]:
    """The calls of a seed, first those of patterns; then expressions."""
    random = Random(seed)  # noqa: S311 - nothing secret
    calls: list[Call | Expression] = []
    while len(calls) < pattern_calls:
        calls += [Call(name, tuple(values)) for name, values in patterns.calls(random)]
    for _ in range(builtin_calls):
        name, values = builtins.call(random)
        calls.append(Call(name, tuple(values)))
    return calls + expressions.expressions(seed, expression_count)


def fixed() -> list[Call | Expression]:
    """The calls and expressions of the committed answers."""
    return make(SEED, PATTERN_CALLS, BUILTIN_CALLS, EXPRESSIONS)


def digests(calls: list[Call | Expression], theirs: list[bytes]) -> str:
    """The committed answers, a line each."""

    def one(call: Call | Expression, line: bytes) -> str:
        return SKIPPED if NOT_THERE.encode() in line or b"panic: " in line else digest(line, call.name)

    return "".join(f"{one(call, line)}\n" for call, line in zip(calls, theirs, strict=True))
