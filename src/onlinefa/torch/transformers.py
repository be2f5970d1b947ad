"""Callback of Hugging Face's Trainer that learns a posterior over the weights during training."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import torch

try:
    from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ModuleNotFoundError as error:
    if error.name != "transformers":
        raise
    message = "onlinefa.torch.transformers needs Transformers: pip install 'onlinefa[transformers]'"
    raise ModuleNotFoundError(message, name="transformers") from None

from onlinefa.estimators.base import FactorEstimator
from onlinefa.torch._layout import Selection
from onlinefa.torch._schedule import Every, ScheduledPosterior
from onlinefa.torch.weight_posterior import WeightPosterior

__all__ = ["PosteriorCallback"]


class PosteriorCallback(TrainerCallback):
    """Callback of Hugging Face's Trainer that attaches a `WeightPosterior` to the trained model.

    A step of the optimiser counts once, however many batches its gradients are accumulated over.
    Steps that ``fp16=True`` skips because of infinite gradients do not count, although
    ``state.global_step`` includes them.

    The state is saved as `filename` in each checkpoint folder, and
    ``trainer.train(resume_from_checkpoint=...)`` continues as if training had not been interrupted.
    The Trainer does not tell callbacks which checkpoint it resumes from: it must be in
    `output_dir`, or be named by `resume_from_checkpoint` of TrainingArguments as well. Without a
    checkpoint, each ``train`` begins a new posterior. With several processes, the one of rank 0
    learns, and all have the same posterior when training ends. FSDP and DeepSpeed are rejected.

    The Trainer decays the learning rate to zero by default, so that the weights stop moving. For a
    posterior, pass ``lr_scheduler_type="constant_with_warmup"``.

    Parameters
    ----------
    estimator : FactorEstimator
        Any estimator of this package. It is cloned.
    start : int or float, default=0.8
        When to begin. An int is the number of epochs before the first step that counts; 0 counts
        all steps. A float of at least 0 and less than 1 is the fraction of all steps before it.
    every : int or "epoch", default="epoch"
        Update after each epoch, or after this number of steps.
    parameters : str, torch.nn.Module, torch.nn.Parameter, iterable of these or None, default=None
        Parameters that the posterior covers, as in `WeightPosterior`.
    filename : str, default="posterior.pt"
        Name of the file in a checkpoint. Several callbacks of one Trainer need different names.
    """

    def __init__(
        self,
        estimator: FactorEstimator,
        start: int | float = 0.8,
        every: Every = "epoch",
        *,
        parameters: Selection = None,
        filename: str = "posterior.pt",
    ) -> None:
        self._scheduled = ScheduledPosterior(estimator, start, every, parameters)
        self.filename = filename

    @property
    def posterior(self) -> WeightPosterior:
        """The posterior, from the beginning of ``trainer.train``; NotFitted is raised before."""
        return self._scheduled.posterior

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Create the posterior, or restore it from the checkpoint that training resumes from."""
        if args.fsdp or args.deepspeed:
            kind = "FSDP" if args.fsdp else "DeepSpeed"
            raise ValueError(f"{kind} shards the parameters: no process has all of the weights")
        self._scheduled.attach(kwargs["model"])
        self._scheduled.begin(state.max_steps, getattr(kwargs["optimizer"], "scaler", None))
        if state.global_step:
            self._resume(args, state)

    def _resume(self, args: TrainingArguments, state: TrainerState) -> None:
        folder = args.resume_from_checkpoint
        path = Path(folder) if isinstance(folder, str) else _get_checkpoint(args, state)
        path /= self.filename
        if not path.exists():
            warnings.warn(
                f"training resumes at step {state.global_step} with a new posterior, because there "
                f"is no {path}: set resume_from_checkpoint of TrainingArguments",
                stacklevel=2,
            )
            return
        self._scheduled.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
        if float(state.epoch).is_integer():
            # The checkpoint was saved after the last step of an epoch. The Trainer goes on with the
            # next one, and does not call `on_epoch_end` for the epoch that is complete.
            self._end_epoch(state)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Count a step."""
        if state.is_world_process_zero:
            # The Trainer's epoch is a float, which is whole after the last step of an epoch.
            self._scheduled.end_step(state.global_step, math.ceil(state.epoch) - 1)

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Update after an epoch."""
        self._end_epoch(state)

    def _end_epoch(self, state: TrainerState) -> None:
        if state.is_world_process_zero:
            self._scheduled.end_epoch()

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Write the state into the folder of the checkpoint."""
        if state.is_world_process_zero:
            folder = _get_checkpoint(args, state)
            if folder.is_dir():
                torch.save(self._scheduled.state_dict(), folder / self.filename)
            else:  # a search for hyperparameters has its checkpoints elsewhere
                warnings.warn(f"the posterior is not saved: there is no {folder}", stacklevel=2)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Copy the posterior of rank 0 to all processes."""
        if args.world_size > 1:
            states = [self._scheduled.state_dict()]
            torch.distributed.broadcast_object_list(states, src=0)
            self._scheduled.load_state_dict(states[0])
        if state.is_world_process_zero:
            self._scheduled.warn_if_empty()


def _get_checkpoint(args: TrainingArguments, state: TrainerState) -> Path:
    """Return the folder of the checkpoint at the present step."""
    return Path(str(args.output_dir)) / f"checkpoint-{state.global_step}"
