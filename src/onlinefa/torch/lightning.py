"""Callback of Lightning that learns a posterior over the weights during training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy, ModelParallelStrategy
except ModuleNotFoundError as error:
    if error.name != "lightning":
        raise
    message = "onlinefa.torch.lightning needs Lightning: pip install 'onlinefa[lightning]'"
    raise ModuleNotFoundError(message, name="lightning") from None

from onlinefa.estimators.base import FactorEstimator
from onlinefa.torch._layout import Selection
from onlinefa.torch._schedule import Every, ScheduledPosterior
from onlinefa.torch.weight_posterior import WeightPosterior

__all__ = ["PosteriorCallback"]


class PosteriorCallback(Callback):
    """Callback of Lightning that attaches a `WeightPosterior` to the trained module.

    A step of the optimiser counts once, however many batches its gradients are accumulated over.
    Steps that `precision="16-mixed"` skips because of infinite gradients do not count, although
    ``trainer.global_step`` includes them. With several optimisers, the steps of one batch count as
    one.

    The state is part of Lightning's checkpoints: ``trainer.fit(module, ckpt_path=...)`` continues
    as if training had not been interrupted. Without a checkpoint, each ``fit`` begins a new
    posterior. With several processes, the one of rank 0 learns, and all have the same posterior
    when training ends. Strategies that shard parameters are rejected. A strategy that starts
    processes by "spawn" or "fork" does not return the posterior to the main process; load it from a
    checkpoint there.

    Parameters
    ----------
    estimator : FactorEstimator
        Any estimator of this package. It is cloned.
    start : int or float, default=0.8
        When to begin. An int is the number of epochs before the first step that counts; 0 counts
        all steps. A float of at least 0 and less than 1 is the fraction of
        ``trainer.estimated_stepping_batches`` before it; with several optimisers, pass an int.
    every : int or "epoch", default="epoch"
        Update after each epoch, or after this number of steps.
    parameters : str, torch.nn.Module, torch.nn.Parameter, iterable of these or None, default=None
        Parameters that the posterior covers, as in `WeightPosterior`.
    """

    def __init__(
        self,
        estimator: FactorEstimator,
        start: int | float = 0.8,
        every: Every = "epoch",
        *,
        parameters: Selection = None,
    ) -> None:
        self._scheduled = ScheduledPosterior(estimator, start, every, parameters)
        self._saved: Mapping[str, Any] | None = None
        self._step = 0

    @property
    def posterior(self) -> WeightPosterior:
        """The posterior, from the beginning of ``trainer.fit``; NotFitted is raised before."""
        return self._scheduled.posterior

    @property
    def state_key(self) -> str:
        """Key of the state in a checkpoint: callbacks with different arguments have their own."""
        scheduled = self._scheduled
        return self._generate_state_key(
            estimator=repr(scheduled.estimator),
            start=scheduled.start,
            every=scheduled.every,
            parameters=_get_names(scheduled.parameters),
        )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Discard a state that `trainer.test` or the like has read from a checkpoint."""
        self._saved = None

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Create the posterior, or restore it from the checkpoint that training resumes from."""
        if isinstance(trainer.strategy, DeepSpeedStrategy | FSDPStrategy | ModelParallelStrategy):
            kind = type(trainer.strategy).__name__
            raise ValueError(f"{kind} shards the parameters: no process has all of the weights")
        self._scheduled.attach(pl_module)
        if self._saved is not None:
            self._scheduled.load_state_dict(self._saved)
            self._saved = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Read the length of the training and the number of steps so far."""
        fraction = isinstance(self._scheduled.start, float)
        total = trainer.estimated_stepping_batches if fraction else math.nan
        self._scheduled.begin(total, getattr(trainer.precision_plugin, "scaler", None))
        self._step = trainer.global_step

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Update after an epoch whose end was not announced.

        If a checkpoint was saved after the last batch of an epoch, training resumes with the next
        epoch, and `on_train_epoch_end` is not called for the one that is complete.
        """
        if trainer.is_global_zero and batch_idx == 0:
            self._scheduled.end_epoch()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count a step, if this batch completed one."""
        if trainer.is_global_zero and trainer.global_step > self._step:
            self._step = trainer.global_step
            self._scheduled.end_step(self._step, trainer.current_epoch)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Update after an epoch."""
        if trainer.is_global_zero:
            self._scheduled.end_epoch()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Copy the posterior of rank 0 to all processes."""
        if trainer.world_size > 1:
            state = trainer.strategy.broadcast(self.state_dict())
            self._scheduled.load_state_dict(state)
        if trainer.is_global_zero:
            self._scheduled.warn_if_empty()

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint, which is empty before there is a posterior."""
        return self._scheduled.state_dict() if self._scheduled.is_attached else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Keep the state of a checkpoint until the posterior is created."""
        self._saved = state_dict


def _get_names(selection: Selection) -> list[str] | None:
    """Return a selection of parameters by names, or None if it is of another kind."""
    if isinstance(selection, str):
        return [selection]
    if isinstance(selection, list | tuple) and all(isinstance(each, str) for each in selection):
        return [str(each) for each in selection]
    return None
