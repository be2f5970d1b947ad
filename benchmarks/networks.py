"""Posteriors in a training loop: time of an update and of a sample, and memory.

SWAG of torch-uncertainty and swa-gaussian is measured as well with `make bench PEERS=1`, in the
environment of `make conformance`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Protocol

import torch
from torch import nn

from benchmarks.clock import in_child
from onlinefa import (
    SWAG,
    Diagonal,
    OnlineEM,
    OnlineSGA,
    RecursiveEM,
    ShrunkEM,
    StepwiseEM,
)
from onlinefa.estimators.base import FactorEstimator
from onlinefa.torch import WeightPosterior
from onlinefa_benchmark.storage.peak_memory import peak_bytes, reset_peak
from onlinefa_benchmark.torchvision_operators import declare_missing_operators

K, BATCH = 10, 128
# Two blocks of recursive EM, after the first one.
FIRST, STEPS, SAMPLES = 100, 200, 5


class Implementation(Protocol):
    """A posterior of some package."""

    def update(self) -> None:
        """Learn from the present weights of the network."""

    def sample(self) -> object:
        """Draw a network."""


class SWAGaussian:
    """SWAG of the package swa-gaussian."""

    def __init__(self, model: nn.Module, make: Callable[[], nn.Module]) -> None:
        from swag import posteriors

        self.model = model
        self.swag = posteriors.SWAG(make, no_cov_mat=False, max_num_models=K)

    def update(self) -> None:
        self.swag.collect_model(self.model)

    def sample(self) -> object:
        return self.swag.sample(scale=0.5, cov=True)


class TorchUncertainty:
    """SWAG of the package torch-uncertainty."""

    def __init__(self, model: nn.Module, make: Callable[[], nn.Module]) -> None:
        from torch_uncertainty import methods

        self.epoch = 0
        self.swag = methods.SWAG(
            model, cycle_start=0, cycle_length=1, max_num_models=K, num_estimators=1, scale=0.5
        )

    def update(self) -> None:
        self.epoch += 1
        self.swag.update_wrapper(self.epoch)

    def sample(self) -> object:
        return self.swag.sample(self.swag.scale)


def make_multilayer(width: int) -> nn.Module:
    """Create a network of three linear layers for images of 28 x 28 pixels."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(784, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 10),
    )


def make_convolutional() -> nn.Module:
    """Create a network of three convolutional and two linear layers for 28 x 28 pixels."""
    layers: list[nn.Module] = []
    for one, two in ((1, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(one, two, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(128 * 9, 780), nn.ReLU(), nn.Linear(780, 10)
    )


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "linear layers, 10^4 weights": lambda: make_multilayer(13),
    "linear layers, 10^5 weights": lambda: make_multilayer(110),
    "linear layers, 10^6 weights": lambda: make_multilayer(680),
    "convolutions, 10^6 weights": make_convolutional,
}
ESTIMATORS: dict[str, Callable[[], FactorEstimator]] = {
    "SWAG": lambda: SWAG(K),
    "Diagonal": Diagonal,
    "RecursiveEM": lambda: RecursiveEM(K),
    "ShrunkEM": lambda: ShrunkEM(K),
    "StepwiseEM": lambda: StepwiseEM(K, random_state=0),
    "OnlineEM": lambda: OnlineEM(K, random_state=0),
    "OnlineSGA": lambda: OnlineSGA(K, random_state=0),
}
OTHERS: dict[str, tuple[str, Callable[..., Implementation]]] = {
    "SWAG of swa-gaussian": ("swag", SWAGaussian),
    "SWAG of torch-uncertainty": ("torch_uncertainty", TorchUncertainty),
}


def measure(full: bool) -> list[dict[str, Any]]:
    """Measure updates and samples of all implementations, in turns, on one core."""
    torch.set_num_threads(1)
    found = []
    for network in NETWORKS:
        seconds = _measure_times(network)
        step = seconds.pop("training step")["update"]
        print(f"{network}: a step with {BATCH} images takes {step * 1e3:.1f} ms")
        for name, each in seconds.items():
            [memory] = in_child("networks", network, name)
            found.append(
                {"network": network, "implementation": name, "seconds_of_step": step}
                | {f"seconds_of_{key}": value for key, value in each.items()}
                | memory
            )
            print(
                f"  {name:26} update {each['update'] / step:5.2f} of a step, "
                f"first block {each['first block'] / step:5.1f}, sample "
                f"{each['sample'] * 1e3:6.1f} ms, {memory['copies']:5.1f} copies of the weights",
                flush=True,
            )
    return found


def child(network: str, name: str) -> None:
    """Measure the memory of an implementation and print JSON."""
    model = NETWORKS[network]()
    _attach(name, nn.Linear(20, 1), lambda: nn.Linear(20, 1)).update()  # imports and compiles
    reset_peak()
    before = peak_bytes()
    implementation = _attach(name, model, NETWORKS[network])
    for _ in range(2 * K):
        _move(model)
        implementation.update()
    implementation.sample()
    D = sum(parameter.numel() for parameter in model.parameters())
    print(json.dumps({"copies": (peak_bytes() - before) / (4 * D)}))


def _attach(name: str, model: nn.Module, make: Callable[[], nn.Module]) -> Implementation:
    if name in OTHERS:
        declare_missing_operators()
        return OTHERS[name][1](model, make)
    return WeightPosterior(model, ESTIMATORS[name]())


def _move(model: nn.Module) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.01 * torch.randn_like(parameter)


def _measure_times(network: str) -> dict[str, dict[str, float]]:
    """Return mean seconds by implementation and kind of work."""
    model = NETWORKS[network]()
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images, classes = torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))

    def step() -> None:
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(images), classes).backward()
        optimiser.step()

    installed = [name for name, (module, _) in OTHERS.items() if find_spec(module)]
    attached = {name: _attach(name, model, NETWORKS[network]) for name in [*ESTIMATORS, *installed]}
    works = {"training step": step} | {name: each.update for name, each in attached.items()}
    for work in works.values():  # imports and compiles
        work()
    begin = _sum_times(FIRST - 1, works)
    later = _sum_times(STEPS, works)
    samples = _sum_times(SAMPLES, {name: each.sample for name, each in attached.items()})
    return {
        name: {
            "update": later[name] / STEPS,
            "first block": begin[name],
            "sample": samples.get(name, 0.0) / SAMPLES,
        }
        for name in works
    }


def _sum_times(rounds: int, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the total seconds of each function; they take turns, as in a training loop."""
    total = dict.fromkeys(works, 0.0)
    for _ in range(rounds):
        for name, work in works.items():
            start = perf_counter()
            work()
            total[name] += perf_counter() - start
    return total
