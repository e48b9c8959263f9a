"""The measures, held against numpy, scipy and values worked out by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from harness.errors import HarnessError
from harness.measures import ranking, significance
from harness.measures.latency import QUANTILES, Latencies, needed, ranks
from harness.measures.schedule import arrivals

JUDGMENTS = {"a": {"d1": 3, "d2": 1, "d3": 0}, "b": {"d4": 1}}
KNOWN = {f"d{n}" for n in range(20)}


def test_ndcg_has_linear_gain_and_the_ideal_of_all_judged() -> None:
    found = ranking.score(JUDGMENTS, {"a": ["d9", "d1", "d2"], "b": ["d4"]}, KNOWN)

    gained = 3 / math.log2(3) + 1 / math.log2(4)
    ideal = 3 / math.log2(2) + 1 / math.log2(3)
    assert found["ndcg@10"]["a"] == pytest.approx(gained / ideal)
    assert found["ndcg@10"]["b"] == 1.0
    assert found["rr@10"] == {"a": 0.5, "b": 1.0}


def test_a_query_without_a_hit_counts_zero_and_is_not_left_out() -> None:
    found = ranking.score(JUDGMENTS, {"a": [], "b": ["d4"]}, KNOWN)

    assert found["ndcg@10"] == {"a": 0.0, "b": 1.0}
    assert found["recall@100"] == {"a": 0.0, "b": 1.0}


def test_depth_counts_by_the_order_given() -> None:
    hits = [f"d{n}" for n in (5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 1, 2)]

    found = ranking.score(JUDGMENTS, {"a": hits, "b": []}, KNOWN)

    assert found["ndcg@10"]["a"] == found["recall@10"]["a"] == found["rr@10"]["a"] == 0.0
    assert found["recall@100"]["a"] == 1.0


@pytest.mark.parametrize(
    ("rankings", "says"),
    [
        ({"a": ["d1"]}, "'b' was judged but not asked"),
        ({"a": [], "b": [], "c": []}, "'c' was asked but never judged"),
        ({"a": ["d1", "d1"], "b": []}, "twice"),
        ({"a": ["d99"], "b": []}, "'d99' is not in the corpus"),
    ],
)
def test_what_cannot_be_scored_is_an_error(rankings: dict[str, list[str]], says: str) -> None:
    with pytest.raises(HarnessError, match=says):
        ranking.score(JUDGMENTS, rankings, KNOWN)


def test_the_interval_is_that_of_scipys_bootstrap() -> None:
    values = np.random.default_rng(5).beta(2, 1, size=300)

    ours = significance.macro_interval([values.tolist()])
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(6)
    ).confidence_interval

    assert ours.mean == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.low, abs=0.0015)
    assert ours.high == pytest.approx(theirs.high, abs=0.0015)


def test_a_large_set_does_not_drown_a_small_one() -> None:
    found = significance.macro_interval([[1.0] * 1000, [0.0] * 10])

    assert (found.mean, found.low, found.high, found.n) == (0.5, 0.5, 0.5, 1010)


def test_the_same_differences_give_the_same_interval() -> None:
    values = [0.1, -0.2, 0.05, 0.0, 0.3] * 20

    assert significance.macro_interval([values]) == significance.macro_interval([values])


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(HarnessError, match="not a number"):
        significance.macro_interval([[0.1, math.nan]])


def test_pairs_need_the_same_queries() -> None:
    assert significance.paired({"a": 1.0, "b": 0.5}, {"b": 0.25, "a": 0.5}) == [0.5, 0.25]
    with pytest.raises(HarnessError, match="queries differ"):
        significance.paired({"a": 1.0}, {"b": 1.0})


@pytest.mark.parametrize("share", QUANTILES.values())
def test_quantiles_are_numpys_within_three_digits(share: float) -> None:
    seconds = np.random.default_rng(1).lognormal(-4, 1, size=5_000)
    found = Latencies()
    for value in seconds:
        found.record(float(value))

    expected_ms = np.quantile(seconds, share, method="inverted_cdf") * 1000

    assert found.quantile(share).value_ms == pytest.approx(expected_ms, rel=0.002)
    assert found.max_ms == pytest.approx(seconds.max() * 1000, rel=0.002)
    assert found.mean_ms == pytest.approx(seconds.mean() * 1000, rel=0.002)


def test_merged_histograms_are_the_histogram_of_all_values() -> None:
    parts, whole = [Latencies() for _ in range(4)], Latencies()
    for n, value in enumerate(np.random.default_rng(2).exponential(0.02, size=4_000)):
        parts[n % 4].record(float(value))
        whole.record(float(value))

    merged = Latencies()
    for part in parts:
        merged.add(Latencies(part.encoded()))

    assert merged.n == 4_000
    assert merged.curve() == whole.curve()


def test_a_quantiles_interval_holds_the_truth_about_19_times_in_20() -> None:
    chance, held = np.random.default_rng(3), 0
    truth_ms = 1000 * -math.log(1 - 0.9) * 0.02
    for _ in range(300):
        found = Latencies()
        for value in chance.exponential(0.02, size=200):
            found.record(float(value))
        quantile = found.quantile(0.9)
        assert quantile.low_ms is not None
        assert quantile.high_ms is not None
        held += quantile.low_ms <= truth_ms <= quantile.high_ms

    assert 0.93 <= held / 300 <= 1.0


def test_a_sample_that_bounds_no_quantile_says_how_many_it_takes() -> None:
    assert (needed(0.99), needed(0.999), needed(0.5)) == (368, 3688, 6)
    assert ranks(367, 0.99)[1] is None
    assert ranks(368, 0.99)[1] == 368
    found = Latencies()
    for _ in range(100):
        found.record(0.01)
    quantile = found.quantile(0.99)
    assert (quantile.enough, quantile.high_ms, quantile.needed) == (False, None, 368)


def test_arrivals_come_at_the_rate_asked_and_always_the_same() -> None:
    moments = list(arrivals(50, 200, seed=4))
    gaps = np.diff([0.0, *moments])

    assert len(moments) == 10_000
    assert moments == sorted(moments)
    assert max(moments) < 200
    assert moments == list(arrivals(50, 200, seed=4))
    assert moments != list(arrivals(50, 200, seed=5))
    assert stats.kstest(gaps, "expon", args=(0, 1 / 50)).pvalue > 0.01


def test_steady_arrivals_have_equal_gaps() -> None:
    assert list(arrivals(4, 1, seed=1, law="steady")) == pytest.approx([0.125, 0.375, 0.625, 0.875])


def test_an_impossible_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="want at least one"):
        arrivals(0, 1, seed=1)


def test_a_mean_is_the_librarys_own_also_of_nothing_and_of_what_was_sent() -> None:
    times = Latencies()
    assert times.mean_ms == 0.0

    for seconds in (0.0000004, 0.001, 0.0123456, 0.5, 61.0, 5000.0):
        times.record(seconds)
        times.record(seconds * 1.1)

    assert times.mean_ms == times._histogram.get_mean_value() / 1000
    assert Latencies(times.encoded()).mean_ms == times.mean_ms
