"""Targets of walks: energies whose gradients are estimated from batches of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onlinefa.gaussian import Array
from onlinefa.walks.batches import Batches
from onlinefa.walks.preconditioner import Preconditioner

__all__ = ["LeastSquares", "Motion", "Target"]


@dataclass(eq=False)
class Motion:
    """Position and velocity of an underdamped walk.

    Parameters
    ----------
    theta : ndarray of shape (D,)
        Weights.
    velocity : ndarray of shape (D,)
        Velocity.
    force : ndarray of shape (D,)
        Preconditioned gradient at the weights.
    """

    theta: Array
    velocity: Array
    force: Array


class Target(ABC):
    """Base class of energies: the negative logarithm of an unnormalised posterior density.

    The energy is a *sum* over the rows of a table, plus the negative logarithm of the prior
    density. A subclass defines `gradient`; it may replace the loops over steps by faster ones.

    Parameters
    ----------
    dimension : int
        Number of weights D.
    n_rows : int
        Number of rows of the table.
    """

    def __init__(self, dimension: int, n_rows: int) -> None:
        self.dimension = dimension
        self.n_rows = n_rows

    @property
    def gradients_per_step(self) -> int:
        """The number of gradients of a batch that `gradient` computes."""
        return 1

    @abstractmethod
    def gradient(self, theta: Array, rows: NDArray[np.int64]) -> Array:
        """Estimate the gradient of the energy from a batch, without bias.

        Parameters
        ----------
        theta : ndarray of shape (D,)
            Weights.
        rows : ndarray of int
            Indices of the rows of the batch.

        Returns
        -------
        gradient : ndarray of shape (D,)
            The sum over the batch times ``n_rows / len(rows)``, plus the gradient of the prior.
        """

    def with_control_variate(self, anchor: Array) -> Target:
        """Return the same energy with gradients that vary less between batches near an anchor.

        The gradient of a batch is replaced by the gradient of the whole table at the anchor, plus
        the difference between the gradients of the batch at the weights and at the anchor (Baker et
        al., 2019).

        Parameters
        ----------
        anchor : ndarray of shape (D,)
            Weights near the mode.
        """
        return _Anchored(self, anchor)

    def walk_overdamped(
        self,
        theta: Array,
        batches: Batches,
        preconditioner: Preconditioner,
        steps: Array,
        kicks: Array,
    ) -> tuple[Array, Array]:
        """Take the step theta <- theta - step P g + kick for each batch.

        Parameters
        ----------
        theta : ndarray of shape (D,)
            Initial weights; they are not changed.
        batches : Batches
            One batch for each step.
        preconditioner : Preconditioner
            The matrix P.
        steps : ndarray of shape (n,)
            Step sizes.
        kicks : ndarray of shape (n, D)
            Noise that is added in each step.

        Returns
        -------
        states : ndarray of shape (n, D)
            Weights after each step.
        gradients : ndarray of shape (n, D)
            Gradient of each step, at the weights before it.
        """
        states, gradients = np.empty_like(kicks), np.empty_like(kicks)
        for t, rows in enumerate(batches):
            gradients[t] = self.gradient(theta, rows)
            theta = theta - steps[t] * preconditioner.apply(gradients[t]) + kicks[t]
            states[t] = theta
        return states, gradients

    def walk_underdamped(
        self,
        motion: Motion,
        batches: Batches,
        preconditioner: Preconditioner,
        step: float,
        damping: float,
        kicks: Array,
    ) -> tuple[Array, Array]:
        """Take a step of the BAOAB integrator for each batch.

        Parameters
        ----------
        motion : Motion
            Initial weights and velocity, which are updated.
        batches : Batches
            One batch for each step.
        preconditioner : Preconditioner
            The inverse P of the mass matrix.
        step : float
            Step size.
        damping : float
            Share of the velocity that is left after a step.
        kicks : ndarray of shape (n, D)
            Noise that is added to the velocity in each step.

        Returns
        -------
        states : ndarray of shape (n, D)
            Weights after each step.
        gradients : ndarray of shape (n, D)
            Gradients at these weights.
        """
        states, gradients = np.empty_like(kicks), np.empty_like(kicks)
        for t, rows in enumerate(batches):
            motion.velocity -= step / 2 * motion.force
            motion.theta += step / 2 * motion.velocity
            motion.velocity = damping * motion.velocity + kicks[t]
            motion.theta += step / 2 * motion.velocity
            states[t] = motion.theta
            gradients[t] = self.gradient(motion.theta, rows)
            motion.force = preconditioner.apply(gradients[t])
            motion.velocity -= step / 2 * motion.force
        return states, gradients


class _Anchored(Target):
    """A target whose gradients have a control variate."""

    def __init__(self, target: Target, anchor: Array) -> None:
        super().__init__(target.dimension, target.n_rows)
        self._target = target
        self._anchor = anchor
        self._at_anchor = target.gradient(anchor, np.arange(target.n_rows))

    @property
    def gradients_per_step(self) -> int:
        """The number of gradients of a batch that `gradient` computes."""
        return 2 * self._target.gradients_per_step

    def gradient(self, theta: Array, rows: NDArray[np.int64]) -> Array:
        """Estimate the gradient of the energy from a batch, without bias."""
        change = self._target.gradient(theta, rows) - self._target.gradient(self._anchor, rows)
        return self._at_anchor + change


class LeastSquares(Target):
    """Energy of a linear regression with Gaussian noise and prior.

    The energy is ``noise_precision`` |y - X theta|^2 / 2 + ``prior_precision`` |theta|^2 / 2 +
    ``offset`` theta. Its loops are compiled.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Inputs.
    y : ndarray of shape (n,)
        Targets.
    noise_precision, prior_precision : float
        Precisions of the noise and of the prior.
    offset : ndarray of shape (D,) or None, default=None
        Coefficients of a linear term; None for zeros.
    """

    def __init__(
        self,
        X: Array,
        y: Array,
        noise_precision: float,
        prior_precision: float,
        offset: Array | None = None,
    ) -> None:
        super().__init__(X.shape[1], X.shape[0])
        self.X = np.ascontiguousarray(X, dtype=np.float64)
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.noise_precision = float(noise_precision)
        self.prior_precision = float(prior_precision)
        self.offset = np.zeros(self.dimension) if offset is None else np.array(offset)

    def gradient(self, theta: Array, rows: NDArray[np.int64]) -> Array:
        """Estimate the gradient of the energy from a batch, without bias."""
        X = self.X[rows]
        misfit = X.T @ (X @ theta - self.y[rows])
        weight = self.noise_precision * self.n_rows / len(rows)
        return weight * misfit + self.prior_precision * theta + self.offset

    def with_control_variate(self, anchor: Array) -> LeastSquares:
        """Return the same energy with gradients that vary less between batches near an anchor.

        With the fitted values at the anchor as targets, the misfit of a batch is zero at the
        anchor. The resulting change of the gradient is constant, and becomes the linear term.
        """
        full = self.gradient(anchor, np.arange(self.n_rows))
        return LeastSquares(
            self.X,
            self.X @ anchor,
            self.noise_precision,
            self.prior_precision,
            full - self.prior_precision * anchor,
        )

    def walk_overdamped(
        self,
        theta: Array,
        batches: Batches,
        preconditioner: Preconditioner,
        steps: Array,
        kicks: Array,
    ) -> tuple[Array, Array]:
        """Take the step theta <- theta - step P g + kick for each batch, in compiled code."""
        from onlinefa.kernels.langevin import walk_overdamped

        states, gradients = np.empty_like(kicks), np.empty_like(kicks)
        P = preconditioner
        walk_overdamped(
            self.X,
            self.y,
            self.noise_precision,
            self.prior_precision,
            self.offset,
            batches.order,
            batches.sizes,
            P.scale,
            P.directions,
            P.excess,
            steps,
            kicks,
            theta.copy(),
            states,
            gradients,
        )
        return states, gradients

    def walk_underdamped(
        self,
        motion: Motion,
        batches: Batches,
        preconditioner: Preconditioner,
        step: float,
        damping: float,
        kicks: Array,
    ) -> tuple[Array, Array]:
        """Take a step of the BAOAB integrator for each batch, in compiled code."""
        from onlinefa.kernels.langevin import walk_underdamped

        states, gradients = np.empty_like(kicks), np.empty_like(kicks)
        P = preconditioner
        walk_underdamped(
            self.X,
            self.y,
            self.noise_precision,
            self.prior_precision,
            self.offset,
            batches.order,
            batches.sizes,
            P.scale,
            P.directions,
            P.excess,
            step,
            damping,
            kicks,
            motion.force,
            motion.velocity,
            motion.theta,
            states,
            gradients,
        )
        return states, gradients
