"""Mini-batch stochastic gradient descent on the loss of linear regression."""

import numpy as np
from numba import njit

from onlinefa.kernels.products import REORDERED_SUMS


@njit(cache=True, fastmath=REORDERED_SUMS)
def descend(X, y, order, sizes, rate, decay, theta, iterates):
    """Take a step per batch and record where each leads; theta moves in place.

    The b-th batch is the next sizes[b] row numbers of `order`. The loss is the mean of squared
    errors over the batch plus decay |theta|^2.
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
