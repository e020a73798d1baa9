"""Generated policies with a value for one input: negations, operators and their spaces, ``with``, ``every``, ``some``.

The value is a boolean or a number, or there is none. Many operands are undefined: below ``not`` that decides.
"""

from collections.abc import Callable
from random import Random

from differential.ask import Decision

DEPTH = 3
INPUT = {
    "a": 1,
    "b": 2,
    "c": 0,
    "n": -4,
    "s": "abc",
    "t": True,
    "f": False,
    "z": None,
    "xs": [1, 2, 3],
    "e": [],
    "o": {"k": "v", "n": 3},
}
PRELUDE = """package t

f(p) := p

g(p) if p == 1

h(p) := p + 1 if p > 0

s contains q if some q in input.xs

u if input.missing

d := input.missing + 1

v := input.b

default w := -1

w := 5 if input.missing

"""
NUMBERS = ("input.a", "input.b", "input.c", "input.n", "input.missing", "input.o.n", "input.o.m", "v", "d", "w")
LITERALS = ("0", "1", "2", "-1", "-3", "2.5", "1e1")
TEXTS = ("input.s", "input.missing", "input.o.k", '"abc"', '"a"', "`a`", '""', '"#"')
LISTS = ("input.xs", "input.xs", "input.e", "input.missing", "data.t.s", "s", "[1, -1]", "[]", "[2]")
TRUTHS = ("input.t", "input.f", "input.z", "input.missing", "input.missing.x", "input.s.x", "u", "g(1)", "false")
TARGETS = ("input.a", "input.missing", "input.xs", "input.o", "input.t", "data.t.v")


