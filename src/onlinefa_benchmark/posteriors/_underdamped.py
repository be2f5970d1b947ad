"""Underdamped Langevin dynamics over the weights of a network."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from onlinefa.walks.underdamped import Underdamped
from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.base import Task

# In units of the highest frequency; the integrator is stable up to a step of 2.
_STEP = 0.5
# In units of the prior, whose frequency is the lowest.
_FRICTION = 1.0
_BLOCK = 100  # states that are computed at once
_ROWS_FOR_CURVATURE = 500


def walk_underdamped(task: Task, budget: int) -> Iterator[Array]:
    """Walk from the mode with gradients of the whole table, and yield the second half of the walk.

    Parameters
    ----------
    task : Task
        The network.
    budget : int
        Cost of the walk as a multiple of that of SGD's walk.

    Yields
    ------
    array of shape (steps, D)
        Weights after each step.

    Raises
    ------
    WalkDiverged
        If no step is stable.
    """
    from onlinefa_benchmark.models.network_target import NetworkTarget  # imports PyTorch

    network = task.network
    largest = len(network.y) * network.curvature(task.mode, network.X[:_ROWS_FOR_CURVATURE])
    walk = Underdamped(
        NetworkTarget(network),
        task.mode,
        step=_STEP / sqrt(largest),
        friction=_FRICTION,
        batch_size=len(network.y),
        sampling="full",
        random_state=task.random("sampling"),
    )
    steps = max(2, budget * task.gradients)
    for start in network.iterate(range(0, steps, _BLOCK), "blocks"):
        states = walk.observe(min(_BLOCK, steps - start))
        if start + len(states) > steps // 2:
            yield states[max(steps // 2 - start, 0) :]
