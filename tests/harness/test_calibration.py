"""Shares, separation and bins, held against scipy and values worked out by hand."""

import numpy as np
import pytest
from scipy import stats

from harness.measures.calibration import Bin, Threshold, bins, separation, thresholds, wilson


@pytest.mark.parametrize(("successes", "n"), [(0, 26), (10, 26), (26, 26), (6, 348), (1, 1)])
def test_a_shares_interval_is_scipys(successes: int, n: int) -> None:
    wanted = stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")

    assert wilson(successes, n) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_a_share_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing"):
        wilson(0, 0)
    with pytest.raises(ValueError, match="both"):
        separation([1.0], [])


def test_separation_is_the_u_statistic_as_a_share() -> None:
    chance = np.random.default_rng(4)
    wanted = list(np.round(chance.normal(0.6, 0.2, 80), 2))
    unwanted = list(np.round(chance.normal(0.4, 0.2, 50), 2))

    u = stats.mannwhitneyu(wanted, unwanted).statistic

    assert separation(wanted, unwanted) == pytest.approx(u / (80 * 50))
    assert separation([0.9], [0.1]) == 1.0
    assert separation([0.5], [0.5]) == 0.5


def test_bins_hold_every_score_once() -> None:
    found = bins([0.05, 0.19, 0.11, 1.0, 1.7, -0.2], [False, True, False, True, True, False])

    assert [(one.low, one.n, one.right) for one in found] == [(0.0, 2, 0), (0.1, 2, 1), (0.9, 2, 2)]
    assert found[1] == Bin(0.1, 0.2, 2, pytest.approx(0.15), 1)


def test_a_least_score_keeps_some_quiet_and_costs_some() -> None:
    found = thresholds([0.2, 0.8], [0.0, 0.3])

    assert found == [
        Threshold(0.0, 0.0, 0.0),
        Threshold(0.2, 0.5, 0.0),
        Threshold(0.3, 0.5, 0.5),
        Threshold(0.8, 1.0, 0.5),
    ]
