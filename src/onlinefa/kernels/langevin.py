"""Langevin walks over the weights of a linear regression."""

import numpy as np
from numba import njit

from onlinefa.kernels.products import REORDERED_SUMS


@njit(cache=True, fastmath=REORDERED_SUMS)
def _estimate_gradient(X, y, rows, noise_precision, prior_precision, offset, theta, gradient):
    """Write the gradient of the energy, estimated from a batch of rows."""
    D = X.shape[1]
    for d in range(D):
        gradient[d] = 0.0
    for n in rows:
        error = -y[n]
        for d in range(D):
            error += X[n, d] * theta[d]
        for d in range(D):
            gradient[d] += error * X[n, d]
    weight = noise_precision * X.shape[0] / len(rows)
    for d in range(D):
        gradient[d] = weight * gradient[d] + prior_precision * theta[d] + offset[d]


@njit(cache=True, fastmath=REORDERED_SUMS)
def _precondition(scale, V, excess, vector, out):
    """Write r (I + V diag(excess) V') r times a vector, where r is diag(scale)."""
    D, K = V.shape
    for d in range(D):
        out[d] = scale[d] * vector[d]
    for k in range(K):
        product = 0.0
        for d in range(D):
            product += V[d, k] * scale[d] * vector[d]
        product *= excess[k]
        for d in range(D):
            out[d] += product * V[d, k]
    for d in range(D):
        out[d] *= scale[d]


@njit(cache=True, fastmath=REORDERED_SUMS)
def walk_overdamped(
    X,
    y,
    noise_precision,
    prior_precision,
    offset,
    order,
    sizes,
    scale,
    V,
    excess,
    steps,
    kicks,
    theta,
    states,
    gradients,
):
    """Take a step theta <- theta - step P g + kick for each batch, and record theta and g.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Inputs.
    y : ndarray of shape (n,)
        Targets.
    noise_precision, prior_precision : float
        Precisions of the noise and of the prior.
    offset : ndarray of shape (D,)
        Constant that is added to each gradient.
    order : ndarray of int
        Row indices of all batches, one batch after the other.
    sizes : ndarray of int, of shape (batches,)
        Number of rows of each batch.
    scale : ndarray of shape (D,)
        Diagonal part of the preconditioner P.
    V : ndarray of shape (D, K)
        Directions of P.
    excess : ndarray of shape (K,)
        Eigenvalues of P along its directions in units of `scale`, minus one.
    steps : ndarray of shape (batches,)
        Step sizes.
    kicks : ndarray of shape (batches, D)
        Noise that is added in each step.
    theta : ndarray of shape (D,)
        Weights, which are updated.
    states : ndarray of shape (batches, D)
        Weights after each step, which are written.
    gradients : ndarray of shape (batches, D)
        Gradient of each step, which is written.
    """
    D = X.shape[1]
    move = np.empty(D)
    first = 0
    for b in range(sizes.shape[0]):
        rows, first = order[first : first + sizes[b]], first + sizes[b]
        gradient = gradients[b]
        _estimate_gradient(X, y, rows, noise_precision, prior_precision, offset, theta, gradient)
        _precondition(scale, V, excess, gradient, move)
        for d in range(D):
            theta[d] += kicks[b, d] - steps[b] * move[d]
            states[b, d] = theta[d]


@njit(cache=True, fastmath=REORDERED_SUMS)
def walk_underdamped(
    X,
    y,
    noise_precision,
    prior_precision,
    offset,
    order,
    sizes,
    scale,
    V,
    excess,
    step,
    damping,
    kicks,
    force,
    velocity,
    theta,
    states,
    gradients,
):
    """Take a BAOAB step for each batch, and record theta and the gradient at its end.

    The parameters are those of `walk_overdamped`, and:

    Parameters
    ----------
    step : float
        Step size.
    damping : float
        Share of the velocity that is left after a step.
    force : ndarray of shape (D,)
        Preconditioned gradient at theta, which is updated.
    velocity : ndarray of shape (D,)
        Velocity, which is updated.
    """
    D = X.shape[1]
    first = 0
    for b in range(sizes.shape[0]):
        for d in range(D):
            velocity[d] -= step / 2 * force[d]
            theta[d] += step / 2 * velocity[d]
            velocity[d] = damping * velocity[d] + kicks[b, d]
            theta[d] += step / 2 * velocity[d]
            states[b, d] = theta[d]
        rows, first = order[first : first + sizes[b]], first + sizes[b]
        gradient = gradients[b]
        _estimate_gradient(X, y, rows, noise_precision, prior_precision, offset, theta, gradient)
        _precondition(scale, V, excess, gradient, force)
        for d in range(D):
            velocity[d] -= step / 2 * force[d]
