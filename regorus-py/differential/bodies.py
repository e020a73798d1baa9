"""Generated policies whose names are bound, or not, in many ways: for OPA's safety check and the one here."""

import json
from pathlib import Path
from random import Random

from regorus import Policy, RegoError

GOLDEN = Path(__file__).parent / "bodies.txt"
"""OPA's verdicts on the policies of ``fixed``, a letter each."""
UNSAFE, REFUSED, ACCEPTED = "u", "r", "a"
SEED, COUNT = 11, 4_000

PRELUDE = "package t\n\nxs := input.l\n\ng[k] := v if some k, v in input.g\n\ns contains input.s\n\nf(x) := x\n\n"
NAMES = ("i", "i", "j", "j", "k", "x", "xs", "_")
ROOTS = ("input.xs", "input", "xs", "g", "s", "data.t.xs", "data.z", "i", "j", "x")
DEPTH = 3


class Bodies:
    """Draws parts of a policy; ``depth`` is what is left to nest."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def name(self) -> str:
        return self.random.choice(NAMES)

    def declared(self) -> str:
        return self.random.choice(NAMES[:-1])

    def some(self, depth: int, low: int, high: int) -> list[str]:
        return [self.term(depth) for _ in range(self.random.randint(low, high))]

    def reference(self, depth: int) -> str:
        """``input.xs[i].y``."""
        text = self.random.choice(ROOTS)
        for _ in range(self.random.randint(1, 2)):
            text += ".y" if self.random.random() < 0.25 else f"[{self.term(depth - 1)}]"
        return text

    def pattern(self, depth: int) -> str:
        """What may stand left of ``:=``."""
        kind = self.random.randint(0, 5) if depth > 0 else 0
        if kind == 4:
            return f"[{self.pattern(depth - 1)}, {self.pattern(depth - 1)}]"
        if kind == 5:
            return f'{{"a": {self.pattern(depth - 1)}}}'
        return self.name() if self.random.random() < 0.9 else "1"

    def leaf(self) -> str:
        return self.random.choice((self.name(), self.name(), "1", '"a"', "input.a", "input.xs", "xs"))

    def term(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.4:
            return self.leaf()
        inner = depth - 1
        return self.random.choice(
            (
                self.reference,
                self.reference,
                self.reference,
                lambda _: f"[{', '.join(self.some(inner, 1, 2))}]",
                lambda _: f"{{{self.term(inner)}}}",
                lambda _: f'{{"a": {self.term(inner)}}}',
                lambda _: f"{{{self.term(inner)}: {self.term(inner)}}}",
                lambda _: f"f({self.term(inner)})",
                lambda _: f"count({self.term(inner)})",
                lambda _: f"f({self.term(inner)})[{self.term(inner)}]",
                lambda _: f"[{self.term(inner)}, 2][{self.term(inner)}]",
                lambda _: f"({self.term(inner)} + {self.term(inner)})",
                lambda _: f"({self.term(inner)} | {self.term(inner)})",
                lambda _: f"[{self.term(inner)} | {self.body(inner)}]",
                lambda _: f"{{{self.term(inner)} | {self.body(inner)}}}",
                lambda _: f"{{{self.term(inner)}: {self.term(inner)} | {self.body(inner)}}}",
                lambda _: f"({self.term(inner)} in {self.term(inner)})",
                lambda _: f"({self.term(inner)} == {self.term(inner)})",
            )
        )(depth)

    def expression(self, depth: int) -> str:
        """What may stand behind ``not``."""
        one, two = (lambda: self.term(depth - 1)), (lambda: self.term(depth - 1))
        return self.random.choice(
            (
                lambda: self.reference(depth),
                lambda: self.reference(depth),
                lambda: f"{one()} == {two()}",
                lambda: f"{one()} != {two()}",
                lambda: f"{one()} = {two()}",
                lambda: f"{one()} = {two()}",
                lambda: f"{one()} in {two()}",
                lambda: f"{self.name()}, {one()} in {two()}",
                lambda: f"f({one()})",
                lambda: f"f({one()}, {two()})",
                lambda: f"startswith({one()}, {two()})",
                lambda: f"count({one()}, {two()})",
                lambda: f"walk({one()}, [{two()}, {self.term(depth - 1)}])",
                one,
            )
        )()

    def statement(self, depth: int) -> str:
        kind = self.random.randint(0, 15)
        match kind:
            case 0:
                return f"some {self.declared()}"
            case 1 | 2:
                return f"some {self.pattern(1)} in {self.term(depth)}"
            case 3:
                return f"some {self.pattern(1)}, {self.pattern(1)} in {self.term(depth)}"
            case 4 | 5:
                return f"{self.pattern(1)} := {self.term(depth)}"
            case 6:
                pair = f"{self.declared()}, " if self.random.random() < 0.3 else ""
                return f"every {pair}{self.declared()} in {self.term(depth)} {{ {self.body(depth - 1)} }}"
            case 7 | 8 | 9 | 10:
                text = f"not {self.expression(depth)}"
            case _:
                text = self.expression(depth)
        if self.random.random() < 0.12:
            target = self.random.choice(("input", "input.a", "data.z", "xs", "f", "count"))
            text += f" with {target} as {self.term(depth - 1)}"
        return text

    def body(self, depth: int) -> str:
        return "; ".join(self.statement(max(depth, 1)) for _ in range(self.random.randint(1, 3)))

    def rule(self) -> str:
        """A rule, in each of its forms."""
        body = f"{{ {self.body(DEPTH)} }}"
        if self.random.random() < 0.5:
            return f"allow if {body}"
        term, other = self.term(2), self.term(2)
        return self.random.choice(
            (
                f"r := {term} if {body}",
                f"r contains {term} if {body}",
                f"r[{term}] := {other} if {body}",
                f"r.a[{self.name()}].b := {other} if {body}",
                f"h({self.pattern(1)}) := {term} if {body}",
                f"h({self.pattern(1)}, {self.pattern(1)}) if {body}",
                f"r if {body} else if {{ {self.body(2)} }}",
                f"r := {term} if {body} else := {other} if {{ {self.body(2)} }}",
                f"r := {term}",
                f"r contains {term}",
                f"r[{term}] := {other}",
                f"h({self.pattern(1)}) := {term}",
            )
        )


def policies(seed: int, count: int) -> list[str]:
    """As many policies of a seed."""
    bodies = Bodies(Random(seed))  # noqa: S311 - nothing secret
    return [f"{PRELUDE}{bodies.rule()}\n" for _ in range(count)]


def fixed() -> list[str]:
    """The policies of the committed verdicts."""
    return policies(SEED, COUNT)


def verdict_of_opa(line: bytes) -> str:
    """From the outcome of a module."""
    complaints = json.loads(line)["value"]
    if any(complaint.startswith("rego_unsafe_var_error") for complaint in complaints):
        return UNSAFE
    return REFUSED if complaints else ACCEPTED


def verdict_here(policy: str) -> str:
    """Of the check when a policy is saved."""
    try:
        Policy(policy)
    except RegoError as refusal:
        return UNSAFE if "unsafe" in refusal.message else REFUSED
    return ACCEPTED


def compare_bodies(texts: list[str], theirs: str) -> tuple[list[str], list[str]]:
    """The policies that are accepted here and unsafe to OPA, and those that are the other way round."""
    lax, strict = [], []
    for text, their in zip(texts, theirs, strict=True):
        ours = verdict_here(text)
        if their == UNSAFE and ours == ACCEPTED:
            lax.append(text)
        elif their == ACCEPTED and ours == UNSAFE:
            strict.append(text)
    return lax, strict
