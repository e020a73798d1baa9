"""Learns the network of the second stage of the detector of instructions (``headgate.detectors.injection_network``).

Adam (Kingma and Ba, 2015) with a fixed seed over one window of each text with an instruction and some of each other
text; the windows are chosen anew after each pass, the first by the table of weights. Dropout and shrinkage: without
them the network learns the texts by heart. What it learned is rounded to signed bytes before a bar is chosen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.injection_windows_training import (
    NEGATIVES_KEPT,
    SIGNS_COUNT,
    Floats,
    Learned,
    Table,
    Whole,
    learn_windows,
)
from headgate.detectors.injection_network import UNIT_FLOATS, network_of
from headgate.detectors.injection_windows import WindowModel

FLOOR: Final = -0.5
"""The log odds by the table, before the bar, from which a window is asked about."""

_WIDTH: Final = 16
_UNITS: Final = 32
_PASSES: Final = 3
_SHRINK: Final = 1.0
_SHRINK_UNITS: Final = 1e-4
_DROPOUT: Final = 0.3
_RATE: Final = 3e-3
_BATCH: Final = 512
_NUMBER_MAX: Final = 127
_FOLDS: Final = 8

type Singles = NDArray[np.float32]
type Chosen = NDArray[np.bool_]


@dataclass(frozen=True)
class Layers:
    """``numbers``: of each feature; ``inside``: weights of the sums, and last of the signs, of each unit."""

    numbers: Singles
    inside: Singles
    inside_bias: Singles
    outside: Singles
    outside_bias: Singles


@dataclass(frozen=True)
class LearnedNetwork:
    """As it is written: ``numbers``: signed bytes for each of ``features``; ``hidden``: bias, then unit after unit."""

    features: Whole
    numbers: NDArray[np.int8]
    hidden: Singles

    @property
    def units(self) -> int:
        return (len(self.hidden) - 1) // (self.numbers.shape[1] + UNIT_FLOATS)

    def window_scores(self, table: Table) -> Floats:
        """What it adds to the log odds of each window."""
        entries = _Entries(table, self.features, np.ones(len(self.features), np.float32), plain=True)
        rows = self.hidden[1:].reshape(self.units, -1).astype(float)
        width = self.numbers.shape[1]
        inside = np.concatenate([rows[:, :width], rows[:, width : width + 1] / SIGNS_COUNT], 1).T
        layers = Layers(
            self.numbers.astype(np.float32), inside, rows[:, width + 1], rows[:, width + 2], self.hidden[:1].sum()
        )
        return entries.scores(layers)

    def model(self, learned: Learned, floor: float = FLOOR) -> WindowModel:
        model = learned.model()
        features, hidden = self.features.astype("<u4").tobytes(), self.hidden.astype("<f4").tobytes()
        model.network = network_of(features, self.numbers.tobytes(), hidden, self.numbers.shape[1], self.units, floor)
        return model


def text_scores(table: Table, learned: Learned, network: LearnedNetwork) -> Floats:
    """The log odds of each text; infinitely low where no window is asked about."""
    of_table = table.window_scores(learned)
    of_windows = np.where(of_table > FLOOR, of_table + network.window_scores(table), -np.inf)
    return np.array(np.maximum.reduceat(of_windows, table.starts[:-1]))


def left_out(table: Table, groups: Sequence[str]) -> Floats:
    """The score of each text of the groups where its group, and some others, are left out of training; of others, not a
    number."""
    scores = np.full(len(table.injected), math.nan)
    for number in range(_FOLDS):
        those = np.isin(table.groups, groups[number::_FOLDS])
        learned = learn_windows(table, ~those)
        scores[those] = text_scores(table, learned, learn_network(table, ~those, learned))[those]
    return scores


class _Entries:
    """The rows of a table for some features, each with its value times ``scale``."""

    def __init__(self, table: Table, features: Whole, scale: Singles, *, plain: bool = False) -> None:
        at = np.minimum(np.searchsorted(features, table.keys), len(features) - 1)
        known = features[at] == table.keys
        self.table, self.at, self.pieces = table, at[known].astype(np.int32), table.pieces[known]
        self.values = (table.values_plain() if plain else table.values)[known].astype(np.float32) * scale[self.at]
        self.of_piece = np.searchsorted(self.pieces, np.arange(table.pieces_count + 1))
        self.norms = table.norms.astype(np.float32)

    def of_windows(self, windows: Whole) -> tuple[NDArray[np.int32], Singles, Whole, Whole]:
        """Features and values of the windows, where each window begins, and of which window each is."""
        begins, stops = self.of_piece[self.table.firsts[windows]], self.of_piece[self.table.ends[windows]]
        sizes = stops - begins
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        inside = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
        rows = np.repeat(np.arange(len(windows)), sizes)
        return self.at[inside], self.values[inside] / self.norms[windows][rows], offsets, rows

    def scores(self, layers: Layers) -> Floats:
        table = self.table
        of_pieces = np.stack(
            [
                np.bincount(self.pieces, self.values * layers.numbers[self.at, number], table.pieces_count)
                for number in range(layers.numbers.shape[1])
            ],
            1,
        )
        sums = np.concatenate([np.zeros((1, of_pieces.shape[1])), np.cumsum(of_pieces, 0)])
        of_windows = (sums[table.ends] - sums[table.firsts]) / table.norms[:, None]
        seen = np.concatenate([of_windows, table.odds[:, None] * SIGNS_COUNT], 1)
        units = np.maximum(seen @ layers.inside + layers.inside_bias, 0)
        return np.array(units @ layers.outside + layers.outside_bias)


class _Adam:
    def __init__(self, values: dict[str, Singles]) -> None:
        self.values = values
        self._means = {name: np.zeros_like(one) for name, one in values.items()}
        self._squares = {name: np.zeros_like(one) for name, one in values.items()}
        self._steps = 0

    def step(self, slopes: dict[str, Singles]) -> None:
        self._steps += 1
        for name, slope in slopes.items():
            mean, square = self._means[name], self._squares[name]
            mean *= np.float32(0.9)
            mean += np.float32(0.1) * slope
            square *= np.float32(0.999)
            square += np.float32(0.001) * slope * slope
            rate = np.float32(_RATE / (1 - 0.9**self._steps))
            spread = np.sqrt(square / np.float32(1 - 0.999**self._steps)) + np.float32(1e-8)
            self.values[name] = self.values[name] - rate * mean / spread

    def layers(self) -> Layers:
        return Layers(**self.values)


def learn_network(table: Table, chosen: Chosen, learned: Learned, seed: int = 0) -> LearnedNetwork:
    """From the texts ``chosen``, over the features that have a weight in the written table."""
    features = learned.features[learned.rounded() != 0]
    scale = _rarity(table, chosen, features)
    entries = _Entries(table, features, scale)
    rng = np.random.default_rng(seed)
    adam = _Adam(_start(rng, len(features)))
    texts = np.flatnonzero(chosen)
    likely = table.window_scores(learned)
    picked = {int(text): [_likeliest(table, likely, text)] for text in texts}
    for number in range(_PASSES):
        _pass_over(table, entries, adam, picked, rng)
        if number < _PASSES - 1:
            scores = entries.scores(adam.layers())
            for text, old in picked.items():
                best = _likeliest(table, scores, text)
                kept = [] if table.injected[text] else old
                picked[text] = list(dict.fromkeys([best, *kept]))[:NEGATIVES_KEPT]
    kinds = np.ones(len(features), np.float32)
    kinds[entries.at] = entries.values / scale[entries.at]
    return _rounded(features, adam.layers(), scale * kinds)


def _start(rng: np.random.Generator, features: int) -> dict[str, Singles]:
    root = np.float32(np.sqrt(_WIDTH + 1))
    return {
        "numbers": rng.normal(0, 0.3 / np.sqrt(_WIDTH), (features, _WIDTH)).astype(np.float32),
        "inside": rng.uniform(-1, 1, (_WIDTH + 1, _UNITS)).astype(np.float32) / root,
        "inside_bias": np.zeros(_UNITS, np.float32),
        "outside": rng.normal(0, 0.1, _UNITS).astype(np.float32),
        "outside_bias": np.zeros((), np.float32),
    }


def _rarity(table: Table, chosen: Chosen, features: Whole) -> Singles:
    """Of each feature: the logarithm of one over its share of texts, and 1."""
    at = np.minimum(np.searchsorted(features, table.keys), len(features) - 1)
    texts = table.text_of_piece[table.pieces]
    kept = (features[at] == table.keys) & chosen[texts]
    pairs = np.unique(at[kept] * len(chosen) + texts[kept])
    counts = np.bincount(pairs // len(chosen), minlength=len(features))
    return np.array(np.log(chosen.sum() / (1 + counts)) + 1, np.float32)


def _likeliest(table: Table, scores: Floats, text: int) -> int:
    start = int(table.starts[text])
    return start + int(np.argmax(scores[start : table.starts[text + 1]]))


def _pass_over(
    table: Table, entries: _Entries, adam: _Adam, picked: dict[int, list[int]], rng: np.random.Generator
) -> None:
    windows = np.array([one for of_text in picked.values() for one in of_text])
    sizes = [len(of_text) for of_text in picked.values()]
    texts = np.repeat(np.array(list(picked)), sizes)
    labels = table.injected[texts].astype(np.float32)
    counts = (table.counts[texts] / np.repeat(sizes, sizes)).astype(np.float32)
    order = rng.permutation(len(windows))
    for start in range(0, len(order), _BATCH):
        batch = order[start : start + _BATCH]
        at, values, offsets, rows = entries.of_windows(windows[batch])
        values *= (rng.random(len(values), dtype=np.float32) > _DROPOUT) / np.float32(1 - _DROPOUT)
        odds = (table.odds[windows[batch]] * SIGNS_COUNT).astype(np.float32)
        here = adam.layers()
        seen = np.concatenate([_sums(here.numbers[at] * values[:, None], offsets), odds[:, None]], 1)
        raised = seen @ here.inside + here.inside_bias
        units = np.maximum(raised, 0)
        likely = 1 / (1 + np.exp(-np.clip(units @ here.outside + here.outside_bias, -30, 30)))
        wrong = (counts[batch] * (likely - labels[batch]) / len(batch)).astype(np.float32)
        of_units = (wrong[:, None] * here.outside) * (raised > 0)
        of_values = (of_units @ here.inside.T)[:, :_WIDTH][rows] * values[:, None]
        slopes = [np.bincount(at, of_values[:, one], len(here.numbers)) for one in range(_WIDTH)]
        shrink, shrink_units = np.float32(2 * _SHRINK / len(order)), np.float32(_SHRINK_UNITS)
        adam.step(
            {
                "outside": units.T @ wrong + shrink_units * here.outside,
                "outside_bias": wrong.sum(),
                "inside": seen.T @ of_units + shrink_units * here.inside,
                "inside_bias": of_units.sum(0) + shrink_units * here.inside_bias,
                "numbers": np.stack(slopes, 1).astype(np.float32) + shrink * here.numbers,
            }
        )


def _sums(values: Singles, offsets: Whole) -> Singles:
    """Of the rows between two offsets; 0 where there are none."""
    filled = offsets[1:] > offsets[:-1]
    sums = np.zeros((len(filled), values.shape[1]), np.float32)
    if filled.any():
        sums[filled] = np.add.reduceat(values, offsets[:-1][filled], axis=0)
    return sums


def _rounded(features: Whole, layers: Layers, scale: Singles) -> LearnedNetwork:
    """The largest number of each column becomes 127, and the units' weights are divided by as much."""
    scaled = layers.numbers * scale[:, None]
    columns = np.abs(scaled).max(0) / _NUMBER_MAX
    units = np.concatenate(
        [
            (layers.inside[:_WIDTH] * columns[:, None]).T,
            (layers.inside[_WIDTH:] * SIGNS_COUNT).T,
            layers.inside_bias[:, None],
            layers.outside[:, None],
        ],
        1,
    )
    hidden = np.concatenate([[layers.outside_bias], units.ravel()]).astype(np.float32)
    return LearnedNetwork(features, np.round(scaled / columns).astype(np.int8), hidden)
