"""Tests of energies, their control variates, their curvature, and their compiled loops."""

from __future__ import annotations

import numpy as np
import pytest
from support.affine_chains import all_batches, exact_posterior, make_target

from onlinefa import LowRankGaussian
from onlinefa.walks import Preconditioner, Target
from onlinefa.walks.batches import Batches, make_sampler
from onlinefa.walks.curvature import estimate_curvature
from onlinefa.walks.targets import Motion

RANDOM = np.random.default_rng(0)
TARGET = make_target(D=4, n=7)
THETA = RANDOM.normal(size=4)
P = Preconditioner.of_covariance(
    LowRankGaussian(np.zeros(4), RANDOM.normal(size=(4, 2)), np.ones(4))
)


class Plain(Target):
    """A regression without the compiled loops and the control variate of its own."""

    def __init__(self, target):
        super().__init__(target.dimension, target.n_rows)
        self.gradient = target.gradient

    def gradient(self, theta, rows):
        raise AssertionError("replaced")


def energy(target, theta):
    errors = target.y - target.X @ theta
    prior = target.prior_precision * theta @ theta / 2
    return target.noise_precision * errors @ errors / 2 + prior


def test_the_gradient_is_that_of_the_energy():
    everything = np.arange(TARGET.n_rows)
    numerical = [
        (energy(TARGET, THETA + e) - energy(TARGET, THETA - e)) / 2e-5 for e in 1e-5 * np.eye(4)
    ]
    np.testing.assert_allclose(TARGET.gradient(THETA, everything), numerical, rtol=1e-6)


@pytest.mark.parametrize("anchored", [False, True])
def test_gradients_of_batches_are_unbiased(anchored):
    target = TARGET.with_control_variate(THETA + 0.1) if anchored else TARGET
    batches = all_batches(TARGET, 2)
    mean = np.mean([target.gradient(THETA, rows) for rows in batches], axis=0)
    np.testing.assert_allclose(mean, TARGET.gradient(THETA, np.arange(7)), rtol=1e-10)


def test_a_control_variate_removes_the_noise_at_its_anchor():
    mode, _ = exact_posterior(TARGET)
    anchored = TARGET.with_control_variate(mode)
    assert np.abs(TARGET.gradient(mode, np.array([0]))).max() > 1
    for rows in all_batches(TARGET, 1):
        np.testing.assert_allclose(anchored.gradient(mode, rows), 0, atol=1e-10)


def test_the_control_variate_of_a_regression_is_that_of_any_target():
    own, general = (target.with_control_variate(THETA + 0.3) for target in (TARGET, Plain(TARGET)))
    for rows in all_batches(TARGET, 2)[:10]:
        np.testing.assert_allclose(own.gradient(THETA, rows), general.gradient(THETA, rows))


def test_compiled_overdamped_steps_equal_those_in_python():
    batches = make_sampler("reshuffled", 7, 3, np.random.default_rng(1)).draw(20)
    steps, kicks = np.linspace(0.001, 0.01, 20), RANDOM.normal(size=(20, 4))
    compiled = TARGET.walk_overdamped(THETA, batches, P, steps, kicks)
    plain = Plain(TARGET).walk_overdamped(THETA, batches, P, steps, kicks)
    for one, two in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_compiled_underdamped_steps_equal_those_in_python():
    batches = make_sampler("replacement", 7, 3, np.random.default_rng(1)).draw(20)
    kicks, velocity = RANDOM.normal(size=(20, 4)), RANDOM.normal(size=4)
    found = []
    for target in (TARGET, Plain(TARGET)):
        motion = Motion(THETA.copy(), velocity.copy(), np.zeros(4))
        found.append(target.walk_underdamped(motion, batches, P, 0.02, 0.9, kicks))
        found[-1] += (motion.theta, motion.velocity, motion.force)
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_the_curvature_is_the_largest_eigenvalue_of_the_hessian():
    _, A = exact_posterior(TARGET)
    everything = Batches(np.arange(7), np.array([7]))
    curvature, gradients = estimate_curvature(TARGET, THETA, everything, np.random.default_rng(0))
    assert curvature == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=0.01)
    assert gradients == 11


def test_the_curvature_of_batches_is_the_largest_of_them():
    rows = np.arange(7)
    # The Hessian of a single row is a multiple of x x', plus the prior.
    scale = TARGET.noise_precision * TARGET.n_rows
    each = scale * np.sum(TARGET.X**2, axis=1) + TARGET.prior_precision
    singles = Batches(rows, np.ones(7, dtype=int))
    largest, _ = estimate_curvature(TARGET, THETA, singles, np.random.default_rng(0))
    assert largest == pytest.approx(each.max(), rel=1e-4)
