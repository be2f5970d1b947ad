"""Mini-batch stochastic gradient descent for linear regression."""

import numpy as np
from numba import njit

from onlinefa.kernels.products import REORDERED_SUMS


@njit(cache=True, fastmath=REORDERED_SUMS)
def descend(X, y, order, sizes, rate, decay, theta, iterates):
    """Take a step for each batch, update theta in place and record it after each step.

    The loss is the mean of the squared errors over the batch plus decay |theta|^2.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Inputs.
    y : ndarray of shape (n,)
        Targets.
    order : ndarray of int
        Row indices of all batches, one batch after the other.
    sizes : ndarray of int, of shape (batches,)
        Number of rows of each batch.
    rate : float
        Learning rate.
    decay : float
        Weight decay.
    theta : ndarray of shape (D,)
        Weights, which are updated.
    iterates : ndarray of shape (batches, D)
        Weights after each step, which are written.
    """
    D = X.shape[1]
    gradient = np.empty(D)
    first = 0
    for b in range(sizes.shape[0]):
        for d in range(D):
            gradient[d] = 0.0
        for position in range(first, first + sizes[b]):
            n = order[position]
            error = -y[n]
            for d in range(D):
                error += X[n, d] * theta[d]
            for d in range(D):
                gradient[d] += error * X[n, d]
        first += sizes[b]
        for d in range(D):
            theta[d] -= 2 * rate * (gradient[d] / sizes[b] + decay * theta[d])
            iterates[b, d] = theta[d]
