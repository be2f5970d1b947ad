"""Tests that walks have the stationary laws that their classes state."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import solve_discrete_lyapunov
from support.affine_chains import (
    all_batches,
    exact_posterior,
    gradient_moment,
    make_target,
    stationary_law,
)

from onlinefa import LowRankGaussian
from onlinefa.walks import SGD, GradientMoment, Langevin, Preconditioner, Target, Underdamped
from onlinefa.walks.batches import Batches
from onlinefa.walks.targets import Motion

CONDITIONS = [1.0, 100.0, 1e4]


def make_preconditioner(kind, target):
    _, A = exact_posterior(target)
    D = target.dimension
    if kind == "identity":
        return Preconditioner.diagonal(np.ones(D))
    if kind == "diagonal":
        return Preconditioner.diagonal(1 / np.diag(A))
    random = np.random.default_rng(1)
    return Preconditioner.of_covariance(
        LowRankGaussian(np.zeros(D), random.normal(size=(D, 1)), random.uniform(1, 2, size=D))
    )


def whitened_moment(P, moment):
    """Return L'E[gg']L."""
    L = P.apply_root(np.eye(P.dimension)).T
    return L.T @ moment @ L


def curvature_after(P, target):
    """Return PA."""
    return P.apply(exact_posterior(target)[1]).T


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kind", ["identity", "diagonal", "factors"])
def test_sgd_and_sgld_solve_the_stated_equation(kind, condition, size):
    target = make_target(condition=condition)
    P, batches = make_preconditioner(kind, target), all_batches(target, size)
    mode, A = exact_posterior(target)
    largest = np.linalg.eigvalsh(whitened_moment(P, gradient_moment(target, batches)))[-1]
    options = {"step": 0.3 / largest, "preconditioner": P, "batch_size": size}
    D = target.dimension
    for walk, added in (
        (SGD(target, mode, **options), 0.0),
        (Langevin(target, mode, **options), 2 * options["step"]),
    ):
        mean, S = stationary_law(walk, batches)
        np.testing.assert_allclose(mean, mode, atol=1e-9)
        # The noise of gradients in the stationary law, which grows with S.
        noise = np.zeros((D, D))
        for rows in batches:
            at_mode = target.gradient(mode, rows)
            H = np.array([target.gradient(mode + e, rows) - at_mode for e in np.eye(D)]).T - A
            noise += (H @ S @ H.T + np.outer(at_mode, at_mode)) / len(batches)
        h, dense = walk.step, P.apply(np.eye(D))
        contraction = np.eye(D) - h * dense @ A
        right = contraction @ S @ contraction.T + h**2 * dense @ noise @ dense + added * dense
        np.testing.assert_allclose(S, right, rtol=1e-8, atol=1e-10 * np.abs(S).max())


@pytest.mark.parametrize("share", [0.1, 1.0, 1.9])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_corrected_noise_leaves_the_posterior_invariant_for_any_step(condition, size, share):
    target = make_target(condition=condition)
    batches = all_batches(target, size)
    mode, A = exact_posterior(target)
    random = np.random.default_rng(2)
    V, _ = np.linalg.qr(random.normal(size=(3, 3)))  # as many directions as weights: W is exact
    P = Preconditioner(random.uniform(0.5, 2, size=3), V, random.uniform(-0.5, 2, size=3))
    W = whitened_moment(P, gradient_moment(target, batches))
    largest = float(np.linalg.eigvalsh(W)[-1])
    moment = GradientMoment(V.T @ W @ V, 0.0, largest)
    options = {"step": share / largest, "preconditioner": P, "batch_size": size}
    mean, S = stationary_law(Langevin(target, mode, moment=moment, **options), batches)
    np.testing.assert_allclose(mean, mode, atol=1e-9)
    np.testing.assert_allclose(S @ A, np.eye(3), atol=1e-8)
    if share == 1.0:  # the same step without the correction is far from it
        _, wide = stationary_law(Langevin(target, mode, **options), batches)
        assert np.trace(wide @ A) > 3.5


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kind", ["identity", "factors"])
def test_full_batch_baoab_has_the_exact_law_for_any_stable_step(kind, condition, share):
    target = make_target(condition=condition)
    P, (mode, A) = make_preconditioner(kind, target), exact_posterior(target)
    D = target.dimension
    step = share * 2 / np.sqrt(np.linalg.eigvals(curvature_after(P, target)).real.max())
    walk = Underdamped(target, mode, step=step, preconditioner=P, batch_size=1, sampling="full")
    damping = np.exp(-walk.friction * step)
    everything = Batches(np.arange(target.n_rows), np.array([target.n_rows]))

    def take(theta, velocity, kick):
        force = P.apply(target.gradient(theta, everything.order))
        motion = Motion(theta.copy(), velocity.copy(), force)
        target.walk_underdamped(motion, everything, P, step, damping, kick[None])
        return np.concatenate([motion.theta - mode, motion.velocity])

    still, zero = np.zeros(D), take(mode, np.zeros(D), np.zeros(D))
    np.testing.assert_allclose(zero, 0, atol=1e-9)
    M = np.array(
        [take(mode + e, still, still) for e in np.eye(D)]
        + [take(mode, e, still) for e in np.eye(D)]
    ).T
    root = np.sqrt(1 - damping**2) * P.apply_root(np.eye(D))
    kicks = np.array([take(mode, still, kick) for kick in root])
    S = solve_discrete_lyapunov(M, kicks.T @ kicks)
    np.testing.assert_allclose(S[:D, :D] @ A, np.eye(D), atol=1e-7)


class Quartic(Target):
    """The energy theta^4 / 4 + theta^2 / 2 of one weight; every batch has the exact gradient."""

    def __init__(self):
        super().__init__(1, 1)

    def gradient(self, theta, rows):
        return theta**3 + theta


def quartic_moment(power):
    def density(x):
        return np.exp(-(x**4) / 4 - x**2 / 2)

    return quad(lambda x: x**power * density(x), -8, 8)[0] / quad(density, -8, 8)[0]


def discrete_moments(walk, powers):
    """Return moments of the exact stationary law of a walk of one weight, on a grid."""
    grid = np.linspace(-5, 5, 1001)
    one = Batches(np.array([0]), np.array([1]))
    steps = [
        walk.target.walk_overdamped(
            np.array([x]), one, walk.preconditioner, np.array([walk.step]), np.zeros((1, 1))
        )[0][0, 0]
        for x in grid
    ]
    sd = walk.color(np.ones((1, 1)))[0, 0]
    kernel = np.exp(-((grid[None, :] - np.array(steps)[:, None]) ** 2) / (2 * sd**2))
    kernel /= kernel.sum(axis=1, keepdims=True)
    law = np.full(len(grid), 1 / len(grid))
    for _ in range(4000):
        law = law @ kernel
    return np.array([law @ grid**power for power in powers])


def test_moments_of_a_quartic_energy_tend_to_those_of_quadrature():
    exact = np.array([quartic_moment(2), quartic_moment(4)])
    errors = []
    for step in (0.04, 0.02, 0.01):
        walk = Langevin(Quartic(), np.zeros(1), step=step, batch_size=1, sampling="full")
        errors.append(discrete_moments(walk, [2, 4]) - exact)
    assert (np.abs(errors[-1]) < 0.02 * exact).all()
    # The error is of first order in the step.
    np.testing.assert_allclose(errors[1] / errors[2], 2, rtol=0.1)
    np.testing.assert_allclose(errors[0] / errors[1], 2, rtol=0.15)


def test_underdamped_moments_of_a_quartic_energy_are_those_of_quadrature():
    walk = Underdamped(
        Quartic(), np.zeros(1), step=0.3, batch_size=1, sampling="full", random_state=0
    )
    rows = walk.observe(60_000)[:, 0]
    for power in (2, 4):
        blocks = (rows**power).reshape(60, -1).mean(axis=1)
        error = blocks.std(ddof=1) / np.sqrt(60)
        assert abs(blocks.mean() - quartic_moment(power)) < 4 * error
        assert error < 0.05 * quartic_moment(power)  # a factor of two would be seen
