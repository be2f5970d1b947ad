"""Tests of training runs: resumed to the same bits, and not influenced by their observers."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import torch
from torch import nn

from onlinefa import SWAG, Diagonal, FitDiverged, OnlineEM, RecursiveEM
from onlinefa.estimators import swag
from onlinefa.estimators._moments import RunningMoments
from onlinefa_benchmark.deep.cyclical_sghmc import CyclicalSGHMC
from onlinefa_benchmark.deep.data import ImageParts, LabelledImages
from onlinefa_benchmark.deep.ivon_descent import IVONDescent
from onlinefa_benchmark.deep.recipes import Descent, Schedule, SGDTrajectory
from onlinefa_benchmark.deep.training import Run, TrainingDiverged, train

N, BATCH = 40, 8
SCHEDULE = Schedule(
    epochs=3,
    walk_epochs=3,
    batch=BATCH,
    learning_rate=0.05,
    walk_rate=0.02,
    weight_decay=0.001,
    every=2,
)
OBSERVERS = {
    "swag": SWAG(2),
    "online": OnlineEM(2, warm_up=2, random_state=0),
    "recursive": RecursiveEM(2, warm_up=3, block_size=3),
}


class Memory(dict):
    """A workspace in memory, whose states are copies."""

    saves = 0

    def load(self, name):
        return self.get(name)

    def save(self, name, state):
        self.saves += 1
        self[name] = torch.load(_dump(state), weights_only=True)


def _dump(state):
    buffer = BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return buffer


class Ended(BaseException):
    pass


class StopAt:
    """A checkpoint that requests a stop after some steps."""

    def __init__(self, steps):
        self.left = steps
        self.is_watched = False

    def watch(self):
        self.is_watched = True

    @property
    def is_stop_requested(self):
        self.left -= 1
        return self.left <= 0

    def end(self):
        raise Ended


def make_parts():
    random = np.random.default_rng(0)
    images = random.integers(0, 256, size=(N, 1, 8, 8), dtype=np.uint8)
    part = LabelledImages(images, random.integers(0, 3, size=N))
    return ImageParts(part, part.take(5), part.take(5), 3, False, np.arange(5))


def make_network(dropout):
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(36, 3),
    )


RECIPES = {
    "trajectory": lambda: SGDTrajectory(SCHEDULE, N),
    "dropout": lambda: Descent(SCHEDULE, N, dropout=0.3),
    "cyclical": lambda: CyclicalSGHMC(
        SCHEDULE, N, cycles=2, samples=2, length=2.0, temperature=1.0
    ),
    "ivon": lambda: make_ivon(),
}


def make_cyclical():
    return CyclicalSGHMC(SCHEDULE, N, cycles=2, samples=2, length=2.0, temperature=1.0)


def make_ivon():
    pytest.importorskip("ivon")
    return IVONDescent(SCHEDULE, N, learning_rate=0.1, hess_init=1.0)


def make_run(recipe="trajectory", observers=OBSERVERS):
    return Run("run", make_network, RECIPES[recipe](), make_parts(), True, (1, 2), observers, "cpu")


def flatten(value, path=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(item, f"{path}/{key}")
    elif isinstance(value, list | tuple):
        for key, item in enumerate(value):
            yield from flatten(item, f"{path}/{key}")
    else:
        yield path, value


def assert_equal_states(one, two):
    one, two = (
        {path: value for path, value in flatten(state) if not path.startswith("/seconds")}
        for state in (one, two)
    )
    assert one.keys() == two.keys()
    for path, value in one.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, two[path]), path
        else:
            assert value == two[path], path


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9])
def test_a_resumed_run_ends_with_the_same_bits(recipe, share):
    observers = OBSERVERS if recipe == "trajectory" else {}
    stop = max(1, int(share * RECIPES[recipe]().steps))
    whole, broken = Memory(), Memory()
    train(make_run(recipe, observers), whole)
    checkpoint = StopAt(stop)
    with pytest.raises(Ended):
        train(make_run(recipe, observers), broken, checkpoint)
    assert checkpoint.is_watched
    assert broken["run"]["step"] == stop
    with torch.random.fork_rng():
        torch.rand(3)  # other users of the global generator have no influence
        train(make_run(recipe, observers), broken)
    assert_equal_states(whole["run"], broken["run"])


def test_a_finished_run_is_loaded_and_not_trained_again():
    files = Memory()
    first = train(make_run(), files)
    saves = files.saves
    second = train(make_run(), files)
    assert files.saves == saves
    assert second.seconds == first.seconds
    for name, value in first.network.state_dict().items():
        assert torch.equal(value, second.network.state_dict()[name])


def test_observers_influence_neither_the_run_nor_each_other():
    together = train(make_run(), Memory())
    for key, estimator in OBSERVERS.items():
        alone = train(make_run(observers={key: estimator}), Memory())
        one, two = (run.posteriors[key].gaussian().to_numpy() for run in (together, alone))
        assert np.array_equal(one.mean, two.mean)
        assert np.array_equal(one.factors, two.factors)
        assert np.array_equal(one.noise, two.noise)
    bare = train(make_run(observers={}), Memory())
    for name, value in bare.network.state_dict().items():
        assert torch.equal(value, together.network.state_dict()[name])


def test_a_file_without_one_of_the_observers_is_not_resumed():
    files = Memory()
    train(make_run(observers={"swag": SWAG(2)}), files)
    result = train(make_run(), files)
    assert result.posteriors["recursive"].updates == 7  # 15 steps, every second one


def test_estimators_see_the_walk_after_the_mode():
    rows = []

    class Spy(Diagonal):
        def partial_fit(self, X, y=None):
            rows.append(X[0].numpy().copy())
            return super().partial_fit(X, y)

    result = train(make_run(observers={"spy": Spy()}), Memory())
    assert len(rows) == 7
    mode = torch.cat(
        [result.recipe.mode[name].flatten() for name, _ in result.network.named_parameters()]
    )
    assert not np.allclose(rows[0], mode)
    last = torch.cat([each.flatten() for each in result.network.parameters()])
    assert not np.array_equal(rows[-1], last.detach())  # step 14 of 15 was the last observed
    assert np.allclose(result.posteriors["spy"].gaussian().mean, np.mean(rows, axis=0))


def test_a_diverging_estimator_does_not_stop_the_run(monkeypatch):
    absorb = RunningMoments.absorb

    def diverge(self, X):
        if self.count == 3 and not isinstance(self, swag._State):
            raise FitDiverged("no")
        absorb(self, X)

    monkeypatch.setattr(RunningMoments, "absorb", diverge)
    observers, files = {"fails": Diagonal(), "swag": SWAG(2)}, Memory()
    for _ in range(2):  # the second run is loaded
        result = train(make_run(observers=observers), files)
        assert result.failures == {"fails": "no"}
        assert result.posteriors["swag"].updates == 7


def test_a_diverging_walk_leaves_the_mode():
    schedule = Schedule(3, 3, BATCH, 0.05, 1e30, 0.0, 1)
    files = Memory()
    for _ in range(2):
        recipe = SGDTrajectory(schedule, N)
        run = Run("run", make_network, recipe, make_parts(), False, (1,), {"swag": SWAG(2)}, "cpu")
        result = train(run, files)
        assert result.failures == {"swag": "the loss of training is not finite"}
        assert torch.isfinite(result.recipe.mode["0.weight"]).all()


def test_a_loss_that_is_not_finite_ends_the_run():
    wild = Schedule(3, 3, BATCH, 1e30, 0.02, 0.0, 2)
    run = Run("run", make_network, SGDTrajectory(wild, N), make_parts(), False, (1,), {}, "cpu")
    with pytest.raises(TrainingDiverged, match="not finite"):
        train(run, Memory())


def test_the_learning_rate_falls_to_zero_and_is_constant_in_the_walk():
    recipe = SGDTrajectory(SCHEDULE, N)
    assert recipe.per_epoch == 5
    assert recipe.rate(0) == 0.05
    assert recipe.rate(5) == pytest.approx(0.05 * 0.75)  # cos(pi / 3) = 1 / 2
    assert {recipe.rate(step) for step in range(15, 30)} == {0.02}
    assert [step for step in range(30) if recipe.is_observed(step)] == [*range(16, 30, 2)]


def test_sghmc_has_the_variance_of_the_posterior():
    """Check the stationary distribution for a quadratic loss: N(0, T / (N c)) in each weight."""
    schedule = Schedule(1, 1, 1, 0.02, 0.02, 0.0, 1)
    recipe = CyclicalSGHMC(schedule, 50, cycles=1, samples=1, length=1.0, temperature=0.5)
    weights, c = nn.Parameter(torch.zeros(4000)), 2.0
    module = nn.Module()
    module.weights = weights
    recipe.begin(module)
    recipe.cycle, recipe.noisy_share = 10**9, 0.0  # the rate stays at its first value
    torch.manual_seed(0)
    squares = []

    def loss():
        value = c / 2 * torch.sum(weights**2)
        value.backward()
        return value

    for step in range(600):
        recipe.take_step(step, loss)
        if step >= 300:
            squares.append(float(torch.mean(weights.detach() ** 2)))
    # T / (N c), up to an error of the step, of the order of rate x c = 4 %, and a standard error of
    # about 1 %.
    assert np.mean(squares) == pytest.approx(0.005, rel=0.06)


def test_networks_are_collected_at_the_end_of_each_cycle():
    recipe = make_cyclical()
    assert recipe.cycle == 30  # twice six epochs of five steps, in two cycles
    taken = []
    for step in range(recipe.steps):
        before = len(recipe.collected)
        recipe.finish_step(step, nn.Linear(1, 1))
        if len(recipe.collected) > before:
            taken.append(step)
    # The last quarter is seven steps: two networks three steps apart.
    assert taken == [26, 29, 56, 59]
