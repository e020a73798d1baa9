"""Changes to texts: small ones that keep most of their sense, and a few that do not."""

import json
import re
from random import Random

from regorus_fuzz.case import Case
from regorus_fuzz.generate import LEAVES, NUMBERS, OPERATORS, TEXTS, expression, policy

TEXT_BYTES_MAX = 70_000
WORDS = re.compile(r"\w+|\s+|[^\w\s]")
PIECES = [
    *OPERATORS,
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "`",
    '"',
    "#",
    "\n",
    "\t",
    "\\",
    ",",
    ".",
    "|",
    "if",
    "some",
    "every",
    "not",
    "else",
    "default",
    "with",
    "as",
    "import",
    "contains",
    "input",
    "data",
    "package x",
    "import data.lib.a",
    "null",
    "_",
    "$",
    "\ufeff",
]


def mutated(random: Random, corpus: list[Case]) -> Case:
    """A new case from one or two old ones, or from nothing."""
    case = random.choice(corpus)
    if random.random() < 0.4:
        return Case(policy(random), case.input if random.random() < 0.8 else document(random, case.input))
    text, other = case.policy, random.choice(corpus).policy
    for _ in range(random.randint(1, 4)):
        text = random.choice(CHANGES)(random, text, other)[:TEXT_BYTES_MAX]
    return Case(text, document(random, case.input) if random.random() < 0.3 else case.input)


def swap_words(random: Random, text: str, _other: str) -> str:
    words = WORDS.findall(text)
    if len(words) > 1:
        one, two = random.randrange(len(words)), random.randrange(len(words))
        words[one], words[two] = words[two], words[one]
    return "".join(words)


def drop_words(random: Random, text: str, _other: str) -> str:
    words = WORDS.findall(text)
    start = random.randrange(len(words) + 1)
    return "".join(words[:start] + words[start + random.randint(1, 5) :])


def replace_word(random: Random, text: str, _other: str) -> str:
    words = WORDS.findall(text)
    if words:
        words[random.randrange(len(words))] = random.choice(
            [*PIECES, *LEAVES, *NUMBERS, json.dumps(random.choice(TEXTS))]
        )
    return "".join(words)


def insert_expression(random: Random, text: str, _other: str) -> str:
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice([expression(random), random.choice(PIECES)]) + text[at:]


def repeat(random: Random, text: str, _other: str) -> str:
    start = random.randrange(len(text) + 1)
    part = text[start : start + random.choice([1, 2, 5, 20, 200])]
    return text[:start] + part * random.choice([2, 3, 10, 100, 1_000]) + text[start + len(part) :]


def splice(random: Random, text: str, other: str) -> str:
    lines, others = text.splitlines(keepends=True), other.splitlines(keepends=True)
    return "".join(lines[: random.randrange(len(lines) + 1)] + others[random.randrange(len(others) + 1) :])


def borrow_lines(random: Random, text: str, other: str) -> str:
    lines, others = text.splitlines(keepends=True), other.splitlines(keepends=True)
    at, start = random.randrange(len(lines) + 1), random.randrange(len(others) + 1)
    return "".join(lines[:at] + others[start : start + random.randint(1, 5)] + lines[at:])


def flip_character(random: Random, text: str, _other: str) -> str:
    if not text:
        return text
    at = random.randrange(len(text))
    return text[:at] + chr(random.choice([random.randrange(128), random.randrange(0xD7FF)])) + text[at + 1 :]


CHANGES = [
    swap_words,
    drop_words,
    replace_word,
    replace_word,
    insert_expression,
    repeat,
    splice,
    borrow_lines,
    flip_character,
]


def document(random: Random, text: str) -> str:
    """An input, most of the time still JSON."""
    if random.random() < 0.2:
        return flip_character(random, text, "")
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(changed(random, value), ensure_ascii=random.random() < 0.5)


def changed(random: Random, value: object, depth: int = 0) -> object:
    if random.random() < 0.15 or depth > 20:
        return random.choice(
            [None, True, 0, -1, 2**63, 10**40, 0.1, "", random.choice(TEXTS), [], {}, [[[]]], "A" * 20_000, [1] * 1_000]
        )
    if isinstance(value, dict):
        return {name: changed(random, member, depth + 1) for name, member in value.items() if random.random() > 0.05}
    if isinstance(value, list):
        return [changed(random, item, depth + 1) for item in value] * random.choice([1, 1, 1, 2])
    return value
