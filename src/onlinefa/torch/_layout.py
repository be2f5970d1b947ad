"""Mapping between the parameters of a network and a vector of all its weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from onlinefa.serialization import CannotRestore

Selection = str | nn.Module | nn.Parameter | Iterable["str | nn.Module | nn.Parameter"] | None

# `torch.compile` inserts this part into the names of the parameters of a module.
_COMPILED = "_orig_mod."


class NetworkChanged(ValueError):
    """Exception for a network whose parameters differ from when the posterior was attached."""


def unwrap(model: nn.Module) -> nn.Module:
    """Return the network inside of DataParallel, DistributedDataParallel and `torch.compile`."""
    while True:
        if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            model = model.module
        elif isinstance(inner := getattr(model, _COMPILED[:-1], None), nn.Module):
            model = inner
        else:
            return model


class ParameterLayout:
    """Positions of some parameters of a network in a vector of weights.

    Parameters are known by their names in the network without wrappers, so that a state can be
    restored whether or not the network is compiled or distributed.

    Parameters
    ----------
    model : torch.nn.Module
        The network. Tied parameters count once.
    selection : str, torch.nn.Module, torch.nn.Parameter, iterable of these or None, default=None
        Parameters that are included: names, patterns, modules or the parameters themselves. None
        includes those that require a gradient.

    Attributes
    ----------
    shapes : dict
        Shape of each parameter by its name, in the order of the vector.
    dimension : int
        Number of weights.
    dtype : torch.dtype
        Type of the vector: float64 if some parameter is float64, else float32.
    device : torch.device
        Device of the first parameter.
    """

    def __init__(self, model: nn.Module, selection: Selection = None) -> None:
        named = _named_parameters(model)
        if selection is None:
            chosen = {name: each for name, each in named.items() if each.requires_grad}
        else:
            chosen = _select(unwrap(model), named, selection)
        for name, parameter in chosen.items():
            if not parameter.is_floating_point():
                raise ValueError(f"parameter '{name}' is {parameter.dtype}, not a real number")
            if parameter.is_meta:
                raise ValueError(
                    f"parameter '{name}' is on the meta device and has no value: load it first"
                )
        if not chosen:
            raise ValueError("the model has no parameter that requires a gradient")
        self.shapes = {name: tuple(parameter.shape) for name, parameter in chosen.items()}
        self.dimension = sum(parameter.numel() for parameter in chosen.values())
        double = any(parameter.dtype == torch.float64 for parameter in chosen.values())
        self.dtype = torch.float64 if double else torch.float32
        self.device = next(iter(chosen.values())).device
        # With a selection of its own, the user decides which other parameters are trained.
        self._others = named.keys() - chosen.keys() if selection is None else None

    def read(self, model: nn.Module, row: Tensor) -> None:
        """Copy the weights of a network into a vector."""
        for parameter, part in zip(self._parameters(model), self._parts(row), strict=True):
            part.copy_(parameter.detach())

    def split(self, row: Tensor, model: nn.Module) -> dict[str, Tensor]:
        """Return the parameters that a vector consists of, with types and devices of a network.

        The keys are the names in ``unwrap(model)``.
        """
        names = {_canonical(name): name for name, _ in unwrap(model).named_parameters()}
        parameters = zip(self._parameters(model), self._parts(row), strict=True)
        return {
            names[name]: part.to(parameter.device, parameter.dtype)
            for name, (parameter, part) in zip(self.shapes, parameters, strict=True)
        }

    def check_finite(self, row: Tensor) -> None:
        """Raise ValueError if a vector has weights that are not finite."""
        for name, part in zip(self.shapes, self._parts(row), strict=True):
            if not part.isfinite().all():
                raise ValueError(f"parameter '{name}' has NaN or infinite weights")

    def to_lists(self) -> dict[str, list[int]]:
        """Return the shapes of the parameters as lists, for a saved state."""
        return {name: list(shape) for name, shape in self.shapes.items()}

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
        """Return the parameters, in order, after checking that the network is the same."""
        named = _named_parameters(model)
        for name, shape in self.shapes.items():
            if name not in named:
                raise NetworkChanged(f"parameter '{name}' was removed from the network")
            if (now := tuple(named[name].shape)) != shape:
                raise NetworkChanged(f"parameter '{name}' had shape {shape}, now it has {now}")
        if self._others is not None:
            for name, parameter in named.items():
                if name not in self.shapes and parameter.requires_grad:
                    how = "was frozen, now it is trained" if name in self._others else "was added"
                    raise NetworkChanged(f"parameter '{name}' {how}: attach a new posterior")
        return [named[name] for name in self.shapes]


def _named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters by name; a tied one appears under its first name only."""
    return {_canonical(name): each for name, each in unwrap(model).named_parameters()}


def _canonical(name: str) -> str:
    return name.replace(_COMPILED, "")


def _select(
    model: nn.Module, named: Mapping[str, nn.Parameter], selection: Any
) -> dict[str, nn.Parameter]:
    """Return the selected parameters, in the order of the network."""
    single = isinstance(selection, str | nn.Module | nn.Parameter)
    chosen: set[int] = set()
    for item in [selection] if single else selection:
        chosen |= {id(each) for each in _find(model, named, item)}
    return {name: each for name, each in named.items() if id(each) in chosen}


def _find(model: nn.Module, named: Mapping[str, nn.Parameter], item: Any) -> list[nn.Parameter]:
    if isinstance(item, str):
        # A name of a module stands for all of its parameters.
        own = {
            _canonical(name): each for name, each in model.named_parameters(remove_duplicate=False)
        }
        found = [
            each
            for name, each in own.items()
            if fnmatchcase(name, item) or name.startswith(f"{item}.")
        ]
        if not found:
            raise ValueError(
                f"parameters: no parameter is called '{item}' (there are {', '.join(named)})"
            )
        return found
    if isinstance(item, nn.Parameter):
        found = [item]
    elif isinstance(item, nn.Module):
        found = list(item.parameters())
    else:
        raise TypeError(
            f"parameters: expected names, patterns, modules or parameters, got {item!r}"
        )
    own_ids = {id(each) for each in named.values()}
    if not found or any(id(each) not in own_ids for each in found):
        kind = type(item).__name__
        raise ValueError(f"parameters: this {kind} has no parameters of the model")
    return found
