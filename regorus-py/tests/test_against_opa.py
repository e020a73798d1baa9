"""A fixed sample of calls has OPA's values; ``python -m differential`` compares as many as are wanted."""

from collections import Counter
from pathlib import Path

import pytest

SAME_MIN, ERROR_HERE_MAX = 7_000, 1_000
ACCEPTED_MIN, STRICTER_MAX = 400, 10


def test_no_builtin_has_another_value_than_in_opa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from differential.ask import ask_here  # noqa: PLC0415 - it stands beside the package, not in it
    from differential.compare import DIFFERENT, ERROR_HERE, SAME, digest, verdict  # noqa: PLC0415
    from differential.sample import GOLDEN, SKIPPED, fixed  # noqa: PLC0415

    calls, golden = fixed(), GOLDEN.read_text().splitlines()
    counts, different = Counter[str](), []
    for call, theirs, line in zip(calls, golden, ask_here(calls), strict=True):
        if theirs == SKIPPED:
            continue
        found = verdict(theirs, digest(line, call.name))
        counts[found] += 1
        if found == DIFFERENT:
            different.append((call, line))
    assert different == []
    assert counts[SAME] > SAME_MIN
    assert counts[ERROR_HERE] < ERROR_HERE_MAX


def test_no_policy_is_accepted_that_is_unsafe_to_opa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    from differential.bodies import ACCEPTED, GOLDEN, compare_bodies, fixed, verdict_here  # noqa: PLC0415

    policies, golden = fixed(), GOLDEN.read_text().strip()
    lax, strict = compare_bodies(policies, golden)
    assert lax == []
    assert len(strict) < STRICTER_MAX
    both = [text for text, their in zip(policies, golden, strict=True) if their == ACCEPTED == verdict_here(text)]
    assert len(both) > ACCEPTED_MIN
