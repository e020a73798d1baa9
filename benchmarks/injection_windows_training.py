"""Learns the second stage of the detector of instructions, ``config/detectors/injection_windows.bin``.

Logistic regression over the features of windows (``headgate.detectors.injection_windows``), drawn towards 0. A text
counts by its likeliest window under the weights of the round before; of a text without an instruction, the likeliest
windows of all rounds stay. L-BFGS from 0 (Nocedal, 1980): no chance is in it. ``injection_network_training`` learns
what is added to these weights. How likely a window must be is chosen so that few whole files that nothing was learned
from are flagged.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray
from regorus import FeatureWeights

from headgate.detectors.decode import document_of
from headgate.detectors.injection import look
from headgate.detectors.injection_network import SMOOTHING_TOKENS
from headgate.detectors.injection_pieces import Known, pieces_of
from headgate.detectors.injection_tokens import (
    LINE,
    class_key,
    gram_keys,
    pair_key,
    token_of,
    tokens_of,
    word_keys,
)
from headgate.detectors.injection_windows import PIECES_MAX, WindowModel
from headgate.detectors.injection_words import InjectionWords
from headgate.detectors.limits import Budget, Limits

_ROUNDS = 3
_ROUNDS_MORE = 2
_SHRINK = 0.5
_TEXTS_MIN = 2
"""A feature of fewer texts is left out."""
_GRAMS_COUNT = 0.5
SIGNS_COUNT = 0.3
"""How large a value stands for a character n-gram, and for the log odds of signs, where a word's is 1."""
NEGATIVES_KEPT = 4
_STEPS = 60
_MEMORY = 8
_CLOSE = 1e-4
"""L-BFGS ends after so many steps, or where a step gains less than this share."""
_WEIGHT_MAX = 127

type Floats = NDArray[np.float64]
type Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Example:
    """``counts``: how much the text counts. ``group``: its writer; empty: always in training."""

    text: str
    injected: bool
    counts: float
    group: str


@dataclass(frozen=True)
class Learned:
    """``weights`` of ``features``, by their keys."""

    features: Whole
    weights: Floats
    signs: float
    bias: float

    def of(self, keys: Whole) -> Floats:
        """The weight of each feature; 0 where it has none."""
        at = np.minimum(np.searchsorted(self.features, keys), len(self.features) - 1)
        return np.array(np.where(self.features[at] == keys, self.weights[at], 0.0))

    def rounded(self) -> NDArray[np.int8]:
        """The weights as written, in units."""
        return np.round(self.weights / self.unit).astype(np.int8)

    @property
    def unit(self) -> float:
        return float(np.abs(self.weights).max()) / _WEIGHT_MAX

    def model(self) -> WindowModel:
        weights = FeatureWeights(self.features.astype("<u4").tobytes(), self.weights.astype("<f8").tobytes())
        return WindowModel(weights, self.signs, self.bias)


