"""Cyclical stochastic gradient MCMC (Zhang et al., 2020): one chain that visits several modes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.deep_posteriors.base import DeepPosterior, Predictor

if TYPE_CHECKING:
    from onlinefa_benchmark.deep.task import DeepTask


class Cyclical(DeepPosterior):
    """Networks that SGHMC collects at the end of each of several cycles of the learning rate.

    A cycle begins with a large learning rate, at which the chain leaves a mode, and ends with a
    small one. In its second half, noise is added to the velocity, with the variance of SGHMC for
    the posterior at the given temperature.

    Parameters
    ----------
    cycles : int
        Number of cycles.
    samples_of_cycle : int
        Number of networks that are collected in the last quarter of each cycle.
    length : float
        Length of the chain in units of a run of SGD with its walk.
    temperature : float
        Temperature of the posterior; one is the posterior itself.
    """

    runs = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "cycles": [Interval(Integral, 1, None, closed="left")],
        "samples_of_cycle": [Interval(Integral, 1, None, closed="left")],
        "length": [Interval(Real, 0, None, closed="neither")],
        "temperature": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        cycles: int = 4,
        samples_of_cycle: int = 5,
        length: float = 2.0,
        temperature: float = 1.0,
    ) -> None:
        self.cycles = cycles
        self.samples_of_cycle = samples_of_cycle
        self.length = length
        self.temperature = temperature

    def build(self, task: DeepTask) -> Predictor:
        """Return the predictions of the collected networks."""
        from onlinefa_benchmark.deep.cyclical_sghmc import CyclicalSGHMC
        from onlinefa_benchmark.deep_posteriors._networks import FixedNetworks

        recipe = CyclicalSGHMC(
            task.schedule,
            len(task.data.training),
            cycles=self.cycles,
            samples=self.samples_of_cycle,
            length=self.length,
            temperature=self.temperature,
        )
        settings = "-".join(f"{value}" for _, value in sorted(self.get_params().items()))
        run = task.train_with(f"cyclical-{settings}", recipe)
        assert isinstance(run.recipe, CyclicalSGHMC)
        return FixedNetworks([task.load(state) for state in run.recipe.collected])
