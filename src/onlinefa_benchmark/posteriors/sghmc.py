"""Stochastic gradient Hamiltonian Monte Carlo (Chen, Fox and Guestrin, 2014)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa.walks.errors import WalkDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task


class SGHMC(Posterior):
    """Networks that chains of stochastic gradient Hamiltonian Monte Carlo visit.

    With the energy U(theta), momentum v and step size eta, a step is
    v <- (1 - a) v - eta grad U + sqrt(2 a eta) xi, theta <- theta + v. For small steps and exact
    gradients the states are draws from the posterior; the noise of batches is not corrected.
    Chains start at modes, and their first halves are left out.

    Parameters
    ----------
    steps : int
        Number of steps of each chain.
    chains : int
        Number of chains, each from a mode of its own.
    rate : float
        Step size as a fraction of the rate at which descent with all rows becomes unstable.
    friction : float
        Share a of the momentum that is lost in a step.
    """

    stochastic: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "steps": [Interval(Integral, 2, None, closed="left")],
        "chains": [Interval(Integral, 1, None, closed="left")],
        "rate": [Interval(Real, 0, None, closed="neither")],
        "friction": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self, *, steps: int = 2000, chains: int = 5, rate: float = 0.05, friction: float = 0.05
    ) -> None:
        self.steps = steps
        self.chains = chains
        self.rate = rate
        self.friction = friction

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Compute the posterior over functions and measure the time, without that of the modes."""
        task.modes(self.chains)
        return super().timed(task)

    def functions(self, task: Task) -> Functions:
        """Return the functions of networks at regular intervals of the chains.

        Raises
        ------
        WalkDiverged
            If a weight is not finite.
        """
        states = self.walk(task)
        if not np.isfinite(states).all():
            raise WalkDiverged(f"SGHMC with {self.rate:.2g} of the critical rate diverges")
        return SampledFunctions(task.network.functions(states, task.inputs))

    def walk(self, task: Task) -> Array:
        """Return the states of all chains, of shape (samples, D)."""
        import torch

        from onlinefa_benchmark.models.training import Networks

        networks, modes = Networks([task.network]), task.modes(self.chains)
        N, random = len(task.network.y), task.random("sampling")
        eta = self.rate * task.network.critical_rate(modes[0]) / N  # the rate is for U / N
        noise = torch.Generator(device=networks.first.device)
        noise.manual_seed(int(random.integers(2**31)))
        kept = self._choose_steps(task.samples)
        theta, momentum = networks.single(modes[None]), torch.zeros(1)
        seen = []
        batches = networks.batches(self.chains, self.steps, min(task.batch, N), random)
        for step, rows in enumerate(batches):
            gradient = networks.energy_gradient(theta, rows)
            drawn = torch.randn(theta.shape, generator=noise, device=theta.device)
            momentum = (1 - self.friction) * momentum - eta * N * gradient
            momentum = momentum + (2 * self.friction * eta) ** 0.5 * drawn
            theta = theta + momentum
            if step in kept:
                seen.append(theta[0].double().cpu().numpy())
        # Chains have the same number of states; those beyond the number of samples are left out.
        return np.concatenate(seen)[: task.samples]

    def _choose_steps(self, samples: int) -> set[int]:
        """Return the steps whose states are kept, in the second half of a chain."""
        each = -(-samples // self.chains)
        first = self.steps // 2
        return set(np.linspace(first, self.steps - 1, min(each, self.steps - first)).round())
