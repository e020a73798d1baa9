"""Learned weights of features: against a dict, tokens that repeat, sizes that do not match."""

import random
from array import array

import pytest
from regorus import FeatureWeights

_FACTOR = 0x9E3779B1


def _table(weights: dict[int, float]) -> FeatureWeights:
    keys = sorted(weights)
    features = b"".join(key.to_bytes(4, "little") for key in keys)
    return FeatureWeights(features, array("d", map(weights.__getitem__, keys)).tobytes())


@pytest.mark.parametrize("size", [0, 1, 400, 6000])
def test_it_weighs_what_a_dict_weighs(size: int) -> None:
    random_ = random.Random(size)  # noqa: S311 - repeatable, not secret
    keys = [random_.randrange(1 << 32) for _ in range(size)]
    pairs = [(one * _FACTOR + other) & 0xFFFFFFFF for one, other in zip([7, *keys], keys, strict=False)]
    weights = {key: random_.uniform(-1, 1) for key in [*keys[::3], *pairs[::2], 0, 0xFFFFFFFF]}
    table, own = _table(weights), [random_.uniform(-1, 1) for _ in keys]

    assert len(table) == len(weights)
    assert [table.sum([key]) for key in [*keys, 0, 1, 0xFFFFFFFF]] == [
        weights.get(key, 0.0) for key in [*keys, 0, 1, 0xFFFFFFFF]
    ]
    assert table.counts(7, keys, own, _FACTOR) == [
        more + weights.get(pair, 0.0) for more, pair in zip(own, pairs, strict=True)
    ]


def test_a_token_that_repeats_the_one_before_counts_nothing() -> None:
    table = _table({(5 * _FACTOR + 5) & 0xFFFFFFFF: 3.0, (5 * _FACTOR + 6) & 0xFFFFFFFF: 0.5})

    assert table.counts(5, [5, 5, 6, 6], [1.0, 1.0, 1.0, 1.0], _FACTOR) == [0.0, 0.0, 1.5, 0.0]


@pytest.mark.parametrize(
    ("features", "weights"),
    [
        (b"\1\0\0\0", b""),
        (b"", bytes(8)),
        (b"\1\0\0", bytes(8)),
        (b"\1\0\0\0\1\0\0\0", bytes(16)),
        (bytes(4), bytes(7)),
    ],
)
def test_sizes_that_do_not_match_are_refused(features: bytes, weights: bytes) -> None:
    with pytest.raises(ValueError, match="features must ascend, and each must have a weight"):
        FeatureWeights(features, weights)


def test_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="each token must have a key and a weight"):
        _table({}).counts(0, [1], [], _FACTOR)
