"""The search for a mode of a network's posterior.

The energy of a network is badly conditioned: on some tables its Hessian has eigenvalues from 1,
that of the prior, to 10^7, so that L-BFGS in the weights themselves stops far from a mode. In
coordinates in which the Gauss-Newton Hessian is the identity it converges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onlinefa.walks.preconditioner import Preconditioner
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.models.network import NetworkPosterior

# Largest norm of the gradient at a mode. In units of the prior, the Gauss-Newton Hessian is at
# least the identity: the norm bounds the length of a Newton step in posterior standard deviations.
TOLERANCE = 0.01

_ROUND = 30  # iterations of L-BFGS with one preconditioner, and number of its corrections
_MOST_ROWS = 4000  # from which a Hessian is estimated
_NEGLIGIBLE = 1e-12  # eigenvalues below this share of the largest are rounding errors


class ModeNotReached(ArithmeticError):
    """Exception for a search that ends before the gradient is small."""


@dataclass(frozen=True, eq=False)
class Mode:
    """Weights at the end of a search for a mode.

    Parameters
    ----------
    theta : array of shape (D,)
        Weights, in units of the prior.
    gradient_norm : float
        Euclidean norm of the gradient of the energy.
    iterations : int
        Number of iterations.
    """

    theta: Array
    gradient_norm: float
    iterations: int

    def check(self) -> None:
        """Raise an error unless the gradient is small.

        Raises
        ------
        ModeNotReached
            If the norm of the gradient is above `TOLERANCE`.
        """
        if not self.gradient_norm <= TOLERANCE:
            raise ModeNotReached(
                f"no mode was reached in {self.iterations} iterations: the norm of the gradient is "
                f"{self.gradient_norm:.2g}, and {TOLERANCE:g} is required"
            )


def find_mode(network: NetworkPosterior, start: Array, iterations: int) -> Mode:
    """Search for a mode by L-BFGS with a Gauss-Newton preconditioner, which is renewed regularly.

    A preconditioner is computed from the smaller of an N x N and a D x D matrix; with more than
    4000 rows, from a sample of them.

    Parameters
    ----------
    network : NetworkPosterior
        The posterior.
    start : array of shape (D,)
        Initial weights, in units of the prior.
    iterations : int
        Maximum number of iterations.

    Returns
    -------
    Mode
        The weights at the end of the search; `Mode.check` raises an error if they are not a mode.
    """
    from scipy.optimize import minimize

    report = _progress(network, iterations)
    theta, done = start, 0
    while True:
        norm = float(np.linalg.norm(_energy_and_gradient(network, theta)[1]))
        if norm <= TOLERANCE or not np.isfinite(norm) or done >= iterations:
            return Mode(theta, norm, done)
        root = _gauss_newton_root(sampled_curvature_rows(network, theta))
        most = min(_ROUND, iterations - done)
        found = minimize(
            _whitened_energy,
            np.zeros_like(theta),
            args=(network, theta, root),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": most, "maxcor": _ROUND, "ftol": 0.0, "gtol": 0.0},
        )
        theta = theta + root.apply_root(found.x)
        done += max(found.nit, 1)  # a line search that fails counts, so that the loop ends
        report(done)


def sampled_curvature_rows(network: NetworkPosterior, theta: Array) -> Array:
    """Return A, with A'A the Gauss-Newton Hessian of the misfit, estimated from some rows.

    Parameters
    ----------
    network : NetworkPosterior
        The posterior.
    theta : array of shape (D,)
        Weights, in units of the prior.

    Returns
    -------
    array of shape (rows, D)
        All rows if there are at most 4000, and otherwise that many, evenly spaced and scaled so
        that A'A estimates the sum over all rows.
    """
    N = len(network.X)
    stride = -(-N // _MOST_ROWS)
    sample = network.X[::stride]
    return np.sqrt(N / len(sample)) * network.curvature_rows(theta, sample)


def _energy_and_gradient(network: NetworkPosterior, theta: Array) -> tuple[float, Array]:
    value, gradient = network.energy_and_gradient(network.tensor(theta))
    return value.item(), gradient.cpu().numpy()


def _whitened_energy(
    away: Array, network: NetworkPosterior, base: Array, root: Preconditioner
) -> tuple[float, Array]:
    """Return the energy at base + L away, with P = LL', and its gradient with respect to away."""
    value, gradient = _energy_and_gradient(network, base + root.apply_root(away))
    return value, root.apply_root_transposed(gradient)


def _gauss_newton_root(A: Array) -> Preconditioner:
    """Return (I + A'A)^-1 as a preconditioner, from the smaller Gram matrix of A."""
    from scipy.linalg import eigh

    rows, D = A.shape
    eigenvalues, E = eigh(A @ A.T if rows < D else A.T @ A)
    kept = eigenvalues > _NEGLIGIBLE * eigenvalues[-1]
    eigenvalues, E = eigenvalues[kept], E[:, kept]
    V = A.T @ E / np.sqrt(eigenvalues) if rows < D else E
    return Preconditioner(np.ones(D), V, -eigenvalues / (1 + eigenvalues))


def _progress(network: NetworkPosterior, iterations: int) -> Callable[[int], None]:
    """Return a function that reports the number of iterations, if progress is reported."""
    if network.progress is None:
        return lambda done: None
    pace = network.progress.start(iterations, "iterations, at most")
    return pace.reach