class Table:
    """The features of all pieces (rows: ``pieces``, ``keys``, ``values``) and all windows of the examples."""

    def __init__(self, examples: Sequence[Example], words: InjectionWords) -> None:
        keys, pieces, values = array("I"), array("l"), array("d")
        sizes, odds = array("l"), array("d")
        firsts, ends, texts = array("l"), array("l"), array("l")
        for number, one in enumerate(examples):
            for row, size, log_odds, end in _pieces(one.text, words):
                for key, value in row:
                    keys.append(key)
                    values.append(value)
                    pieces.append(len(sizes))
                base = len(sizes)
                sizes.append(size)
                odds.append(log_odds)
                for last in range(1, min(end, PIECES_MAX) + 1):
                    firsts.append(base)
                    ends.append(base + last)
                    texts.append(number)
        self.injected = np.array([one.injected for one in examples])
        self.counts = np.array([one.counts for one in examples])
        self.groups = np.array([one.group for one in examples])
        self.keys = np.array(keys, np.int64)
        self.pieces = np.array(pieces, np.int64)
        self.values = np.array(values)
        self.pieces_count = len(sizes)
        self.firsts, self.ends, self.texts = (np.array(one, np.int64) for one in (firsts, ends, texts))
        self.starts = np.searchsorted(self.texts, np.arange(len(examples) + 1))
        self.text_of_piece = np.zeros(self.pieces_count, np.int64)
        self.text_of_piece[self.firsts] = self.texts
        tokens = np.concatenate([[0], np.cumsum(np.array(sizes))])
        self.norms = np.sqrt(tokens[self.ends] - tokens[self.firsts] + SMOOTHING_TOKENS)
        highest = np.array(odds)
        self.odds = np.zeros(len(firsts))
        for reach in range(PIECES_MAX):
            inside = self.firsts + reach < self.ends
            self.odds[inside] = np.maximum(self.odds[inside], highest[self.firsts[inside] + reach])

    def joined(self, other: "Table") -> "Table":
        """The texts of both, those of ``other`` last."""
        both = copy(self)
        for name in ("injected", "counts", "groups", "keys", "values", "norms", "odds"):
            setattr(both, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        texts, windows = len(self.injected), len(self.firsts)
        for name in ("pieces", "firsts", "ends"):
            setattr(both, name, np.concatenate([getattr(self, name), getattr(other, name) + self.pieces_count]))
        for name in ("texts", "text_of_piece"):
            setattr(both, name, np.concatenate([getattr(self, name), getattr(other, name) + texts]))
        both.starts = np.concatenate([self.starts[:-1], other.starts + windows])
        both.pieces_count = self.pieces_count + other.pieces_count
        return both

    def scores(self, learned: Learned) -> Floats:
        """The log odds of each text, without the network."""
        return np.array(np.maximum.reduceat(self.window_scores(learned), self.starts[:-1]))

    def window_scores(self, learned: Learned) -> Floats:
        of_pieces = np.bincount(self.pieces, self.values_plain() * learned.of(self.keys), self.pieces_count)
        return np.array(_window_sums(self, of_pieces) / self.norms + learned.signs * self.odds + learned.bias)

    def signs(self) -> Floats:
        """What the likeliest signs of each text add to the log odds."""
        return np.array(np.maximum.reduceat(self.odds, self.starts[:-1]))

    def values_plain(self) -> Floats:
        """How often each feature stands there: detection knows no other value."""
        return np.sign(self.values)


def _pieces(text: str, words: InjectionWords) -> Iterable[tuple[list[tuple[int, float]], int, float, int]]:
    """Of each piece: its features, the number of its tokens, the log odds of its signs, and how many pieces follow in
    its text, itself included."""
    budget = Budget(Limits(seconds_max=60))
    buffer = document_of(text, budget).buffer().decode()
    looked = look(buffer, words, budget)
    raw = list(chain.from_iterable(tokens_of(looked.lined)))
    ends = list(accumulate(map(len, raw)))
    tokens = [token_of(one) for one in raw]
    rows: list[list[tuple[int, float]]] = []
    before = word_keys(LINE)[0]
    for token in tokens:
        keys = word_keys(token.word)
        row = [(key, 1.0) for key in (*keys, pair_key(before, keys[0]))]
        row += [(key, _GRAMS_COUNT) for key in gram_keys(token.word)]
        rows.append([] if before == keys[0] else row)
        before = keys[0]
    for start, names in looked.hits:
        rows[min(len(rows) - 1, bisect_right(ends, start))] += [(class_key(name), 1.0) for name in names]
    pieces = pieces_of([Known(0, 0.0, one.ends_piece, one.ends_text) for one in tokens])
    odds = [0.0] * len(pieces.firsts)
    for start, log_odds in looked.sightings:
        piece = bisect_right(pieces.firsts, min(len(ends) - 1, bisect_right(ends, start))) - 1
        odds[piece] = max(odds[piece], log_odds)
    for number, (first, last, end) in enumerate(zip(*pieces, strict=True)):
        yield [one for row in rows[first:last] for one in row], last - first, odds[number], end - number


def _window_sums(table: Table, of_pieces: Floats, windows: Whole | slice = slice(None)) -> Floats:
    sums = np.concatenate([[0.0], np.cumsum(of_pieces)])
    return np.array(sums[table.ends[windows]] - sums[table.firsts[windows]])


def learn_windows(table: Table, chosen: NDArray[np.bool_], before: Learned | None = None) -> Learned:
    """From the texts ``chosen``. ``before``: what was learned from some of them."""
    rows = np.flatnonzero(chosen[table.text_of_piece[table.pieces]])
    features, at = np.unique(table.keys[rows], return_inverse=True)
    pairs = np.unique(at * len(chosen) + table.text_of_piece[table.pieces[rows]])
    texts = np.bincount(pairs // len(chosen), minlength=len(features))
    kept = texts >= _TEXTS_MIN
    rare = (np.log(chosen.sum() / (1 + texts)) + 1)[kept]
    places = np.cumsum(kept) - 1
    rows, at = rows[kept[at]], places[at[kept[at]]]
    features, pieces, values = features[kept], table.pieces[rows], table.values[rows] * rare[at]
    kind = np.zeros(len(features))
    kind[at] = table.values[rows]
    of_piece = np.searchsorted(pieces, np.arange(table.pieces_count + 1))
    numbers = np.flatnonzero(chosen)
    size = table.ends - table.firsts
    found = np.zeros(len(features) + 2)
    likely = size.astype(float)
    if before is not None:
        found[:-2] = before.of(features) / (rare * kind)
        found[-2:] = before.signs / SIGNS_COUNT, before.bias
        likely = table.window_scores(before)
    picked = {
        text: [int(table.starts[text] + np.argmax(likely[table.starts[text] : table.starts[text + 1]]))]
        for text in numbers
    }
    for _ in range(_ROUNDS if before is None else _ROUNDS_MORE):
        windows = np.array([one for text in numbers for one in picked[text]])
        counts = np.array([table.counts[text] / len(picked[text]) for text in numbers for _ in picked[text]])
        labels = np.array([float(table.injected[text]) for text in numbers for _ in picked[text]])
        odds = table.odds[windows] * SIGNS_COUNT
        # The features of a window stand in a row: only they are summed up, not those of all pieces.
        begins, stops = of_piece[table.firsts[windows]], of_piece[table.ends[windows]]
        sizes = stops - begins
        inside = np.repeat(begins - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(sizes.sum())
        present, amounts = at[inside], values[inside] / np.repeat(table.norms[windows], sizes)
        rows_before = np.concatenate([[0], np.cumsum(sizes)])

        def loss(
            weights: Floats,
            present: Whole = present,
            amounts: Floats = amounts,
            sizes: Whole = sizes,
            rows_before: Whole = rows_before,
            odds: Floats = odds,
            counts: Floats = counts,
            labels: Floats = labels,
        ) -> tuple[float, Floats]:
            sums = np.concatenate([[0.0], np.cumsum(amounts * weights[present])])[rows_before]
            likely = np.diff(sums) + weights[-2] * odds + weights[-1]
            total = (counts * (np.logaddexp(0, likely) - labels * likely)).sum()
            wrong = counts * (1 / (1 + np.exp(-np.clip(likely, -30, 30))) - labels)
            slopes = np.bincount(present, amounts * np.repeat(wrong, sizes), len(features)) + _SHRINK * weights[:-2]
            rest = [wrong @ odds + _SHRINK * weights[-2], wrong.sum()]
            return float(total + _SHRINK / 2 * weights[:-1] @ weights[:-1]), np.concatenate([slopes, rest])

        found = _minimum(loss, found)
        of_pieces = np.bincount(pieces, values * found[at], table.pieces_count)
        scores = _window_sums(table, of_pieces) / table.norms + found[-2] * table.odds * SIGNS_COUNT
        for text in numbers:
            start = int(table.starts[text])
            best = start + int(np.argmax(scores[start : table.starts[text + 1]]))
            old = [] if table.injected[text] else picked[text]
            picked[text] = list(dict.fromkeys([best, *old]))[:NEGATIVES_KEPT]
    return Learned(features, found[:-2] * rare * kind, float(found[-2] * SIGNS_COUNT), float(found[-1]))


def _minimum(loss: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    """L-BFGS: Nocedal and Wright, Numerical Optimization, algorithm 7.5, halving steps."""
    at = start
    value, slope = loss(at)
    steps: list[Floats] = []
    turns: list[Floats] = []
    for _ in range(_STEPS):
        way = slope.copy()
        shares = []
        for step, turn in zip(reversed(steps), reversed(turns), strict=True):
            shares.append(float(step @ way / (turn @ step)))
            way -= shares[-1] * turn
        way *= steps[-1] @ turns[-1] / (turns[-1] @ turns[-1]) if steps else 1 / max(1.0, float(np.linalg.norm(way)))
        for step, turn, share in zip(steps, turns, reversed(shares), strict=True):
            way += step * (share - turn @ way / (turn @ step))
        length, fall = 1.0, float(slope @ way)
        while True:
            there = at - length * way
            lower, turned = loss(there)
            if lower <= value - 1e-4 * length * fall or length < 1e-6:
                break
            length /= 2
        if (there - at) @ (turned - slope) > 1e-10:
            steps, turns = [*steps[1 - _MEMORY :], there - at], [*turns[1 - _MEMORY :], turned - slope]
        done = abs(value - lower) < _CLOSE * abs(value)
        at, value, slope = there, lower, turned
        if done:
            break
    return at


def threshold(scores: Floats, injected: NDArray[np.bool_], wrong: float) -> float:
    """Above which the share ``wrong`` of the plain texts lies."""
    plain = np.sort(scores[~injected])[::-1]
    return float(plain[int(wrong * len(plain))])
