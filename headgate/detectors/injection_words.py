"""The words and signs of ``config/detectors/injection.yaml``, found in one pass (Aho and Corasick, 1975).

Also how a text is folded for that: case, accents, line breaks and digits that stand for letters away, each character
staying where it is.
"""

import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Final, NamedTuple

from msgspec import Struct
from regorus import SignSearch

from headgate.configuration.resources import resource_path
from headgate.configuration.yaml_document import Section, read_document
from headgate.detectors.document import SEPARATOR
from headgate.kernel.canonical_json import JsonValue

_FOLDED_TO: Final = 0x250
_SPACED_SCRIPTS_END: Final = "\u0590"
_WORDS_WITH_ENDINGS_END: Final = 0xE00
"""The code from which a character ends no word: such scripts have no endings, or no spaces."""
_COMMAND: Final = "!"
"""After the name of a class in a sign: only where the word begins a clause, as a command does."""

_BEFORE_COMMANDS: Final = "\0.!?:;,\"'(>-*#/|)]}`"
_BEFORE_COMMAND_WORDS: Final = (
    "please",
    "then",
    "and",
    "now",
    "first",
    "also",
    "just",
    "kindly",
    "bitte",
    "und",
    "dann",
    "et",
    "puis",
    "y",
    "luego",
    "e",
    "poi",
    "en",
    "i",
    "ve",
    "oraz",
    "potem",
    "и",
    "затем",
)
_SPELLED: Final = {"\u0131": "i", "\u0130": "i", "ł": "l", "ø": "o", "đ": "d", "ß": "s", "œ": "o", "æ": "a", "Ł": "l"}
_SAME: Final = {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u2011": "-", "\uff1a": ":", "\uff0c": ","}
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_DIGIT_IN_WORD: Final = re.compile(r"[a-z][013457]+[a-z]")
_WITH_DIGITS: Final = re.compile(r"\b(?=[a-z013457]*[a-z])(?=[a-z]*[013457])[a-z013457]{3,}\b")
_DIGIT_WORDS_MIN: Final = 3
_PIECE_CHARACTERS: Final = 32_768
_LETTERS: Final = str.maketrans("013457", "oieast")
TEXT_ENDS: Final = SEPARATOR.decode().strip("\n")


class Word(NamedTuple):
    """``slots``: what it stands for in the signs, ``commands``: what as a command; ``signs``: what it may complete.
    Without signs: a text ends. ``names``: its classes; ``orders``: the same, and those that it stands for as a command,
    with ``!``."""

    begins_word: bool
    ends_word: bool
    slots: tuple[int, ...]
    commands: tuple[int, ...]
    signs: tuple[int, ...]
    names: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()


class Sign(NamedTuple):
    """``slots``: all must stand within ``within`` characters, in this order where ``ordered``. ``weight``: what it adds
    to the log odds, never below 0."""

    name: str
    slots: tuple[int, ...]
    within: int
    ordered: bool
    weight: float


class InjectionWords(Struct, frozen=True):
    """``names``: of each word that ``search`` numbers, ``names`` and ``orders``."""

    search: SignSearch
    names: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    signs: tuple[Sign, ...]
    bias: float


@cache
def _folding() -> dict[int, str]:
    table = {0xA0: " "}
    for code in range(0x80, _FOLDED_TO):
        lowered = chr(code).lower()
        base = unicodedata.normalize("NFD", lowered)[0]
        if base != chr(code):
            table[code] = base
    return table | {ord(one): to for one, to in (_SPELLED | _SAME).items()}


def folded(text: str) -> str:
    """As words are compared; as many characters as before."""
    plain = _lowered(text)
    if len(_DIGIT_IN_WORD.findall(plain)) < _DIGIT_WORDS_MIN:
        return plain
    return _WITH_DIGITS.sub(lambda word: word[0].translate(_LETTERS), plain)


def _lowered(text: str) -> str:
    text = text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    if text.isascii():
        return text.lower()
    # In pieces: a megabyte at once would hold the interpreter's lock for 100 ms.
    pieces = (text[at : at + _PIECE_CHARACTERS] for at in range(0, len(text), _PIECE_CHARACTERS))
    plain = (_NOT_ASCII.sub(lambda run: run[0].translate(_folding()), piece) for piece in pieces)
    return "".join(piece.lower() if len(piece.lower()) == len(piece) else _each_lowered(piece) for piece in plain)


def _each_lowered(text: str) -> str:
    return "".join(one.lower()[0] for one in text)


@cache
def injection_words() -> InjectionWords:
    """Raises ValidationError for a list that cannot be used."""
    document = read_document(resource_path("detectors", "injection.yaml"))
    weights = read_document(resource_path("detectors", "injection_weights.yaml"))
    return make_injection_words(document, weights.section("signs").members, _number(weights, "bias"))


def make_injection_words(document: Section, weights: Mapping[str, JsonValue] | None, bias: float) -> InjectionWords:
    """Without weights: each sign's ``prior``, what somebody thinks of it. Raises ValidationError."""
    classes = _classes(document.section("words"))
    slots: dict[frozenset[str], int] = {}
    signs: list[Sign] = []
    for name in document.section("signs").members:
        section = document.section("signs").section(name)
        section.only("of", "within", "ordered", "prior")
        of = [frozenset(one.split("|")) for one in section.strings("of")]
        for one in of:
            if unknown := {item.removesuffix(_COMMAND) for item in one} - classes.keys():
                raise section.fail("of", f"unknown classes: {', '.join(sorted(unknown))}")
        weight = weights.get(name) if weights is not None else section.members.get("prior")
        if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise section.fail("weight", "a number from 0 is required")
        places = tuple(slots.setdefault(one, len(slots)) for one in of)
        ordered = section.members.get("ordered") is True
        signs.append(Sign(name, places, int(_number(section, "within")), ordered, float(weight)))
    words: dict[str, set[str]] = {}
    for name, spellings in classes.items():
        for spelling in spellings:
            words.setdefault(spelling, set()).add(name)
    slots_of = _places(slots.items())
    signs_of = _places((sign.slots, number) for number, sign in enumerate(signs))
    # Thousands of words share few sets of classes: a start waits for this.
    places_of: dict[frozenset[str], tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {}
    names_of: dict[frozenset[str], tuple[tuple[str, ...], tuple[str, ...]]] = {}
    entries: dict[str, Word] = {}
    for spelling, named in words.items():
        bare = spelling.removesuffix("*")
        key = frozenset(named)
        if key not in places_of:
            own = _numbers(slots_of, named)
            commands = _numbers(slots_of, [name + _COMMAND for name in named])
            may = _numbers(signs_of, (*own, *commands))
            places_of[key] = own, commands, may
            names = tuple(sorted(named))
            names_of[key] = names, (*names, *(f"{name}{_COMMAND}" for name in names))
        own, commands, may = places_of[key]
        ends_word = not spelling.endswith("*") and _is_spaced(bare[-1])
        names, orders = names_of[key]
        entries[bare] = Word(_is_spaced(bare[0]), ends_word, own, commands, may, names, orders)
    entries[TEXT_ENDS] = Word(False, False, (), (), ())
    search = SignSearch(
        [(spelling, *word[:5]) for spelling, word in entries.items()],
        [(sign.slots, sign.within, sign.ordered, sign.weight) for sign in signs],
        len(slots),
        bias,
        bytes(chr(code).isalnum() for code in range(_WORDS_WITH_ENDINGS_END)),
        _BEFORE_COMMANDS,
        _BEFORE_COMMAND_WORDS,
    )
    names_and_orders = tuple((word.names, word.orders) for word in entries.values())
    return InjectionWords(search, names_and_orders, tuple(signs), bias)


def _places[One: Hashable](sets: Iterable[tuple[Iterable[One], int]]) -> dict[One, list[int]]:
    """The numbers of the sets in which each stands."""
    places: dict[One, list[int]] = {}
    for members, number in sets:
        for one in members:
            places.setdefault(one, []).append(number)
    return places


def _numbers[One: Hashable](places: Mapping[One, list[int]], among: Iterable[One]) -> tuple[int, ...]:
    return tuple(sorted({number for one in among for number in places.get(one, ())}))


def _classes(section: Section) -> dict[str, set[str]]:
    classes: dict[str, set[str]] = {}
    for name in section.members:
        languages = section.section(name)
        for language in languages.members:
            for one in languages.text(language).split(", "):
                spelling = folded(one.strip().strip('"'))
                if not spelling.rstrip("*") or "*" in spelling[:-1]:
                    raise languages.fail(language, f"{one!r} is no word")
                classes.setdefault(name, set()).add(spelling)
    both = {one for spellings in classes.values() for one in spellings}
    for spellings in classes.values():  # one spelling is one entry of the automaton
        spellings |= {f"{one}*" for one in spellings if f"{one}*" in both}
        spellings -= {one for one in spellings if f"{one}*" in both}
    return classes


def _number(section: Section, key: str) -> float:
    value = section.members.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise section.fail(key, "a number is required")
    return float(value)


def _is_spaced(character: str) -> bool:
    """Of a script that puts spaces between words, and of a word."""
    return character.isalnum() and character < _SPACED_SCRIPTS_END