class Statements:
    """Draws parts of a policy; ``depth`` is what is left to nest."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names: list[str] = []
        self.count = 0

    def one(self, *choices: Callable[[], str]) -> str:
        return self.random.choice(choices)()

    def name(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def space(self) -> str:
        return self.random.choice(("", " ", " ", " ", "\n  ", " # -\n "))

    def number(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.3:
            names = self.names[-2:] if self.random.random() < 0.4 else []
            return self.random.choice([*NUMBERS, *names, *names, *LITERALS])
        inner = depth - 1

        def operator() -> str:
            sign = self.random.choice("+-*-")
            return f"{self.number(inner)}{self.space()}{sign}{self.space()}{self.number(inner)}"

        return self.one(
            operator,
            operator,
            lambda: f"({operator()})",
            lambda: f"count({self.list(inner)})",
            lambda: f"f({self.number(inner)})",
            lambda: f"h({self.number(inner)})",
            lambda: f"abs({self.number(inner)})",
            lambda: f"input.xs[{self.number(inner)}]",
            lambda: f"[{self.number(inner)}, {self.number(inner)}][{self.random.choice('012')}]",
            lambda: f'{{"k": {self.number(inner)}, "l": 1}}["k"]',
            lambda: f"object.get(input, {self.text(inner)}, {self.number(inner)})",
            lambda: f"-{self.random.choice(('input.b', 'v', 'input.missing', 'count(input.xs)'))}",
        )

    def text(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.random.choice(TEXTS)
        inner = depth - 1
        return self.one(
            lambda: f"lower({self.text(inner)})",
            lambda: f"f({self.text(inner)})",
            lambda: f'concat("", [{self.text(inner)}, {self.text(inner)}])',
            lambda: f"[{self.text(inner)}][0]",
        )

    def list(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.random.choice(LISTS)
        inner = depth - 1
        return self.one(
            lambda: f"[{self.number(inner)}, {self.number(inner)}]",
            lambda: "{1, 2}",
            lambda: f"({{{self.number(inner)}, 2}} {self.random.choice('-|&')} {{{self.number(inner)}}})",
            lambda: f"f({self.list(inner)})",
            lambda: self.comprehension(inner, "[]"),
            lambda: self.comprehension(inner, "{}"),
        )

    def comprehension(self, depth: int, brackets: str) -> str:
        name = self.name()
        source = self.list(depth)
        self.names.append(name)
        text = f"{brackets[0]}{name} | some {name} in {source}; {self.statement(depth)}{brackets[1]}"
        self.names.pop()
        return text

    def any(self, depth: int) -> str:
        return self.one(
            lambda: self.number(depth),
            lambda: self.text(depth),
            lambda: self.list(depth),
            lambda: f'{{"k": {self.number(depth - 1)}, "l": {self.text(depth - 1)}}}',
            lambda: f"[{self.number(depth - 1)}]",
            lambda: self.random.choice(TRUTHS[:5]),
        )

    def truth(self, depth: int) -> str:
        """What may stand behind ``not``."""
        if depth <= 0:
            return self.random.choice(TRUTHS)
        inner = depth - 1
        one, two = lambda: self.number(inner), lambda: self.number(inner)
        sign = self.random.choice(("==", "!=", "<", ">", ">=", "<="))
        return self.one(
            lambda: f"{one()}{self.space()}{sign}{self.space()}{two()}",
            lambda: f"{one()}{self.space()}{sign}{self.space()}{two()}",
            lambda: f"{self.text(inner)} {self.random.choice(('==', '!='))} {self.text(inner)}",
            lambda: f"{self.list(inner)} {self.random.choice(('==', '!='))} {self.list(inner)}",
            lambda: f"({self.truth(inner)}) == {self.random.choice(('true', 'false'))}",
            lambda: f"({self.truth(inner)})",
            lambda: f"{one()} in {self.list(inner)}",
            lambda: f"{self.random.choice('01')}, {one()} in [{two()}, {one()}]",
            lambda: f"startswith({self.text(inner)},{self.space()}{self.text(inner)})",
            lambda: f"g({one()})",
            lambda: f"f({self.truth(inner)})",
            lambda: f"s[{one()}]",
            lambda: f"input.xs[{one()}]",
            lambda: f"is_number({self.any(inner)})",
            lambda: f"is_string({self.any(inner)})",
            lambda: self.any(inner),
            lambda: self.random.choice(TRUTHS),
        )

    def statement(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.1 and depth > 0:
            name = self.name()
            source = self.list(depth - 1)
            self.names.append(name)
            text = f"every {name} in {source} {{ {name} == {name}; {self.statement(depth - 1)} }}"
            self.names.pop()
            return text
        text = self.truth(depth)
        if text.startswith("{"):
            text = f"f({text})"
        if kind < 0.7:
            text = f"not{self.random.choice((' ', ' ', ' ', '  '))}{text}"
        for _ in range(self.random.choice((0, 0, 0, 0, 1, 1, 2))):
            before = self.random.choice((" ", " ", "\n  "))
            text += f"{before}with {self.random.choice(TARGETS)} as {self.any(min(depth, 2) - 1)}"
        return text

    def body(self) -> str:
        names = len(self.names)
        statements = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.2:
                name = self.name()
                given = self.any(2) if self.random.random() < 0.3 else self.number(2)
                some = f"some {name} in {self.list(1)}" if self.random.random() < 0.4 else f"{name} := {given}"
                statements.append(f"{some}; {name} == {name}")
                self.names.append(name)
            else:
                statements.append(self.statement(DEPTH))
        del self.names[names:]
        return self.random.choice(("; ", "\n  ")).join(statements)

    def rule(self) -> str:
        """A rule that has the value."""
        return self.one(
            lambda: f"r if {{ {self.body()} }}",
            lambda: f"r if {{\n  {self.body()}\n}}",
            lambda: f"r if {{ {self.body()} }}",
            lambda: f"r if {self.statement(DEPTH)}",
            lambda: f"r := {self.number(DEPTH)}",
            lambda: f"default r := -1\n\nr := {self.number(2)} if {{ {self.body()} }}",
            lambda: f"r := 1 if {self.statement(2)} else := {self.number(2)} if {{ {self.body()} }}",
            lambda: f"r := 1 if {{ {self.body()} }} else := {self.number(2)}",
            lambda: f"r := count({self.comprehension(2, '[]')})",
        )


def decisions(seed: int, count: int) -> list[Decision]:
    """As many policies of a seed."""
    random = Random(seed)  # noqa: S311 - nothing secret
    return [Decision(f"{PRELUDE}{Statements(random).rule()}\n", INPUT) for _ in range(count)]
