"""Algorithm 1, online stochastic gradient ascent, over a block of rows."""

import numpy as np
from numba import njit

from onlinefa.kernels.latent import REORDERED_SUMS, all_finite, infer_latent


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def absorb(rows, count, warm_up, learning_rate, preconditioned, mean, F, beta, psi):
    """Absorb the rows in place; return how many, fewer than given when the fit diverges.

    F is K x D. During the warm-up only the running mean moves. Preconditioned, the gradient of the
    factors is multiplied by psi, and so has the factors' own units.
    """
    K, D = F.shape
    deviation = np.empty(D)
    C = np.empty((K, D))
    Sigma = np.empty((K, K))
    m = np.empty(K)
    F_gradient = np.empty((K, D))
    beta_gradient = np.empty(D)
    for n in range(rows.shape[0]):
        t = count + n + 1
        infer_latent(rows[n], t, mean, F, psi, deviation, C, Sigma, m)
        if not all_finite(m):
            return n
        if t > warm_up:
            gradients(deviation, F, psi, Sigma, m, F_gradient, beta_gradient)
            for i in range(K):
                for d in range(D):
                    step = F_gradient[i, d] * psi[d] if preconditioned else F_gradient[i, d]
                    F[i, d] += learning_rate * step
            smallest, largest = np.inf, 0.0
            for d in range(D):
                beta[d] += learning_rate * beta_gradient[d]
                psi[d] = np.exp(beta[d])
                smallest, largest = min(smallest, psi[d]), max(largest, psi[d])
            if not (smallest > 0 and largest < np.inf):
                return n
    return rows.shape[0]


@njit(cache=True, fastmath=REORDERED_SUMS, error_model="numpy")
def gradients(deviation, F, psi, Sigma, m, F_gradient, beta_gradient):
    """(4.24) and (4.26). Both need F (Sigma + m m'), which is formed row by row."""
    K, D = F.shape
    for d in range(D):
        beta_gradient[d] = deviation[d] * deviation[d]
    for i in range(K):
        for d in range(D):
            F_gradient[i, d] = deviation[d] * m[i]
            beta_gradient[d] -= 2 * deviation[d] * F[i, d] * m[i]
        for j in range(K):
            moment = Sigma[i, j] + m[i] * m[j]
            for d in range(D):
                F_gradient[i, d] -= moment * F[j, d]
                beta_gradient[d] += moment * F[j, d] * F[i, d]
    for d in range(D):
        beta_gradient[d] = 0.5 * (beta_gradient[d] / psi[d] - 1)
        for i in range(K):
            F_gradient[i, d] /= psi[d]
