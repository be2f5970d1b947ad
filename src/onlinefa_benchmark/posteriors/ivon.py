"""IVON, the improved variational online Newton method (Shen et al., 2024), of ivon-opt."""

from __future__ import annotations

from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa.estimators.base import FitDiverged
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task


class IVON(Posterior):
    """A Gaussian with independent weights, trained by natural gradients from the mode.

    Parameters
    ----------
    steps : int
        Number of steps.
    rate : float
        Initial learning rate, which falls to zero, as a fraction of the rate at which descent with
        all rows becomes unstable. IVON divides gradients by its estimate of the Hessian, but that
        begins with one value for all weights.
    beta2 : float
        Share of the estimate of the Hessian that is kept in a step. The default of ivon-opt is for
        training with many more steps.
    """

    needs: ClassVar[str | None] = "ivon"
    stochastic: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "steps": [Interval(Integral, 1, None, closed="left")],
        "rate": [Interval(Real, 0, None, closed="neither")],
        "beta2": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, *, steps: int = 3000, rate: float = 0.5, beta2: float = 0.999) -> None:
        self.steps = steps
        self.rate = rate
        self.beta2 = beta2

    def functions(self, task: Task) -> Functions:
        """Return the functions of networks drawn from the Gaussian."""
        return self.timed(task)[0]

    def timed(self, task: Task) -> tuple[Functions, float]:
        """Return the functions and the time, without that of the mode.

        Raises
        ------
        FitDiverged
            If a weight is not finite.
        """
        _ = task.mode
        start = perf_counter()
        drawn = self.draw(task)
        if not np.isfinite(drawn).all():
            raise FitDiverged(f"IVON with {self.rate:.2g} of the critical rate diverges")
        functions = SampledFunctions(task.network.functions(drawn, task.inputs))
        return functions, perf_counter() - start

    def draw(self, task: Task) -> Array:
        """Train the Gaussian and return draws from it, of shape (samples, D)."""
        import ivon  # type: ignore[import-untyped]
        import torch

        from onlinefa_benchmark.models.mode_search import sampled_curvature_rows
        from onlinefa_benchmark.models.training import Networks

        networks, N = Networks([task.network]), len(task.network.y)
        random = task.random("sampling")
        theta = networks.single(task.mode[None, None]).requires_grad_()
        # In units of the prior, the prior's precision is one, or 1 / N for the energy over N.
        A = sampled_curvature_rows(task.network, task.mode)
        optimiser = ivon.IVON(
            [theta],
            lr=self.rate * task.network.critical_rate(task.mode),
            ess=N,
            hess_init=float(np.sum(A**2) / A.shape[1] / N),
            beta2=self.beta2,
            weight_decay=1 / N,
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, self.steps)
        with torch.random.fork_rng():  # the package draws from PyTorch's own generator
            torch.manual_seed(int(random.integers(2**31)))
            for rows in networks.batches(1, self.steps, min(task.batch, N), random):
                with optimiser.sampled_params(train=True):
                    theta.grad = networks.misfit_gradient(theta.detach(), rows)
                optimiser.step()
                schedule.step()
            drawn = []
            for _ in range(task.samples):
                with optimiser.sampled_params():
                    drawn.append(theta.detach()[0, 0].clone())
        return torch.stack(drawn).double().cpu().numpy()
