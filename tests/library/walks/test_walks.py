"""Tests of walks as a user calls them: reproducibility, the guard, windows and the mean."""

from __future__ import annotations

import numpy as np
import pytest
from support.affine_chains import exact_posterior, make_target

from onlinefa import LowRankGaussian, RecursiveEM
from onlinefa.walks import (
    SGD,
    AdaptiveLangevin,
    CyclicalLangevin,
    Langevin,
    LeastSquares,
    Target,
    Underdamped,
    WalkDiverged,
    descend,
)

TARGET = make_target(D=3, n=20)
KINDS = [SGD, Langevin, Underdamped]


class Counted(Target):
    """A target that counts the rows of which gradients are computed."""

    def __init__(self, target):
        super().__init__(target.dimension, target.n_rows)
        self.target = target
        self.rows = 0

    def gradient(self, theta, rows):
        self.rows += len(rows)
        return self.target.gradient(theta, rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_can_be_continued(kind):
    def new(seed=0):
        return kind(TARGET, np.zeros(3), step=1e-3, batch_size=5, random_state=seed)

    walk, other = new(), new()
    pieces = np.concatenate([walk.observe(256), walk.observe(3), walk.observe(0)])
    np.testing.assert_array_equal(pieces, other.observe(259))
    np.testing.assert_array_equal(pieces[-1], walk.theta)
    assert walk.steps == 259
    assert (pieces != new(seed=1).observe(259)).any()


@pytest.mark.parametrize(
    ("sampling", "anchored", "cost"),
    [("replacement", False, 1), ("full", False, 4), ("replacement", True, 2)],
)
def test_gradients_are_counted(sampling, anchored, cost):
    counted = Counted(TARGET)
    target = counted.with_control_variate(np.zeros(3)) if anchored else counted
    counted.rows = 0
    walk = SGD(target, np.zeros(3), step=1e-3, batch_size=5, sampling=sampling, random_state=0)
    walk.observe(10)
    assert counted.rows == 5 * walk.gradients_spent
    assert walk.gradients_per_step == cost
    assert walk.gradients_spent == cost * (10 + (1 if sampling == "full" else 8))


def test_gradients_of_steps_that_are_taken_back_are_counted():
    walk = SGD(TARGET, np.zeros(3), step=1e3, batch_size=5, random_state=0)
    walk.observe(10)
    assert walk.halvings > 0
    assert walk.gradients_spent == 8 + 10 * (1 + walk.halvings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [1.0, 1e6, 1e12])
def test_a_step_that_diverges_is_halved_until_the_walk_is_stable(kind, step):
    walk = kind(TARGET, np.zeros(3), step=step, batch_size=5, sampling="full", random_state=0)
    rows = walk.observe(2000)
    assert np.isfinite(rows).all()
    assert walk.halvings > 0
    mode, A = exact_posterior(TARGET)
    sd = np.sqrt(np.diag(np.linalg.inv(A)))
    assert (np.abs(rows[-500:] - mode) < 30 * sd).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_diverges_is_halved_even_if_steps_are_observed_one_by_one(kind):
    walk = kind(TARGET, np.zeros(3), step=1e6, batch_size=5, sampling="full", random_state=0)
    rows = np.concatenate([walk.observe(1) for _ in range(500)])
    assert np.isfinite(rows).all()
    mode, A = exact_posterior(TARGET)
    assert (np.abs(walk.theta - mode) < 30 * np.sqrt(np.diag(np.linalg.inv(A)))).all()


@pytest.mark.parametrize("seed", range(10))
def test_a_stable_step_from_the_mode_is_not_halved(seed):
    mode, A = exact_posterior(TARGET)
    step = 0.1 / np.linalg.eigvalsh(A)[-1]
    walk = Langevin(TARGET, mode, step=step, batch_size=1, random_state=seed)
    walk.observe(2000)
    assert walk.halvings == 0


class Broken(Target):
    def gradient(self, theta, rows):
        return np.full(2, np.nan)


def test_a_target_without_finite_gradients_is_an_error():
    walk = SGD(Broken(2, 5), np.zeros(2), step=1.0, batch_size=2)
    with pytest.raises(WalkDiverged, match="the walk diverges with a step of"):
        walk.observe(10)


@pytest.mark.parametrize(
    ("start", "step", "message"),
    [
        (np.zeros(2), 1.0, r"start must have the shape \(3,\)"),
        (np.array([0, np.nan, 0]), 1.0, "start must be finite"),
        (np.zeros(3), 0.0, "step positive and finite"),
        (np.zeros(3), np.inf, "step positive and finite"),
    ],
)
def test_mistakes_are_one_line(start, step, message):
    with pytest.raises(ValueError, match=message):
        SGD(TARGET, start, step=step)


def make_regression(seed=0, n=300, D=5):
    """Return a regression with collinear inputs and targets far from zero."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, D - 1)) @ np.linalg.cholesky(0.9 + 0.1 * np.eye(D - 1)).T
    X = np.column_stack([X, np.ones(n)])
    y = 50 + X @ random.normal(size=D) + random.normal(size=n)
    return LeastSquares(X, y, noise_precision=1.0, prior_precision=0.1)


def fit_last_window(walk, windows, K=2):
    for _ in range(windows):
        model, rows = RecursiveEM(K), []
        for block in walk.next_window():
            model.partial_fit(block)
            rows.append(block)
    return walk.correct_mean(model.gaussian()), np.concatenate(rows)


@pytest.mark.slow
# The smaller the batches, the smaller the steps, and the fewer independent states has a window.
@pytest.mark.parametrize(("batch_size", "tolerance"), [(8, 0.2), (64, 0.05)])
def test_an_adaptive_walk_finds_the_posterior(batch_size, tolerance):
    target = make_regression()
    mode, A = exact_posterior(target)
    walk = AdaptiveLangevin(
        target, np.zeros(5), warm_up=1000, n_components=2, batch_size=batch_size, random_state=0
    )
    estimate, rows = fit_last_window(walk, 6)
    # One window is half of the walk, less the part that measures the gradients.
    assert walk.gradients_spent == 1000 * 2**6
    assert len(rows) == 1000 * 2**5 * 7 // 8
    assert np.trace(np.cov(rows.T) @ A) / 5 == pytest.approx(1, abs=tolerance)
    sd = np.sqrt(np.diag(np.linalg.inv(A)))
    assert (np.abs(estimate.mean - mode) < 0.3 * sd).all()  # it starts 800 of them away


@pytest.mark.slow
def test_without_the_correction_the_same_step_is_too_wide():
    target = make_regression()
    _, A = exact_posterior(target)
    options = {"batch_size": 64, "random_state": 0}
    walk = AdaptiveLangevin(target, np.zeros(5), warm_up=1000, n_components=2, **options)
    fit_last_window(walk, 4)
    fixed = {"step": walk.step, "preconditioner": walk.preconditioner, **options}
    plain = Langevin(target, walk.theta, **fixed)
    corrected = Langevin(target, walk.theta, moment=walk.moment, **fixed)
    assert np.trace(np.cov(plain.observe(50_000).T) @ A) / 5 > 1.1
    assert np.trace(np.cov(corrected.observe(50_000).T) @ A) / 5 == pytest.approx(1, abs=0.05)


def test_the_step_of_constant_sgd_is_that_of_mandt_hoffman_and_blei():
    target = make_regression()
    options = {"warm_up": 400, "batch_size": 16, "random_state": 0}
    mode, _ = exact_posterior(target)
    walk = AdaptiveLangevin(target, mode, noise="none", **options)
    assert not walk.color(np.ones((2, 5))).any()
    # The covariance of gradients of batches at the mode, from all rows.
    each = np.array([target.gradient(mode, np.array([n])) for n in range(target.n_rows)])
    trace = np.sum(np.var(each, axis=0)) / 16
    assert walk.step == pytest.approx(2 * 5 / trace, rel=0.4)  # 32 batches, near the mode


def test_windows_end_when_the_budget_is_spent():
    for changes in ({}, {"control_variate": True}, {"noise": "none"}, {"noise": "added"}):
        counted = Counted(make_regression())
        walk = AdaptiveLangevin(
            counted,
            np.zeros(5),
            warm_up=400,
            n_components=2,
            batch_size=10,
            random_state=0,
            **changes,
        )
        for k in (1, 2, 3):
            for _ in walk.next_window():
                pass
            assert counted.rows == 10 * walk.gradients_spent
            assert 400 * 2**k - 2 < walk.gradients_spent <= 400 * 2**k


def test_the_corrected_mean_of_a_short_walk_is_closer_to_the_mode():
    target = make_regression()
    mode, A = exact_posterior(target)
    start = mode + 1.0
    walk = Langevin(
        target, start, step=0.01 / np.linalg.eigvalsh(A)[-1], batch_size=1, sampling="full"
    )
    rows = walk.observe(100)
    estimate = LowRankGaussian.of_covariance(rows.mean(axis=0), np.linalg.inv(A))
    # Gradients are those before each step, so that the correction is exact up to one step in 100.
    corrected = walk.correct_mean(estimate).mean
    assert np.abs(corrected - mode).max() < 0.03 * np.abs(estimate.mean - mode).max()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"warm_up": 99}, "a descent needs at least 100 gradients, got 99"),
        ({"noise": "correct"}, "noise must be one of corrected, added, none, got 'correct'"),
        ({"preconditioner_kind": "full"}, "preconditioner_kind must be one of factors, diagonal"),
    ],
)
def test_mistakes_of_an_adaptive_walk_are_one_line(changes, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveLangevin(TARGET, np.zeros(3), **{"warm_up": 200, "batch_size": 5} | changes)


def test_cyclical_steps_fall_to_zero_and_only_sampling_is_observed():
    _, A = exact_posterior(TARGET)
    walk = CyclicalLangevin(
        TARGET,
        np.zeros(3),
        cycle=100,
        exploration=0.75,
        step=0.5 / np.linalg.eigvalsh(A)[-1],
        batch_size=5,
        sampling="full",
        random_state=0,
    )
    rows = walk.observe(400)
    assert len(rows) == 4 * 25
    # The last step of a cycle has cos^2 of nearly a right angle: the walk hardly moves.
    moves = np.linalg.norm(np.diff(rows, axis=0), axis=1)
    assert moves[23] < 0.2 * moves[:5].mean()
    assert len(walk.observe(50)) == 0


def test_cyclical_walks_sample_the_posterior():
    target = make_regression()
    _, A = exact_posterior(target)
    descent = descend(target, np.zeros(5), 400, batch_size=20, random=np.random.default_rng(0))
    walk = CyclicalLangevin(
        target,
        descent.theta,
        cycle=2000,
        exploration=0.2,
        step=0.5 / descent.curvature,
        batch_size=20,
        sampling="full",
        random_state=0,
    )
    rows = walk.observe(60_000)
    assert np.trace(np.cov(rows.T) @ A) / 5 == pytest.approx(1, abs=0.25)
