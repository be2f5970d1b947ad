"""A posterior over the weights of any PyTorch network, by any estimator, while it is trained.

>>> import torch
>>> from onlinefa import SWAG
>>> from onlinefa.torch import WeightPosterior
>>> model = torch.nn.Linear(3, 1)
>>> optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
>>> posterior = WeightPosterior(model, SWAG(n_components=2))
>>> for inputs in torch.randn(20, 8, 3):
...     optimiser.zero_grad()
...     torch.mean((model(inputs) - inputs[:, :1]) ** 2).backward()
...     optimiser.step()
...     posterior.update()
>>> posterior.predict(torch.randn(5, 3), samples=10, random_state=0).shape
torch.Size([10, 5, 1])
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.names import needs_package
from onlinefa.saving import CannotRestore, restore, save

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = f"onlinefa.torch {needs_package('torch', 'networks')}"
    raise ModuleNotFoundError(message, name="torch") from None

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn

Random = int | np.random.Generator | None
Batches = Iterable[Any] | None


class NetworkChanged(ValueError):
    """The network is not the one that the posterior was attached to."""


class TooFewUpdates(ValueError):
    """The walk is too short for what is asked of it."""


class WeightPosterior:
    """A Gaussian over a network's weights, learned from its walk during training.

    What walks are the parameters that require a gradient when the posterior is attached; tied ones
    count once. Those that are frozen stand still, and networks that are drawn have the model's own.
    Weights are learned from in float32, or in float64 if some parameter is float64, on the CPU;
    what is drawn has the model's types and devices again.

    Running statistics of batch normalisation belong to the weights they were collected with, and
    fit neither an average nor a draw. As in SWAG, they are collected anew for every network, by a
    pass over `batches`, in training mode: tensors, or lists or tuples whose first item is the
    network's input, a DataLoader for example. All other buffers are the model's own.

    Parameters
    ----------
    model : any torch.nn.Module; it is only read, and may be trained on
    estimator : any estimator of this package; it is cloned, because a walk needs one of its own

    Attributes
    ----------
    model : the model
    estimator : the clone, which learns
    """

    def __init__(self, model: nn.Module, estimator: FactorEstimator) -> None:
        self.model = model
        self.estimator = estimator.without_data()
        self._layout = _Layout(model)
        self._row = torch.empty(self._layout.dimension, dtype=self._layout.dtype)

    @property
    def updates(self) -> int:
        """How many weight vectors were learned from."""
        return self.estimator.n_samples_seen_ if self.estimator.__sklearn_is_fitted__() else 0

    def update(self) -> None:
        """Learn from the model's present weights: after a step of the optimiser, or an epoch."""
        self._layout.read(self.model, self._row)
        try:
            self.estimator.partial_fit(self._row[None].numpy())
        except ValueError:
            # The estimator has looked at all numbers; only if it refuses them, look again.
            self._layout.check_finite(self._row)
            raise

    # -- results -------------------------------------------------------------------------------

    def gaussian(self) -> LowRankGaussian:
        """What was learned: a distribution of all weights, one parameter after the other."""
        K = getattr(self.estimator, "n_components", 0)
        self._check_updates(int(K) if isinstance(K, Integral) else 1)
        return self.estimator.gaussian()

    def sample(self, random_state: Random = None, batches: Batches = None) -> nn.Module:
        """A new network with weights that are drawn, in evaluation mode."""
        network = self._network(batches)
        self._draw(network, np.random.default_rng(random_state), batches)
        return network

    def average(self, batches: Batches = None) -> nn.Module:
        """A new network with the mean of the walk as its weights (SWA), in evaluation mode."""
        self._check_updates(1)
        network = self._network(batches)
        self._layout.write(torch.tensor(self.estimator.mean_), network)
        _collect_statistics(network, batches)
        return network

    def predict(
        self,
        inputs: Tensor,
        samples: int = 100,
        random_state: Random = None,
        batches: Batches = None,
    ) -> Tensor:
        """Outputs of networks that are drawn, of shape (samples, N, ...), without gradients.

        The networks are those that `sample` gives when it is called so often with one generator.
        They are drawn into one copy of the model, one after the other.
        """
        if samples < 1:
            raise ValueError(f"samples={samples} must be at least 1")
        network, random = self._network(batches), np.random.default_rng(random_state)
        outputs: Tensor | None = None
        for number in range(samples):
            self._draw(network, random, batches)
            with torch.no_grad():
                output = network(inputs)
            if not isinstance(output, Tensor):
                kind = type(output).__name__
                raise TypeError(f"the network's output is a {kind}, not a tensor: use sample()")
            if outputs is None:
                outputs = output.new_empty((samples, *output.shape))
            outputs[number] = output
        assert outputs is not None
        return outputs

    def _network(self, batches: Batches) -> nn.Module:
        """A copy of the model to write weights into."""
        if batches is None and _batch_norms(self.model):
            raise ValueError(
                "the model has batch normalisation, whose statistics fit its own weights only: "
                "pass batches=, training inputs to collect them anew for every network"
            )
        return copy.deepcopy(self.model).eval()

    def _draw(self, network: nn.Module, random: np.random.Generator, batches: Batches) -> None:
        self._layout.write(torch.from_numpy(self.gaussian().sample(1, random)[0]), network)
        _collect_statistics(network, batches)

    def _check_updates(self, least: int) -> None:
        if self.updates == 0:
            raise TooFewUpdates("an empty walk: call update() after steps of the optimiser")
        if self.updates < least:
            raise TooFewUpdates(
                f"n_components={least} needs as many updates at least, there were {self.updates}"
            )

    # -- saving --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """All that was learned, for `torch.save`; the model's own state is not part of it.

        Restored with `load_state_dict`, learning goes on as if it had never been interrupted, to
        the bit. There are tensors, numbers, strings, lists and dicts in it:
        `torch.load(..., weights_only=True)` reads it.
        """
        shapes = {name: list(shape) for name, shape in self._layout.shapes.items()}
        return {"parameters": shapes, "estimator": _tensors(save(self.estimator))}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Forget what was learned, and go on from what `state_dict` gave."""
        if state.keys() != {"parameters", "estimator"}:
            raise CannotRestore("this is not the state_dict of a WeightPosterior")
        self._layout.check_saved(state["parameters"])
        restore(self.estimator, _arrays(state["estimator"]))


