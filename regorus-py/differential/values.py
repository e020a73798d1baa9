# ruff: noqa: E501, D103, E731, RUF001, RUF100, S104, C420 - lines of data, and letters that look alike
"""Values of every type, and how they are put together."""

from collections.abc import Callable
from random import Random

Make = Callable[[Random], object]

LETTERS = [*"aabbcABCzZ019 .,-_/%=&+:;@#?*{}[]()\\\"'<>|~^$!\n\t\r", "é", "É", "ß", "ẞ", "İ", "ı", "ς", "σ", "Σ", "ŉ", "ǆ", "ǅ", "ﬁ", "日",
           "\U0001f600", "\u0301", "\u00a0", "\u2028", "\u3000", "\ufeff", "\u200b", "\x00", "\x7f", "\u0085", "\u019b", "\ua7dc"]  # fmt: skip
WORDS = [
    "",
    "a",
    "b",
    "ab",
    "abc",
    "foo",
    "foobar",
    "FooBar",
    "a.b.c",
    "a/b/c",
    "ÀÉÎ",
    "straße",
    "İstanbul",
    "日本語",
    "x" * 40,
    " a b ",
    "null",
    "1",
    "true",
]
WHOLE = [
    0,
    0,
    1,
    1,
    2,
    3,
    5,
    7,
    10,
    16,
    100,
    -1,
    -2,
    -7,
    255,
    1000,
    2**31,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**18,
    10**20,
    123456789012345678901,
]
FRACTIONS = [
    0.0,
    0.1,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    -2.5,
    3.7,
    1e21,
    1e20,
    1.5e300,
    123456.789,
    0.1 + 0.2,
    100000000.5,
    1e6 + 0.5,
    3.0,
    1e3,
    4.35,
    2.675,
]


def text(random: Random) -> str:
    if random.random() < 0.35:
        return random.choice(WORDS)
    few = random.sample(LETTERS, random.choice([2, 4, 8, len(LETTERS)]))
    return "".join(random.choice(few) for _ in range(random.choice([0, 1, 2, 3, 5, 8, 13])))


def plain(random: Random) -> str:
    """Few different letters: much of it matches."""
    return "".join(random.choice("aab.b/ é") for _ in range(random.choice([0, 1, 1, 2, 3, 5, 8])))


def whole(random: Random) -> int:
    return random.choice(WHOLE) if random.random() < 0.7 else random.randrange(-20, 200)


def small(random: Random) -> int:
    return random.randrange(-3, 12)


def number(random: Random) -> float:
    """As RFC 8785 spells them, without a point for whole ones: OPA keeps `1.0` as it is written, here it is 1."""
    choice = random.random()
    if choice < 0.5:
        return whole(random)
    found = random.choice(FRACTIONS) if choice < 0.8 else round(random.uniform(-1000, 1000), random.randrange(0, 8))
    return int(found) if found % 1 == 0 and abs(found) < 1e21 else found


def leaf(random: Random) -> object:
    return random.choice([text, plain, number, whole, lambda _: random.choice([None, True, False])])(random)


def anything(random: Random, depth: int = 0) -> object:
    choice = random.random()
    if depth > 2 or choice < 0.5:
        return leaf(random)
    size = random.choice([0, 1, 2, 3])
    if choice < 0.68:
        return [anything(random, depth + 1) for _ in range(size)]
    if choice < 0.8:
        return {"$set": [anything(random, depth + 1) for _ in range(size)]}
    return {
        random.choice([*"abcAB", "é", "a/b", "a~b", "10", "9", ""]): anything(random, depth + 1) for _ in range(size)
    }


def list_of(make: Make, sizes: tuple[int, ...] = (0, 1, 2, 3, 5)) -> Make:
    return lambda random: [make(random) for _ in range(random.choice(sizes))]


def set_of(make: Make) -> Make:
    return lambda random: {"$set": [make(random) for _ in range(random.choice([0, 1, 2, 3, 5]))]}


def one_of(*makes: Make) -> Make:
    return lambda random: random.choice(makes)(random)


def choice_of(*values: object) -> Make:
    return lambda random: random.choice(values)


def mostly(make: Make) -> Make:
    return lambda random: make(random) if random.random() < 0.97 else anything(random)


def object_of(make: Make) -> Make:
    return lambda random: {
        random.choice(["a", "b", "ab", "é", ".", "a/b", "x", "0"]): make(random) for _ in range(random.randrange(4))
    }


def pieces(*parts: str, least: int = 1, most: int = 4) -> Make:
    return lambda random: "".join(random.choice(parts) for _ in range(random.randint(least, most)))


def damaged(make: Make) -> Make:
    """With a character changed, at times."""

    def one(random: Random) -> object:
        made = make(random)
        if not isinstance(made, str) or not made or random.random() < 0.7:
            return made
        at = random.randrange(len(made))
        return (
            made[:at]
            + random.choice(["", "=", "-", "_", " ", "\n", "+", "0", ".", "x", "%", made[at] * 2])
            + made[at + 1 :]
        )

    return one
