"""The second stage: how likely the words of one to eight pieces of sentences are those of an instruction.

A linear model over the features of ``injection_tokens``, the classes of words that stand there and the likeliest signs
(``injection``), then a small network about the windows that it finds likely (``injection_network``); a text is judged
by its likeliest window. Weights may be negative, so words *within* a window can hide an instruction from this stage
(never from the signs alone). Lines *around* a window change nothing in it.

``config/detectors/injection_windows.bin`` (written by ``benchmarks/injection_training.py``): a line of JSON: ``bias``,
``signs`` (how much the log odds of signs count), ``unit`` (what a weight of 1 stands for), ``features``, and of the
network ``numbers``, ``units`` and ``floor``; then the features, ascending unsigned integers of 4 bytes, little endian;
then a signed byte for each, its weight; then the network.
"""

import json
import math
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain
from operator import itemgetter
from sys import byteorder
from typing import Final, NamedTuple

from regorus import FeatureWeights

from headgate.configuration.resources import resource_path
from headgate.detectors.injection_memory import TokenMemory
from headgate.detectors.injection_network import SMOOTHING_TOKENS, Network, Scored, TextTokens, judged, network_of
from headgate.detectors.injection_pieces import Hit, Known, Pieces, pieces_of
from headgate.detectors.injection_tokens import (
    LINE,
    PAIR_FACTOR,
    PIECE_TOKENS,
    class_key,
    gram_keys,
    token_of,
    tokens_of,
    word_keys,
)
from headgate.detectors.limits import Budget

PIECES_MAX: Final = 8
_SHRINK: Final = [1 / math.sqrt(count + SMOOTHING_TOKENS) for count in range(PIECES_MAX * PIECE_TOKENS + 1)]


type Sighting = tuple[int, float]
"""A character, and what the signs add to the log odds where a word at it completes one."""


class Window(NamedTuple):
    """Characters; ``word_start`` to ``word_end``: the token that counts most."""

    start: int
    end: int
    word_start: int
    word_end: int
    log_odds: float


class WindowModel:
    def __init__(self, weights: FeatureWeights, signs: float, bias: float, network: Network | None = None) -> None:
        self.weights, self.signs, self.bias, self.network = weights, signs, bias, network
        self.tokens = TokenMemory(self._token)
        self._classes: dict[tuple[str, ...], float] = {}

    def _token(self, raw: str) -> Known:
        word, ends_piece, ends_text = token_of(raw)
        keys = word_keys(word)
        return Known(keys[0], self.weights.sum([*keys, *gram_keys(word)]), ends_piece, ends_text)

    def of_classes(self, names: tuple[str, ...]) -> float:
        total = self._classes.get(names)
        if total is None:
            total = self._classes[names] = self.weights.sum([class_key(name) for name in names])
        return total


@cache
def window_model() -> WindowModel:
    with resource_path("detectors", "injection_windows.bin").open("rb") as file:
        head = json.loads(file.readline())
        features, width = file.read(4 * head["features"]), head["numbers"]
        weights = _in_units(file.read(head["features"]), head["unit"])
        numbers = file.read(width * head["features"])
        network = network_of(features, numbers, file.read(), width, head["units"], head["floor"])
    return WindowModel(FeatureWeights(features, weights), head["signs"], head["bias"], network)


def _in_units(weights: bytes, unit: float) -> bytes:
    """Signed bytes as floats, for the engine."""
    worth = [unit * (byte - 256 if byte > 127 else byte) for byte in range(256)]
    floats = array("d", map(worth.__getitem__, weights))
    if byteorder == "big":
        floats.byteswap()
    return floats.tobytes()


def likely_windows(
    lined_text: str, hits: Sequence[Hit], sightings: Iterable[Sighting], model: WindowModel, budget: Budget, over: float
) -> Iterator[Window]:
    """Of windows that overlap, the likeliest, where its log odds are above ``over``."""
    began = budget.clock()
    raw: list[str] = []
    known: list[Known] = []
    for tokens in tokens_of(lined_text):
        if not budget.has_time_again(began):  # to score tokens takes about as long as to know them
            break
        raw += tokens
        known += map(model.tokens.__getitem__, tokens)
    if not known:
        return
    ends = list(accumulate(map(len, raw)))
    keys = list(map(itemgetter(0), known))
    before = [model.tokens[LINE].key, *keys]
    counts = model.weights.counts(before[0], keys, list(map(itemgetter(1), known)), PAIR_FACTOR)
    last = len(ends) - 1
    places = [min(last, bisect_right(ends, start)) for start, _ in hits]
    for (_, names), place in zip(hits, places, strict=True):
        counts[place] += model.of_classes(names)
    sums = [0.0, *accumulate(counts)]
    pieces = pieces_of(known)
    odds = [0.0] * len(pieces.firsts)
    for start, log_odds in sightings:
        piece = bisect_right(pieces.firsts, min(last, bisect_right(ends, start))) - 1
        if piece >= 0:
            odds[piece] = max(odds[piece], log_odds)
    weighted = [log_odds * model.signs for log_odds in odds]
    floor = over if model.network is None else model.network.floor
    likely = _windows(pieces, sums, weighted, floor - model.bias)
    # Each window is asked about, not the likeliest of those that overlap: lines around it would choose another one.
    if model.network is not None and (first := next(likely, None)) is not None:
        text = TextTokens(raw, before, pieces, hits, places)
        likely = judged(chain([first], likely), text, odds, model.network, budget)
    best: Scored | None = None
    for log_odds, one, end in likely:
        if log_odds <= over - model.bias:
            continue
        if best is not None and one >= best[2]:
            yield _window(best, pieces, ends, counts, model.bias)
            best = None
        if best is None or log_odds > best[0]:
            best = log_odds, one, end
    if best is not None:
        yield _window(best, pieces, ends, counts, model.bias)


def _windows(pieces: Pieces, sums: list[float], odds: list[float], over: float) -> Iterator[Scored]:
    """(score without the bias, first piece, piece after the last) of windows above ``over``, by their first piece."""
    firsts, lasts, texts = pieces
    shrink = _SHRINK
    after = [sums[last] for last in lasts]
    raised = [0.0, *accumulate([max(0.0, end - sums[first]) for first, end in zip(firsts, after, strict=True)])]
    needed = over - max(odds, default=0.0)
    for one, first in enumerate(firsts):
        start, reach = sums[first], min(texts[one], one + PIECES_MAX)
        if (raised[reach] - raised[one]) * shrink[lasts[one] - first] <= needed:
            continue  # all pieces that raise the score, without the tokens of those after the first: not enough either
        signs = 0.0
        end = one
        for total, last, own in zip(after[one:reach], lasts[one:reach], odds[one:reach], strict=True):
            end += 1
            if own > signs:  # noqa: PLR1730 - a call would cost more than its work
                signs = own
            score = (total - start) * shrink[last - first] + signs
            if score > over:
                yield score, one, end


def _window(best: Scored, pieces: Pieces, ends: list[int], counts: list[float], bias: float) -> Window:
    score, one, end = best
    first, last = pieces.firsts[one], pieces.lasts[end - 1]
    word = max(range(first, last), key=counts.__getitem__)
    return Window(
        start=ends[first - 1] if first else 0,
        end=ends[last - 1],
        word_start=ends[word - 1] if word else 0,
        word_end=ends[word],
        log_odds=score + bias,
    )
