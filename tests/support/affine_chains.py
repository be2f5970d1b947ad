"""Exact stationary laws of walks whose steps are affine functions of the weights.

A step of a walk over a linear regression is theta -> M_b theta + v_b + noise, with one M_b and v_b
for each batch b. Both are read off the walk by taking single steps from the origin and from unit
vectors. Mean and covariance of the stationary law then solve linear equations, without sampling.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from onlinefa.walks import LeastSquares
from onlinefa.walks.batches import Batches


def make_target(D=3, n=5, condition=10.0, seed=0):
    """Return a regression whose inputs differ in scale, with a precision of that condition."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, D)) * np.geomspace(1, np.sqrt(condition), D)
    return LeastSquares(X, random.normal(size=n), noise_precision=2.0, prior_precision=0.5)


def exact_posterior(target):
    """Return mode and precision of a regression."""
    A = target.noise_precision * target.X.T @ target.X
    A += target.prior_precision * np.eye(target.dimension)
    return np.linalg.solve(A, target.noise_precision * target.X.T @ target.y), A


def all_batches(target, size):
    """Return all equally likely batches that are drawn with replacement."""
    return [np.array(rows) for rows in product(range(target.n_rows), repeat=size)]


def read_steps(walk, batches):
    """Return M_b and v_b of each batch."""
    D = walk.target.dimension
    quiet = np.zeros((1, D))

    def step(theta, rows):
        one = Batches(rows, np.array([len(rows)]))
        states, _ = walk.target.walk_overdamped(
            theta, one, walk.preconditioner, np.array([walk.step]), quiet
        )
        return states[0]

    constants = np.array([step(np.zeros(D), rows) for rows in batches])
    moved = np.array([[step(e, rows) for e in np.eye(D)] for rows in batches])
    return (moved - constants[:, None]).transpose(0, 2, 1), constants


def stationary_law(walk, batches):
    """Return mean and covariance of the stationary law of an overdamped walk."""
    D = walk.target.dimension
    M, v = read_steps(walk, batches)
    mean = np.linalg.solve(np.eye(D) - M.mean(axis=0), v.mean(axis=0))
    # Around the mean, e -> M e + (M mean + v - mean) + noise.
    shift = M @ mean + v - mean
    root = walk.color(np.eye(D))
    added = root.T @ root + np.einsum("bi,bj->ij", shift, shift) / len(batches)
    squared = np.mean([np.kron(one, one) for one in M], axis=0)
    covariance = np.linalg.solve(np.eye(D * D) - squared, added.ravel()).reshape(D, D)
    return mean, covariance


def gradient_moment(target, batches):
    """Return E[gg'] under the exact posterior."""
    mode, A = exact_posterior(target)
    S, D = np.linalg.inv(A), target.dimension
    total = np.zeros((D, D))
    for rows in batches:
        at_mode = target.gradient(mode, rows)
        H = np.array([target.gradient(mode + e, rows) - at_mode for e in np.eye(D)]).T
        total += H @ S @ H.T + np.outer(at_mode, at_mode)
    return total / len(batches)
