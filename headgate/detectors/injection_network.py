"""A small network that is asked about windows that the table of weights finds likely (``injection_windows``).

Sixteen learned numbers of each feature are summed up over the window; hidden units make the log odds of the sums, which
are added to those of the table. The engine computes it (``regorus.WindowNetwork``), the same on each machine. It is
asked only from ``floor`` on, so ordinary text seldom pays for it.

In ``injection_windows.bin`` after the weights: for each feature, ``numbers`` signed bytes; then floats of 4 bytes,
little endian: the bias, and for each of ``units``, its weights of the numbers, its weight of the signs, its bias, and
what it adds.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import batched, chain
from math import isfinite
from sys import byteorder
from typing import Final

from regorus import WindowNetwork

from headgate.detectors.injection_memory import TokenMemory
from headgate.detectors.injection_pieces import Hit, Pieces
from headgate.detectors.injection_tokens import PAIR_FACTOR, class_key, gram_keys, token_of, word_keys
from headgate.detectors.limits import Budget
from headgate.kernel.errors import ValidationError

SMOOTHING_TOKENS: Final = 4
_WINDOWS_AT_ONCE: Final = 1024
UNIT_FLOATS: Final = 3
"""Floats of a unit beside its weights of the numbers."""

type Scored = tuple[float, int, int]
"""A score without the bias, the first piece, the piece after the last."""


class Network:
    """``floor``: the log odds by the table from which a window is asked about."""

    def __init__(self, engine: WindowNetwork, floor: float) -> None:
        self.engine, self.floor = engine, floor
        self.records = TokenMemory(self._record)

    def _record(self, raw: str) -> bytes:
        """What the engine adds up for the token."""
        word = token_of(raw).word
        return self.engine.token([*word_keys(word), *gram_keys(word)])


class TextTokens:
    """The tokens of a text: ``raw``, the first key of the token before each, and ``places`` of its ``hits``."""

    def __init__(
        self, raw: Sequence[str], before: Sequence[int], pieces: Pieces, hits: Iterable[Hit], places: Iterable[int]
    ) -> None:
        self._raw, self._before, self._pieces = raw, before, pieces
        self._classes: dict[int, list[int]] = defaultdict(list)
        for (_, names), place in zip(hits, places, strict=True):
            self._classes[place] += _class_keys(names)

    def of(self, piece: int, records: TokenMemory[bytes]) -> tuple[int, bytes, list[int]]:
        """The key before the piece, the records of its tokens, and the keys of its classes."""
        first, last = self._pieces.firsts[piece], self._pieces.lasts[piece]
        classes = [key for at in range(first, last) if at in self._classes for key in self._classes[at]]
        return self._before[first], b"".join(map(records.__getitem__, self._raw[first:last])), classes


@cache
def _class_keys(names: tuple[str, ...]) -> list[int]:
    return [class_key(name) for name in names]


def network_of(features: bytes, numbers: bytes, hidden: bytes, width: int, units: int, floor: float) -> Network:
    """Raises ValidationError for a file that is cut, and for a weight that is no number."""
    floats = array("f")
    floats.frombytes(hidden)
    if byteorder == "big":
        floats.byteswap()
    if len(floats) != 1 + units * (width + UNIT_FLOATS) or not all(map(isfinite, floats)):
        raise ValidationError("injection_windows.bin: the network is not what the head of the file says")
    rows = [_unit(floats[at : at + width + UNIT_FLOATS]) for at in range(1, len(floats), width + UNIT_FLOATS)]
    return Network(WindowNetwork(features, numbers, rows, floats[0], SMOOTHING_TOKENS, PAIR_FACTOR), floor)


def _unit(row: array[float]) -> tuple[array[float], float, float, float]:
    signs, bias, adds = row[-UNIT_FLOATS:]
    return row[:-UNIT_FLOATS], signs, bias, adds


def judged(
    windows: Iterable[Scored], text: TextTokens, odds: Sequence[float], network: Network, budget: Budget
) -> Iterator[Scored]:
    """The windows, in the same order, with what the network adds. ``odds``: of the signs in each piece."""
    left = iter(windows)
    for batch in batched(left, _WINDOWS_AT_ONCE):
        if not budget.has_time():
            # The table alone judges the rest: likely windows before an order must not end the search for it.
            yield from chain(batch, left)
            return
        spans = {one: end for _, one, end in batch}  # the last of those that begin at a piece reaches farthest
        numbers = sorted({piece for one, end in spans.items() for piece in range(one, end)})
        place = {piece: at for at, piece in enumerate(numbers)}
        asked = [(place[one], place[end - 1] + 1, max(odds[one:end])) for _, one, end in batch]
        added = network.engine.log_odds([text.of(piece, network.records) for piece in numbers], asked)
        for (score, one, end), more in zip(batch, added, strict=True):
            yield score + more, one, end