def predict_mixture(
    posteriors: Sequence[WeightPosterior],
    inputs: Tensor,
    samples: int = 100,
    random_state: Random = None,
    batches: Batches = None,
) -> Tensor:
    """Outputs of networks that are drawn from several posteriors, `samples` from each.

    Those of independent runs, each with SWAG, are MultiSWAG (Wilson and Izmailov, 2020).
    """
    if not posteriors:
        raise ValueError("a mixture of no posteriors")
    random = np.random.default_rng(random_state)
    return torch.cat([each.predict(inputs, samples, random, batches) for each in posteriors])


class _Layout:
    """Where each parameter of a network is in the vector of all weights."""

    def __init__(self, model: nn.Module) -> None:
        named = dict(model.named_parameters())  # of tied ones the first name
        walking = {name: each for name, each in named.items() if each.requires_grad}
        for name, parameter in walking.items():
            if not parameter.is_floating_point():
                raise ValueError(f"parameter '{name}' is {parameter.dtype}, not a real number")
        if not walking:
            raise ValueError("the model has no parameter that requires a gradient")
        self.shapes = {name: tuple(parameter.shape) for name, parameter in walking.items()}
        self.frozen = named.keys() - walking.keys()
        self.dimension = sum(parameter.numel() for parameter in walking.values())
        double = any(parameter.dtype == torch.float64 for parameter in walking.values())
        self.dtype = torch.float64 if double else torch.float32

    def read(self, model: nn.Module, row: Tensor) -> None:
        """The model's weights into a vector."""
        for parameter, part in zip(self._parameters(model), self._parts(row), strict=True):
            part.copy_(parameter.detach())

    def write(self, row: Tensor, model: nn.Module) -> None:
        """A vector into the model's weights, in their own types and on their devices."""
        for parameter, part in zip(self._parameters(model), self._parts(row), strict=True):
            parameter.detach().copy_(part)

    def _parts(self, row: Tensor) -> Iterator[Tensor]:
        """Views of a vector, one for each parameter, in its shape."""
        start = 0
        for shape in self.shapes.values():
            stop = start + math.prod(shape)
            yield row[start:stop].view(shape)
            start = stop

    def check_finite(self, row: Tensor) -> None:
        for name, part in zip(self.shapes, self._parts(row), strict=True):
            if not part.isfinite().all():
                raise ValueError(f"parameter '{name}' has NaN or infinite weights")

    def check_saved(self, shapes: Mapping[str, Sequence[int]]) -> None:
        for name in {**self.shapes, **shapes}:
            if name not in shapes:
                raise CannotRestore(f"parameter '{name}' is not in the network that was saved")
            if name not in self.shapes:
                raise CannotRestore(f"parameter '{name}' of the network that was saved is not here")
            if (saved := tuple(shapes[name])) != self.shapes[name]:
                raise CannotRestore(
                    f"parameter '{name}' was saved with shape {saved}, here it has shape "
                    f"{self.shapes[name]}"
                )
        if list(shapes) != list(self.shapes):
            raise CannotRestore("the network that was saved has its parameters in another order")

    def _parameters(self, model: nn.Module) -> list[nn.Parameter]:
        """Those that walk, in their order, if the network is still as it was."""
        named = dict(model.named_parameters())
        for name, shape in self.shapes.items():
            if name not in named:
                raise NetworkChanged(f"parameter '{name}' was removed from the network")
            if (now := tuple(named[name].shape)) != shape:
                raise NetworkChanged(f"parameter '{name}' had shape {shape}, now it has {now}")
        for name, parameter in named.items():
            if name not in self.shapes and parameter.requires_grad:
                how = "was frozen, now it is trained" if name in self.frozen else "was added"
                raise NetworkChanged(f"parameter '{name}' {how}: attach a new WeightPosterior")
        return [named[name] for name in self.shapes]


def _batch_norms(network: nn.Module) -> list[_BatchNorm]:
    """Those that keep running statistics."""
    return [
        each
        for each in network.modules()
        if isinstance(each, _BatchNorm) and each.running_mean is not None
    ]


def _collect_statistics(network: nn.Module, batches: Batches) -> None:
    layers = _batch_norms(network)
    if not layers or batches is None:
        return
    update_bn(batches, network, device=next(network.parameters()).device)
    if all(layer.num_batches_tracked == 0 for layer in layers):
        raise ValueError(
            "batches has no batch (left): every network needs a pass, for which a DataLoader or a "
            "list will do and an iterator will not"
        )


def _tensors(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tensors(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_tensors(item) for item in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _arrays(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_arrays(item) for item in value]
    return value.cpu().numpy() if isinstance(value, Tensor) else value
