"""Instructions in data: text that gives tasks to the program that reads it (indirect prompt injection).

A heuristic in two stages. Words of many languages make signs where they stand close together in any order ("ignore"
beside "previous" and "instructions"); the signs within some hundred characters are added up by weights that were
learned from labelled texts (logistic regression; ``benchmarks/injection_training.py``). No sign counts against: whoever
adds words to an instruction does not hide it from them. The second stage (``injection_windows``) adds what other words
of the same sentences say; it finds more, and words within an instruction can hide it from that stage. So strong signs
count alone.
"""

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from headgate.detectors.injection_pieces import Hit
from headgate.detectors.injection_tokens import lined
from headgate.detectors.injection_windows import Sighting, Window, likely_windows, window_model
from headgate.detectors.injection_words import InjectionWords, folded, injection_words
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

INJECTION: Final = "injecting_instructions"
WINDOW_CHARACTERS: Final = 600
SIGNS_ALONE: Final = 12.0
"""Log odds from which the signs count without the second stage."""

_CONFIDENCE_MIN: Final = 0.7
_CONFIDENCE_MAX: Final = 0.9


class Seen(NamedTuple):
    """The signs of one window that begins at character ``start``; ``word_start`` to ``end``: what completed them."""

    start: int
    word_start: int
    end: int
    signs: frozenset[int]
    log_odds: float


class Look(NamedTuple):
    """What the first stage sees, for the second: see ``likely_windows``."""

    lined: str
    hits: list[Hit]
    sightings: list[Sighting]
    seen: list[Seen]


def find_injections(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Each stretch of text that is more likely an instruction than not, by its most telling word: a whole stretch would
    hide what other detectors find in it."""
    text = buffer.decode("utf-8", "replace")
    return _matches(text, _findings(text, budget), len(buffer), budget)


def find_signed_injections(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """By the first stage only, for requests and definitions of tools: they have little reason to speak to programs, so
    one override is enough, and the finding's word stands apart from what other detectors find there."""
    text = buffer.decode("utf-8", "replace")
    seen = _stretches(seen_windows(folded(text), injection_words(), budget))
    return _matches(text, (_as_window(one) for one in seen), len(buffer), budget)


def _as_window(seen: Seen) -> Window:
    return Window(seen.start, seen.end, seen.word_start, seen.end, seen.log_odds)


def _by_signs(window: Window, strong: Seen) -> Window:
    log_odds = max(window.log_odds, strong.log_odds)
    return window._replace(word_start=strong.word_start, word_end=strong.end, log_odds=log_odds)


def _matches(text: str, findings: Iterable[Window], size: int, budget: Budget) -> Iterator[Match]:
    budget.new_pass(size)
    at = at_byte = 0
    for one in findings:
        start = at_byte + len(text[at : one.word_start].encode())
        end = start + len(text[one.word_start : one.word_end].encode())
        at, at_byte = one.word_end, end
        yield Match(INJECTION, start, end, confidence(one.log_odds))


def look(text: str, words: InjectionWords, budget: Budget) -> Look:
    plain = folded(text)
    hits: list[Hit] = []
    seen = list(seen_windows(plain, words, budget, words.bias, hits))
    return Look(lined(plain, text), hits, [(one.word_start, one.log_odds - words.bias) for one in seen], seen)


def _findings(text: str, budget: Budget) -> list[Window]:
    """In the order of their words, which do not overlap."""
    one = look(text, injection_words(), budget)
    # Sorted by start, without overlaps: so one bisection finds the window that a sign overlaps.
    found = list(likely_windows(one.lined, one.hits, one.sightings, window_model(), budget, 0.0))
    starts = [window.start for window in found]
    alone: list[Window] = []
    for strong in _stretches(seen for seen in one.seen if seen.log_odds > SIGNS_ALONE):
        before = bisect_left(starts, strong.end) - 1
        if alone and strong.start < alone[-1].end:
            alone[-1] = _by_signs(alone[-1], strong)
        elif before >= 0 and strong.start < found[before].end:
            found[before] = _by_signs(found[before], strong)
        else:
            alone.append(_as_window(strong))
    found += alone
    found.sort(key=lambda window: window.word_start)
    return [one for number, one in enumerate(found) if not number or found[number - 1].word_end <= one.word_start]


def confidence(log_odds: float) -> float:
    """From .7, where an instruction is as likely as not, to .9."""
    likely = 1 / (1 + math.exp(-min(log_odds, 30.0)))
    return round(_CONFIDENCE_MIN + (_CONFIDENCE_MAX - _CONFIDENCE_MIN) * max(0.0, 2 * likely - 1), 4)


def _stretches(windows: Iterator[Seen]) -> Iterator[Seen]:
    """Of windows that overlap, the likeliest."""
    best: Seen | None = None
    for one in windows:
        if best is not None and one.start > best.end:
            yield best
            best = one
        elif best is None or one.log_odds > best.log_odds:
            best = one
    if best is not None:
        yield best


def seen_windows(
    plain: str, words: InjectionWords, budget: Budget, over: float = 0.0, hits: list[Hit] | None = None
) -> Iterator[Seen]:
    """The windows of the folded text whose log odds are above ``over``, one for each time that a sign is added; each
    word on the way is added to ``hits``. In the engine (``regorus.SignSearch``)."""
    found, seen, is_whole = words.search.search(plain, WINDOW_CHARACTERS, over, hits is not None, budget.seconds_left)
    if not is_whole:
        budget.end()
    if hits is not None:
        hits += [(start, words.names[number][commanded]) for start, number, commanded in found]
    return itertools.starmap(Seen, seen)
