"""A training run of a network that several posteriors observe at once.

The walk of a deep network is too large to be stored, so that every estimator learns from the
weights while the network is trained, as in a user's own loop. Estimators do not influence the run
nor each other: the result of each is the same whichever others observe the run.

All random numbers of a step follow from the seed of the run and the number of the step. A run that
is resumed on the same device therefore continues with the same bits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from onlinefa.estimators.base import FactorEstimator, FitDiverged
from onlinefa.torch import WeightPosterior
from onlinefa_benchmark.deep.data import ImageParts, augment, to_tensor
from onlinefa_benchmark.deep.recipes import Recipe
from onlinefa_benchmark.deep.seeds import set_seed

if TYPE_CHECKING:
    from onlinefa_benchmark.context import Checkpoint, Progress, Workspace

__all__ = ["DIVERGENCES", "Run", "RunResult", "TrainingDiverged", "train"]

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_SAVES = 60


class TrainingDiverged(RuntimeError):
    """Exception for a run whose loss is not finite."""


DIVERGENCES = (
    FitDiverged,
    TrainingDiverged,
    np.linalg.LinAlgError,
    torch.linalg.LinAlgError,  # type: ignore[attr-defined]
)
"""Exceptions for fits that have no result because they diverge."""


@dataclass(frozen=True, eq=False)
class Run:
    """What a training run consists of.

    Parameters
    ----------
    name : str
        Name of the run's file.
    make_network : callable
        Create the network, given the probability of dropout.
    recipe : Recipe
        Optimiser and schedule.
    data : ImageParts
        Images.
    is_augmented : bool
        Whether training images are moved and mirrored.
    seed : tuple of int
        Seed of all random numbers of the run.
    observers : mapping of str to FactorEstimator
        Estimators that learn from the weights.
    device : str
        Device of the network.
    """

    name: str
    make_network: Callable[[float], nn.Module]
    recipe: Recipe
    data: ImageParts
    is_augmented: bool
    seed: tuple[int, ...]
    observers: Mapping[str, FactorEstimator]
    device: str = "cpu"


@dataclass
class RunResult:
    """A finished run.

    Attributes
    ----------
    network : torch.nn.Module
        The network with its last weights.
    recipe : Recipe
        The recipe, with what it has kept.
    posteriors : dict of str to WeightPosterior
        Posterior of each observer.
    seconds : dict of str to float
        Time of training (``training``) up to a mode, of the walk (``walk``), and of each observer.
    failures : dict of str to str
        Observers whose fit has diverged, and the reason.
    """

    network: nn.Module
    recipe: Recipe
    posteriors: dict[str, WeightPosterior]
    seconds: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def train(
    run: Run,
    workspace: Workspace,
    checkpoint: Checkpoint | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Train a network, or resume an interrupted run.

    Parameters
    ----------
    run : Run
        The run.
    workspace : Workspace
        Files of the job, from which a run is resumed.
    checkpoint : Checkpoint or None, default=None
        Tells whether the job should stop.
    progress : Progress or None, default=None
        Reports the progress of long loops.

    Returns
    -------
    result : RunResult
        The finished run.

    Raises
    ------
    TrainingDiverged
        If the loss is not finite.
    """
    if checkpoint is not None:
        checkpoint.watch()
    torch.backends.cudnn.deterministic = True  # for GPUs: the same bits in every attempt
    torch.backends.cudnn.benchmark = False
    loop = _Loop(run)
    first = loop.restore(workspace.load(run.name))
    log.info("%s: steps %d to %d of training", run.name, first + 1, run.recipe.steps)
    pace = progress.start(run.recipe.steps, "steps") if progress else None
    if pace:
        pace.skip(first)
    save_after = monotonic() + _SECONDS_BETWEEN_SAVES
    for step in range(first, run.recipe.steps):
        reached = loop.take_step(step)
        is_stopping = checkpoint is not None and checkpoint.is_stop_requested
        is_finished = reached == run.recipe.steps
        is_due = monotonic() > save_after and reached % run.recipe.per_epoch == 0
        if is_stopping or is_finished or is_due:
            start = monotonic()
            workspace.save(run.name, loop.state_dict(reached))
            # The states of large networks take long to save.
            taken = monotonic() - start
            save_after = monotonic() + max(_SECONDS_BETWEEN_SAVES, 20 * taken)
        if is_stopping and checkpoint is not None:
            checkpoint.end()
        if pace:
            pace.reach(reached)
        if is_finished:
            break
    return loop.result


