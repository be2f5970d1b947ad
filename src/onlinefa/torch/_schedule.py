"""Schedule of a posterior's updates, which the callbacks of training frameworks share."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Literal

from torch import nn
from torch.amp import GradScaler

from onlinefa.estimators.base import FactorEstimator
from onlinefa.serialization import CannotRestore
from onlinefa.torch._layout import Selection
from onlinefa.torch.laplace_fa import NotFitted
from onlinefa.torch.weight_posterior import WeightPosterior

Every = int | Literal["epoch"]


class ScheduledPosterior:
    """A posterior that is created when training begins, and updated by a schedule.

    Parameters
    ----------
    estimator : FactorEstimator
        Any estimator of this package.
    start : int or float
        Number of epochs, or fraction of all optimiser steps, before the first step that counts.
    every : int or "epoch"
        Number of steps from one update to the next, or "epoch" for an update after each epoch.
    parameters : str, torch.nn.Module, torch.nn.Parameter, iterable of these or None
        Parameters that the posterior covers.
    """

    def __init__(
        self, estimator: FactorEstimator, start: int | float, every: Every, parameters: Selection
    ) -> None:
        if start < 0 or (isinstance(start, float) and start >= 1):
            raise ValueError(
                f"start={start} must be a number of epochs, or a fraction from 0.0 to less than 1.0"
            )
        if every != "epoch" and (not isinstance(every, int) or every < 1):
            raise ValueError(f'every={every!r} must be "epoch" or a positive number of steps')
        self.estimator = estimator
        self.start = start
        self.every = every
        self.parameters = parameters
        self._posterior: WeightPosterior | None = None
        self._pending = 0  # steps that count, since the last update
        self._total = math.nan
        self._scaler: GradScaler | None = None
        self._scale = 1.0

    @property
    def is_attached(self) -> bool:
        """Whether there is a posterior."""
        return self._posterior is not None

    @property
    def posterior(self) -> WeightPosterior:
        """The posterior; NotFitted is raised before training begins."""
        if self._posterior is None:
            raise NotFitted("there is no posterior before the trainer begins to train")
        return self._posterior

    def attach(self, model: nn.Module) -> None:
        """Create a posterior for the weights of a network."""
        self._posterior = WeightPosterior(model, self.estimator, parameters=self.parameters)
        self._pending = 0

    def begin(self, total: float, scaler: GradScaler | None) -> None:
        """Begin to count steps.

        Parameters
        ----------
        total : float
            Number of steps of the whole training, which a fraction `start` refers to.
        scaler : torch.amp.GradScaler or None
            The scaler of gradients, if training has mixed precision.
        """
        if isinstance(self.start, float) and not 0 < total < math.inf:
            raise ValueError(
                f"start={self.start} is a fraction, but the number of steps is not known: pass a "
                "number of epochs"
            )
        self._total = total
        self._scaler = scaler
        self._scale = 1.0 if scaler is None else scaler.get_scale()

    def end_step(self, step: int, epoch: int) -> None:
        """Count a step of the optimiser unless it was skipped, and update if it is due.

        Parameters
        ----------
        step : int
            Number of steps so far, including this one and those that were skipped.
        epoch : int
            Number of epochs before the present one.
        """
        if self._was_skipped():
            return
        fraction = isinstance(self.start, float)
        if not (step > self.start * self._total if fraction else epoch >= self.start):
            return
        self._pending += 1
        if self.every != "epoch" and self._pending >= self.every:
            self._update()

    def end_epoch(self) -> None:
        """Update the posterior if it is due after an epoch, and some step of the epoch counted."""
        if self.every == "epoch" and self._pending:
            self._update()

    def _was_skipped(self) -> bool:
        """Return whether the last step had infinite gradients: only then does the scale fall."""
        if self._scaler is None:
            return False
        before, self._scale = self._scale, self._scaler.get_scale()
        return self._scale < before

    def _update(self) -> None:
        self.posterior.update()
        self._pending = 0

    def warn_if_empty(self) -> None:
        """Warn if the training has ended without any update."""
        if not self.posterior.updates:
            warnings.warn(
                f"the posterior was never updated: the training ended before start={self.start} "
                f"and every={self.every!r} allowed an update",
                stacklevel=2,
            )

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the posterior and of the schedule."""
        return {"posterior": self.posterior.state_dict(), "pending_steps": self._pending}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the state by a saved one."""
        if state.keys() != {"posterior", "pending_steps"}:
            raise CannotRestore("this is not the state of a PosteriorCallback")
        self.posterior.load_state_dict(state["posterior"])
        self._pending = state["pending_steps"]
