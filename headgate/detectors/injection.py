"""Instructions in data: text that speaks to the program that reads it, and gives it tasks (indirect prompt injection).

A heuristic. Words of many languages make signs where they stand close together in any order ("ignore" beside "previous"
and "instructions"); the signs within some hundred characters are added up by weights that were learned from labelled
texts (logistic regression; ``benchmarks/injection_training.py``). No sign counts against: whoever adds words to an
instruction does not hide it.
"""

import math
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from headgate.detectors.injection_words import InjectionWords, folded, goes_on, injection_words, is_command
from headgate.detectors.limits import Budget
from headgate.detectors.model import Match

INJECTION: Final = "injecting_instructions"
WINDOW_CHARACTERS: Final = 600
_CONFIDENCE_MIN: Final = 0.7
_CONFIDENCE_MAX: Final = 0.9
_HITS_PER_LOOK_AT_CLOCK: Final = 2048


class Seen(NamedTuple):
    """The signs of one window that begins at character ``start``; ``word_start`` to ``end``: what completed them."""

    start: int
    word_start: int
    end: int
    signs: frozenset[int]
    log_odds: float


def find_injections(buffer: bytes, budget: Budget) -> Iterator[Match]:
    """Each stretch of text whose signs make an instruction more likely than not, by the word that completes them: a
    whole stretch would hide what other detectors find in it."""
    budget.new_pass(len(buffer))
    text = buffer.decode("utf-8", "replace")
    at = at_byte = 0
    for seen in _stretches(seen_windows(text, injection_words(), budget)):
        start = at_byte + len(text[at : seen.word_start].encode())
        end = start + len(text[seen.word_start : seen.end].encode())
        at, at_byte = seen.end, end
        yield Match(INJECTION, start, end, confidence(seen.log_odds))


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


def seen_windows(  # noqa: PLR0912 - calls in the loop over all words would cost more than its work
    text: str, words: InjectionWords, budget: Budget, over: float = 0.0
) -> Iterator[Seen]:
    """The windows of the text whose log odds are above ``over``, one for each time that a sign is added."""
    plain = folded(text)
    size, signs = len(plain), words.signs
    last = [-1] * words.slots
    counts = [0] * len(signs)
    active: deque[tuple[int, int, int]] = deque()
    begins = 0
    odds = words.bias
    for number, (end, word) in enumerate(words.automaton.iter(plain)):
        start = end - word.length + 1
        if word.begins_word and start and goes_on(plain[start - 1]):
            continue
        if word.ends_word and end + 1 < size and goes_on(plain[end + 1]):
            continue
        if not word.signs:
            begins = end + 1
        if number % _HITS_PER_LOOK_AT_CLOCK == 0 and not budget.has_time():
            return
        oldest = max(begins, end - WINDOW_CHARACTERS)
        while active and active[0][0] < oldest:
            _, _, gone = active.popleft()
            counts[gone] -= 1
            if not counts[gone]:
                odds -= signs[gone].weight
        for slot in word.slots:
            last[slot] = start
        if word.commands and is_command(plain, start, end + 1):
            for slot in word.commands:
                last[slot] = start
        elif not word.slots:
            continue
        added = False
        for one in word.signs:
            sign = signs[one]
            first, earliest = start, max(begins, start - sign.within)
            for slot in sign.slots:
                at = last[slot]
                if at < earliest:
                    break
                first = min(first, at)
            else:
                if sign.ordered and not all(last[a] < last[b] for a, b in pairwise(sign.slots)):
                    continue
                active.append((start, max(first, oldest), one))
                counts[one] += 1
                if counts[one] == 1:
                    odds += sign.weight
                    added = True
        if added and odds > over:
            window_start = min(first for _, first, _ in active)
            yield Seen(window_start, start, end + 1, frozenset(one for _, _, one in active), odds)
