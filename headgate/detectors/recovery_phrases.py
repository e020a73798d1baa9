"""Recovery phrases of wallets: twelve to twenty-four words of BIP 39 in a row. They give access to the wallet.

The list lacks ``the``, ``of`` and ``is``, so that ordinary sentences seldom match. The checksum is verified only where
commas and other signs separate the words, as in lists of columns: an attacker can guess one wrong word. Words may be
the values of a list too, in any order, or stand in several values, some in each. Of numbered fields, one may be another
word. In other languages, twelve numbered words count near a word such as "seed".
"""

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import Final, NamedTuple

from regorus import BytePattern, ListedWords

from headgate.configuration.resources import resource_path
from headgate.detectors.document import SEPARATOR
from headgate.detectors.forms import FORMS
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match
from headgate.detectors.spelled import ROT13

RECOVERY_PHRASE: Final = "recovery_phrase"
_LENGTHS: Final = (12, 15, 18, 21, 24)
_DISTINCT_MIN: Final = 9
_WORDS_AT_ONCE: Final = 1024
_WORD_BITS: Final = 11
_FOUND: Final = 0.95
_LIKELY: Final = 0.8
_VALUES_MIN: Final = 11
_NUMBERED: Final = BytePattern(
    rb"(?i)(?:^|[\s,;:\"])("
    + rb"[\s,;|]{1,3}".join(rb"0?%d[.):]?[ \t]{0,2}[a-z\x80-\xff]{3,16}" % n for n in range(1, 13))
    + rb")"
)
_TWELFTH: Final = FORMS.add(rb"12[.):]?[ \t]{0,2}(?:[A-Za-z]|[^\x00-\x7f])")
"""Stands in what ``_NUMBERED`` finds, and begins with a text that is searched for quickly."""
_FIELD_OF_LAST: Final = FORMS.add(rb"1[12]\]?: [A-Za-z]{3,8}(?:\n\x00|$)")
"""Stands where fields are numbered to twelve, from 0 or 1 on."""
_NUMBERED_FIELD: Final = BytePattern(
    rb"(?m)^(?:[\w ]{0,60} )?([A-Za-z_\[.-]{0,24}?)0?([0-9]{1,2})\]?: ([A-Za-z]{3,8})$"
)
_LISTED_SHARE_MIN: Final = 0.9
"""Of the words in numbered fields: one in twelve may be misread."""
_GROUP: Final = BytePattern(rb"(?im)^(?:[^\n:]*: )?((?:[a-z]{3,8}[ ,]{1,2}){2,11}[a-z]{3,8})$")
"""A value of words only."""
_VALUES_BETWEEN_MAX: Final = 2
"""A number before a group, a note behind it."""
_BETWEEN_BYTES: Final = 80
_ABOUT_A_WALLET: Final = BytePattern(
    rb"(?i)wallet|metamask|mnemonic|\b(?:seed|bip-?39|trezor|semilla|billetera|monedero|portafoglio|portefeuille|carteira)\b"
    rb"|(?:frase|phrase|palabras|mots|parole|palavras) (?:de |di |secr)|wiederherstellungs"
)
# Words of three to eight letters, perhaps numbered, with a separator of a few bytes between them.
_RUN: Final = BytePattern(rb"(?i)(?:[a-z]{3,8}[^a-z\x00]{1,8}){11,}[a-z]{3,8}")
_WORD: Final = re.compile(rb"[a-zA-Z]+")
_WRITTEN_OUT: Final = BytePattern(rb"[ \t\r\n+]+(?:[0-9]{1,2}[.):]?[ \t+]*)?")


