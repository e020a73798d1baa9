"""What is tallied ends up as if it had been observed one by one."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram

from addons.tally import TalliedCounter, TalliedHistogram

_BOUNDS = (0.001, 0.01, 0.1, 1.0)


def _samples(histogram: Histogram) -> dict[tuple[str, str], float]:
    (family,) = histogram.collect()
    return {
        (sample.name, sample.labels.get("le", "")): round(sample.value, 6)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


@given(st.lists(st.one_of(st.floats(0, 5), st.sampled_from(_BOUNDS)), max_size=30), st.integers(0, 30))
def test_a_tallied_histogram_is_the_histogram_of_the_same_values(values: list[float], flushed_after: int) -> None:
    direct = Histogram("one", "", buckets=_BOUNDS, registry=CollectorRegistry())
    behind = Histogram("one", "", buckets=_BOUNDS, registry=CollectorRegistry())
    tallied = TalliedHistogram(behind)
    for index, value in enumerate(values):
        direct.observe(value)
        tallied.observe(value)
        if index == flushed_after:
            tallied.flush()
    tallied.flush()
    tallied.flush()
    assert _samples(behind) == _samples(direct)


def test_a_tallied_counter_counts_once() -> None:
    counter = Counter("two", "", registry=CollectorRegistry())
    tallied = TalliedCounter(counter)
    for _ in range(3):
        tallied.inc()
    tallied.flush()
    tallied.flush()
    (family,) = counter.collect()
    assert family.samples[0].value == 3
