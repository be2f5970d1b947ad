"""Algorithms 1 and 2 line by line, in NumPy.

The functions follow the pseudocode of the thesis, with F of shape (D, K) and dense matrices
wherever the equations have them. They share no code with the package: tests use them as a
reference, and the benchmark measures the speed-up of the package over them.
"""

from __future__ import annotations

import numpy as np


def latent_posterior(F, psi, d):
    """Compute the posterior of the latent variables: equations (4.22) and (4.23)."""
    C = (F * (1 / psi)[:, None]).T
    Sigma = np.linalg.inv(np.eye(F.shape[1]) + C @ F)
    return Sigma, Sigma @ C @ d


def gradient_of_factors(F, psi, d, Sigma, m):
    """Compute the gradient with respect to F: equation (4.24)."""
    return (1 / psi)[:, None] * (np.outer(d, m) - F @ (Sigma + np.outer(m, m)))


def gradient_of_beta(F, psi, d, Sigma, m):
    """Compute the gradient with respect to the logarithm of psi: equations (4.25) and (4.26)."""
    FM = F @ (Sigma + np.outer(m, m))
    expected_squares = d * d - 2 * d * (F @ m) + np.sum(FM * F, axis=1)
    gradient_of_psi = 0.5 * psi**-2 * expected_squares - 0.5 / psi
    return gradient_of_psi * psi


def full_noise(F, A, H, d2):
    """Compute psi: equation (4.35), the diagonal of (4.34)."""
    return d2 + np.sum(-2 * F * A + (F @ H) * F, axis=1)


def algorithm_1(rows, F, warm_up, learning_rate):
    """Yield the mean, F and psi after every observation."""
    D = len(F)
    psi, mean = np.ones(D), np.zeros(D)
    beta = np.log(psi)
    for t, theta in enumerate(rows, start=1):
        mean = mean + (theta - mean) / t
        d = theta - mean
        Sigma, m = latent_posterior(F, psi, d)
        if t > warm_up:
            step_of_factors = learning_rate * gradient_of_factors(F, psi, d, Sigma, m)
            step_of_beta = learning_rate * gradient_of_beta(F, psi, d, Sigma, m)
            F = F + step_of_factors
            beta = beta + step_of_beta
            psi = np.exp(beta)
        yield mean, F, psi


def algorithm_2(rows, F, warm_up):
    """Yield the mean, F and psi after every observation."""
    D, K = F.shape
    psi, mean = np.ones(D), np.zeros(D)
    A, B, d2 = np.zeros((D, K)), np.zeros((K, K)), np.zeros(D)
    for t, theta in enumerate(rows, start=1):
        mean = mean + (theta - mean) / t
        d = theta - mean
        Sigma, m = latent_posterior(F, psi, d)
        B = B + (np.outer(m, m) - B) / t
        H = Sigma + B
        A = A + (np.outer(d, m) - A) / t
        d2 = d2 + (d**2 - d2) / t
        if t > warm_up:
            F = A @ np.linalg.inv(H)
            psi = full_noise(F, A, H, d2)
        yield mean, F, psi