def find_recovery_phrases(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """From the first word to the last."""
    for run in _RUN.finditer(buffer):
        if not budget.allows_candidate():
            return
        if listed_words().holds(run[0], _LENGTHS[0]):  # a cheap look: most runs of words are sentences
            for part in _phrases(run[0], budget):
                yield Match(RECOVERY_PHRASE, run.start() + part[0].start, run.start() + part[-1].end, _FOUND)
        elif any(_is_phrase_in(other, budget) for other in (run[0][::-1], run[0].translate(ROT13))):
            yield Match(RECOVERY_PHRASE, run.start(), run.end(), _FOUND)
    if len(buffer.split(SEPARATOR, _VALUES_MIN)) > _VALUES_MIN:
        yield from _in_lists(buffer)
    yield from _in_groups(buffer, budget)
    if _FIELD_OF_LAST.search(buffer) is not None:
        yield from _in_fields(buffer, budget)
    numbered = _NUMBERED.search(buffer) if _TWELFTH.search(buffer) is not None else None
    if numbered is not None and _ABOUT_A_WALLET.search(buffer) is not None:
        yield Match(RECOVERY_PHRASE, numbered.start(1), numbered.end(1), _LIKELY)


def _in_lists(buffer: bytes) -> Iterator[Match]:
    """Values of one name, of which twelve in a row are words: in order, shuffled, or numbered beside."""
    for places in listed_words().search(buffer, _LENGTHS[0]):
        if len({buffer[start:end].lower() for start, end in places}) < _DISTINCT_MIN:
            continue  # a column of a thousand states has three
        words = [_Word(start, end, buffer[start:end].lower()) for start, end in places]
        if _is_phrase(words):
            yield Match(RECOVERY_PHRASE, words[0].start, words[0].end, _FOUND)


def _in_groups(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Values of three words and more, all of the list, that together make a phrase."""
    known, words = recovery_words(), list[_Word]()
    for group in _GROUP.finditer(buffer):
        if not budget.allows_candidate():
            return
        found = [_Word(group.start(1) + one.start(), 0, one[0].lower()) for one in _WORD.finditer(group[1])]
        if not all(one.text in known for one in found):
            continue
        if words and not _are_neighbours(buffer[words[-1].end : group.start()]):
            words = []
        words += [one._replace(end=group.end(1)) for one in found]
        if len(words) > len(found) and len(words) in _LENGTHS and _is_phrase(words):
            yield Match(RECOVERY_PHRASE, found[0].start, group.end(1), _FOUND)


def _are_neighbours(between: bytes) -> bool:
    return len(between) <= _BETWEEN_BYTES and between.count(SEPARATOR) <= _VALUES_BETWEEN_MAX + 1


def _in_fields(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Numbered fields of a form, of which one in twelve may hold another word: people and programs misread one."""
    series: dict[bytes, dict[int, _Word]] = {}
    for field in _NUMBERED_FIELD.finditer(buffer):
        if not budget.allows_candidate():
            return
        word = _Word(field.start(3), field.end(3), field[3].lower())
        series.setdefault(field[1].lower(), {}).setdefault(int(field[2]), word)
    for numbered in series.values():
        words = [numbered[number] for number in sorted(numbered)]
        is_whole = len(words) in _LENGTHS and max(numbered) - min(numbered) == len(words) - 1
        listed = sum(one.text in recovery_words() for one in words)
        if is_whole and listed >= _LISTED_SHARE_MIN * len(words) and _is_phrase(words):
            yield Match(RECOVERY_PHRASE, words[0].start, words[0].end, _FOUND)


class _Word(NamedTuple):
    start: int
    end: int
    text: bytes


def _phrases(run: bytes, budget: Budget) -> Iterator[list[_Word]]:
    for words in _known_words(run, budget):
        written_out = [part for part in _written_out(words, run) if _is_phrase(part)]
        yield from written_out or ([words] if _is_phrase(words) and _has_checksum(words) else [])


def _is_phrase_in(run: bytes, budget: Budget) -> bool:
    """Whether a run that was read backwards, or with its letters rotated by thirteen, is a phrase."""
    return listed_words().holds(run, _LENGTHS[0]) and next(_phrases(run, budget), None) is not None


def _known_words(run: bytes, budget: Budget) -> Iterator[list[_Word]]:
    """Stretches of words of the list, as many as there is time for."""
    known, words = recovery_words(), list[_Word]()
    for number, word in enumerate(_WORD.finditer(run)):
        if number % _WORDS_AT_ONCE == 0 and not budget.has_time():
            break
        text = word[0].lower()
        if text in known:
            words.append(_Word(word.start(), word.end(), text))
        elif words:
            yield words
            words = []
    if words:
        yield words


def _written_out(words: list[_Word], run: bytes) -> Iterator[list[_Word]]:
    """Cut where a sign stands between two words that no phrase has."""
    part = words[:1]
    for one, other in pairwise(words):
        if _WRITTEN_OUT.fullmatch(run[one.end : other.start]) is None:
            yield part
            part = []
        part.append(other)
    yield part


def _is_phrase(words: list[_Word]) -> bool:
    texts = [word.text for word in words]
    return len(texts) >= _LENGTHS[0] and len(set(texts)) >= _DISTINCT_MIN and texts != sorted(texts)


def _has_checksum(words: list[_Word]) -> bool:
    """BIP 39, "Generating the mnemonic": behind each 32 bits of entropy, one of its SHA-256."""
    if len(words) not in _LENGTHS:
        return False
    numbers = recovery_words()
    bits = "".join(f"{numbers[word.text]:0{_WORD_BITS}b}" for word in words)
    size = len(bits) * 32 // 33
    digest = sha256(int(bits[:size], 2).to_bytes(size // 8)).digest()
    return f"{digest[0]:08b}"[: len(bits) - size] == bits[size:]


@cache
def recovery_words() -> dict[bytes, int]:
    """Each word with its number."""
    lines = resource_path("detectors", "recovery_words.txt").read_bytes().splitlines()
    return {word: number for number, word in enumerate(line for line in lines if line.isalpha())}


@cache
def listed_words() -> ListedWords:
    return ListedWords({*recovery_words()})
