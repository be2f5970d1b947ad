"""Mapping between the parameters of a network and a vector of all its weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from onlinefa.serialization import CannotRestore


class NetworkChanged(ValueError):
    """Exception for a network whose parameters differ from when the posterior was attached."""


class ParameterLayout:
    """Positions of the trained parameters of a network in the vector of all weights.

    Parameters
    ----------
    model : torch.nn.Module
        The network. The parameters that require a gradient are included; tied ones count once.

    Attributes
    ----------
    shapes : dict
        Shape of each trained parameter by its name, in the order of the vector.
    frozen : set of str
        Names of the other parameters.
    dimension : int
        Number of weights.
    dtype : torch.dtype
        Type of the vector: float64 if some parameter is float64, else float32.
    """

    def __init__(self, model: nn.Module) -> None:
        named = dict(model.named_parameters())  # a tied parameter appears under its first name
        trained = {name: each for name, each in named.items() if each.requires_grad}
        for name, parameter in trained.items():
            if not parameter.is_floating_point():
                raise ValueError(f"parameter '{name}' is {parameter.dtype}, not a real number")
        if not trained:
            raise ValueError("the model has no parameter that requires a gradient")
        self.shapes = {name: tuple(parameter.shape) for name, parameter in trained.items()}
        self.frozen = named.keys() - trained.keys()
        self.dimension = sum(parameter.numel() for parameter in trained.values())
        double = any(parameter.dtype == torch.float64 for parameter in trained.values())
        self.dtype = torch.float64 if double else torch.float32

    def read(self, model: nn.Module, row: Tensor) -> None:
        """Copy the weights of a network into a vector."""
        for parameter, part in zip(self._parameters(model), self._parts(row), strict=True):
            part.copy_(parameter.detach())

    def write(self, row: Tensor, model: nn.Module) -> None:
        """Copy a vector into the weights of a network, with their types and devices."""
        for parameter, part in zip(self._parameters(model), self._parts(row), strict=True):
            parameter.detach().copy_(part)

    def check_finite(self, row: Tensor) -> None:
        """Raise ValueError if a vector has weights that are not finite."""
        for name, part in zip(self.shapes, self._parts(row), strict=True):
            if not part.isfinite().all():
                raise ValueError(f"parameter '{name}' has NaN or infinite weights")

    def check_saved(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Raise CannotRestore if the saved shapes are those of another network."""
        for name in {**self.shapes, **shapes}:
            if name not in shapes:
                raise CannotRestore(f"parameter '{name}' is not in the saved network")
            if name not in self.shapes:
                raise CannotRestore(f"parameter '{name}' of the saved network is not in this one")
            if (saved := tuple(shapes[name])) != self.shapes[name]:
                raise CannotRestore(
                    f"parameter '{name}' was saved with shape {saved}, here it has shape "
                    f"{self.shapes[name]}"
                )
        if list(shapes) != list(self.shapes):
            raise CannotRestore("the saved network has its parameters in another order")

    def _parts(self, row: Tensor) -> Iterator[Tensor]:
        """Iterate over views of a vector, one for each parameter, in its shape."""
        start = 0
        for shape in self.shapes.values():
            stop = start + math.prod(shape)
            yield row[start:stop].view(shape)
            start = stop

    def _parameters(self, model: nn.Module) -> list[nn.Parameter]:
        """Return the trained parameters, in order, after checking that the network is the same."""
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
