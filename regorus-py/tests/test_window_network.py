"""A network over windows: against sums written out, unknown features, tokens that repeat, sizes that do not match."""

import math
import random
from array import array

import pytest
from regorus import WindowNetwork

_FACTOR = 0x9E3779B1
_WIDTH, _UNITS, _SMOOTHING = 5, 3, 4

type Unit = tuple[list[float], float, float, float]


def _features(keys: list[int]) -> bytes:
    return b"".join(key.to_bytes(4, "little") for key in keys)


def _made(random_: random.Random, keys: list[int]) -> tuple[dict[int, list[int]], list[Unit], WindowNetwork]:
    rows = {key: [random_.randint(-127, 127) for _ in range(_WIDTH)] for key in keys}
    units = [
        ([random_.uniform(-1, 1) for _ in range(_WIDTH)], random_.random(), random_.random(), random_.uniform(-1, 1))
        for _ in range(_UNITS)
    ]
    numbers = array("b", [number for row in rows.values() for number in row]).tobytes()
    return rows, units, WindowNetwork(_features(keys), numbers, units, 0.5, _SMOOTHING, _FACTOR)


def test_what_it_adds_is_what_the_sums_written_out_add() -> None:
    random_ = random.Random(3)  # noqa: S311 - repeatable, not secret
    known = sorted(random_.sample(range(1 << 32), 400))
    tokens = [[random_.choice(known), random_.randrange(1 << 32), random_.choice(known)] for _ in range(40)]
    pairs = [(one[0] * _FACTOR + other[0]) & 0xFFFFFFFF for one in tokens for other in tokens]
    keys = sorted({*known, *pairs[::7]})
    rows, units, network = _made(random_, keys)
    pieces = [([random_.choice(tokens) for _ in range(random_.randint(1, 9))], [keys[7], 5]) for _ in range(12)]
    windows = [(first, end, random_.random()) for first in range(12) for end in range(first + 1, 13)]
    before = [0, *(piece[-1][0] for piece, _ in pieces)]
    records = [b"".join(map(network.token, piece)) for piece, _ in pieces]
    asked = [(last, record, more) for last, record, (_, more) in zip(before, records, pieces, strict=False)]

    added = network.log_odds(asked, windows)

    for (first, end, signs), found in zip(windows, added, strict=True):
        features: list[int] = []
        for last, (piece, more) in list(zip(before, pieces, strict=False))[first:end]:
            for one, token in zip([last, *(each[0] for each in piece)], piece, strict=False):
                features += [] if one == token[0] else [*token, (one * _FACTOR + token[0]) & 0xFFFFFFFF]
            features += more
        norm = math.sqrt(sum(len(piece) for piece, _ in pieces[first:end]) + _SMOOTHING)
        sums = [sum(rows[key][at] for key in features if key in rows) for at in range(_WIDTH)]
        expected = 0.5
        for weights, of_signs, bias, adds in units:
            raised = sum(weight * one for weight, one in zip(weights, sums, strict=True)) / norm
            expected += adds * max(0.0, raised + of_signs * signs + bias)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_a_window_counts_the_same_whatever_stands_around_it() -> None:
    random_ = random.Random(4)  # noqa: S311 - repeatable, not secret
    keys = sorted(random_.sample(range(1 << 32), 90))
    _, _, network = _made(random_, keys)
    pieces = [(0, b"".join(network.token(random_.sample(keys, 3)) for _ in range(20)), keys[:3]) for _ in range(9)]

    (alone,) = network.log_odds(pieces[4:6], [(0, 2, 1.5)])

    assert network.log_odds(pieces, [(4, 6, 1.5)]) == [alone]


def test_nothing_known_leaves_the_units_their_biases() -> None:
    network = WindowNetwork(_features([7]), b"\x7f\x7f", [([1.0, 1.0], 2.0, -1.0, 3.0)], 0.25, 4, _FACTOR)

    assert network.log_odds([(8, network.token([9]), [])], [(0, 1, 0.0), (0, 1, 2.0)]) == [0.25, 9.25]


@pytest.mark.parametrize(
    ("keys", "numbers", "units", "smoothing"),
    [
        ([1, 2], b"\1", [([1.0], 0.0, 0.0, 1.0)], 4),
        ([2, 1], b"\1\1", [([1.0], 0.0, 0.0, 1.0)], 4),
        ([1, 1], b"\1\1", [([1.0], 0.0, 0.0, 1.0)], 4),
        ([1], b"\1", [], 4),
        ([1], b"", [([], 0.0, 0.0, 1.0)], 4),
        ([1], b"\1", [([1.0], 0.0, 0.0, 1.0), ([1.0, 2.0], 0.0, 0.0, 1.0)], 4),
        ([1], b"\1", [([1.0], 0.0, 0.0, 1.0)], 0),
    ],
)
def test_sizes_that_do_not_match_are_refused(
    keys: list[int], numbers: bytes, units: list[Unit], smoothing: int
) -> None:
    with pytest.raises(ValueError, match="features must ascend"):
        WindowNetwork(_features(keys), numbers, units, 0.0, smoothing, _FACTOR)


def test_features_that_are_cut_are_refused() -> None:
    with pytest.raises(ValueError, match="features must ascend"):
        WindowNetwork(b"\1\0\0\0\2", b"\1", [([1.0], 0.0, 0.0, 1.0)], 0.0, 4, _FACTOR)


@pytest.mark.parametrize("window", [(0, 2, 0.0), (1, 1, 0.0), (1, 0, 0.0)])
def test_windows_of_pieces_that_are_not_there_are_refused(window: tuple[int, int, float]) -> None:
    network = WindowNetwork(_features([7]), b"\1", [([1.0], 0.0, 0.0, 1.0)], 0.0, 4, _FACTOR)

    with pytest.raises(ValueError, match="not there"):
        network.log_odds([(8, network.token([9]), [])], [window])


def test_a_record_that_is_cut_and_a_token_without_a_key_are_refused() -> None:
    network = WindowNetwork(_features([7]), b"\1", [([1.0], 0.0, 0.0, 1.0)], 0.0, 4, _FACTOR)

    with pytest.raises(ValueError, match="cut"):
        network.log_odds([(8, network.token([9])[:-1], [])], [(0, 1, 0.0)])
    with pytest.raises(ValueError, match="key"):
        network.token([])