class _Loop:
    """The network of a run, its optimiser and its observers."""

    def __init__(self, run: Run) -> None:
        self.run = run
        set_seed(_draw_seed(run.seed, "initial weights"), run.device)
        network = run.make_network(run.recipe.dropout).to(run.device).train()
        if run.device != "cpu":
            network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        run.recipe.begin(network)
        posteriors = {key: WeightPosterior(network, each) for key, each in run.observers.items()}
        self.result = RunResult(network, run.recipe, posteriors)
        self._order: tuple[int, np.ndarray] = (-1, np.empty(0, dtype=int))

    def take_step(self, step: int) -> int:
        """Take a step; return the number of steps that are taken, or all if the walk diverges."""
        run, result = self.run, self.result
        start = perf_counter()
        set_seed(_draw_seed(run.seed, "step", step), run.device)
        inputs, labels = self._draw_batch(step)
        try:
            run.recipe.take_step(step, lambda: self._compute_loss(inputs, labels))
        except TrainingDiverged as reason:
            if step < run.recipe.descent_steps:
                raise
            # The mode is known: only posteriors that observe the walk have no result.
            result.failures.update(dict.fromkeys(result.posteriors, str(reason)))
            return run.recipe.steps
        run.recipe.finish_step(step, result.network)
        part = "training" if step < run.recipe.descent_steps else "walk"
        self._add_seconds(part, start)
        if run.recipe.is_observed(step):
            for key in result.posteriors.keys() - result.failures.keys():
                self._observe(key)
        return step + 1

    def _observe(self, key: str) -> None:
        start = perf_counter()
        try:
            self.result.posteriors[key].update()
        except (*DIVERGENCES, ValueError) as error:
            self.result.failures[key] = str(error)
        self._add_seconds(key, start)

    def _add_seconds(self, name: str, start: float) -> None:
        if self.run.device != "cpu":
            torch.cuda.synchronize()
        seconds = self.result.seconds
        seconds[name] = seconds.get(name, 0.0) + perf_counter() - start

    def _draw_batch(self, step: int) -> tuple[Tensor, Tensor]:
        run, data = self.run, self.run.data
        epoch, position = divmod(step, run.recipe.per_epoch)
        if self._order[0] != epoch:
            random = np.random.default_rng(_draw_seed(run.seed, "epoch", epoch))
            self._order = epoch, random.permutation(len(data.training))
        size = run.recipe.schedule.batch
        rows = self._order[1][position * size : (position + 1) * size]
        images = data.training.images[rows]
        if run.is_augmented:
            random = np.random.default_rng(_draw_seed(run.seed, "augmentation", step))
            images = augment(images, random, flips=data.flips)
        inputs = to_tensor(images, data.scale).to(run.device)
        return inputs, torch.from_numpy(data.training.labels[rows]).to(run.device)

    def _compute_loss(self, inputs: Tensor, labels: Tensor) -> Tensor:
        device = torch.device(self.run.device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type != "cpu"):
            loss = nn.functional.cross_entropy(self.result.network(inputs).float(), labels)
        if not torch.isfinite(loss):
            raise TrainingDiverged("the loss of training is not finite")
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    # -- saving --------------------------------------------------------------------------------

    def state_dict(self, step: int) -> dict[str, Any]:
        result = self.result
        return {
            "step": step,
            "network": result.network.state_dict(),
            "recipe": result.recipe.state_dict(),
            "posteriors": {
                key: posterior.state_dict()
                for key, posterior in result.posteriors.items()
                if posterior.updates and key not in result.failures
            },
            "seconds": dict(result.seconds),
            "failures": dict(result.failures),
        }

    def restore(self, state: Mapping[str, Any] | None) -> int:
        """Restore a saved state; return the number of steps that it has taken."""
        if state is None:
            return 0
        result, step = self.result, int(state["step"])
        began = any(self.run.recipe.is_observed(earlier) for earlier in range(step))
        known = state["posteriors"].keys() | state["failures"].keys()
        if began and not result.posteriors.keys() <= known:
            return 0  # some estimator did not observe that run
        result.network.load_state_dict(state["network"])
        result.recipe.load_state_dict(state["recipe"])
        for key, posterior in result.posteriors.items():
            if key in state["posteriors"]:
                posterior.load_state_dict(state["posteriors"][key])
        result.seconds.update(state["seconds"])
        result.failures.update(
            {key: why for key, why in state["failures"].items() if key in result.posteriors}
        )
        return step


def _draw_seed(seed: tuple[int, ...], purpose: str, number: int = 0) -> int:
    """Return a seed for one purpose of a run."""
    words = [*seed, *purpose.encode(), number]
    return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1)
