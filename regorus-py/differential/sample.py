"""A fixed sample of calls, expressions and policies, with OPA's answers, for where there is no Go."""

from pathlib import Path
from random import Random

from differential import builtins, expressions, patterns, statements
from differential.ask import Call, Decision, Expression
from differential.compare import ERROR, NOT_THERE, digest

GOLDEN = Path(__file__).parent / "golden.txt"
SEED = 20
PATTERN_CALLS, BUILTIN_CALLS, EXPRESSIONS, DECISIONS = 2_400, 6_000, 2_000, 2_000
SKIPPED = "?"
"""For a builtin that OPA's version has not, for a panic in it, and for a policy with an error in OPA."""


def make(
    seed: int, pattern_calls: int, builtin_calls: int, expression_count: int, decision_count: int
) -> list[Call | Expression | Decision]:
    """The calls of a seed, first those of patterns; then expressions; then policies."""
    random = Random(seed)  # noqa: S311 - nothing secret
    calls: list[Call | Expression | Decision] = []
    while len(calls) < pattern_calls:
        calls += [Call(name, tuple(values)) for name, values in patterns.calls(random)]
    for _ in range(builtin_calls):
        name, values = builtins.call(random)
        calls.append(Call(name, tuple(values)))
    return [*calls, *expressions.expressions(seed, expression_count), *statements.decisions(seed, decision_count)]


def fixed() -> list[Call | Expression | Decision]:
    """The calls, expressions and policies of the committed answers."""
    return make(SEED, PATTERN_CALLS, BUILTIN_CALLS, EXPRESSIONS, DECISIONS)


def digests(calls: list[Call | Expression | Decision], theirs: list[bytes]) -> str:
    """The committed answers, a line each."""

    def one(call: Call | Expression | Decision, line: bytes) -> str:
        if NOT_THERE.encode() in line or b"panic: " in line:
            return SKIPPED
        found = digest(line, call.name)
        return SKIPPED if isinstance(call, Decision) and found == ERROR else found

    return "".join(f"{one(call, line)}\n" for call, line in zip(calls, theirs, strict=True))
