"""Inputs of a network: a tensor, several tensors, keyword arguments, or batches of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, RandomSampler

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def iterate_inputs(inputs: Any, device: torch.device) -> Iterator[Arguments]:
    """Iterate over the arguments of the calls that inputs stand for.

    A tensor, a tuple (several arguments) or a mapping (keyword arguments) is one call. Any other
    iterable, for example a DataLoader, has a call for each of its batches.

    Parameters
    ----------
    inputs : torch.Tensor, tuple, mapping or iterable of batches
        The inputs.
    device : torch.device
        Device of the network, to which tensors are moved.

    Yields
    ------
    arguments : tuple
        Positional and keyword arguments of a call.
    """
    if isinstance(inputs, Tensor | tuple | Mapping):
        yield _as_arguments(inputs, device)
        return
    for batch in inputs:
        yield batch_arguments(batch, device)


def batch_arguments(batch: Any, device: torch.device) -> Arguments:
    """Return the arguments for a batch of a DataLoader.

    The first item of a list or tuple is the input, and other items, such as targets, are ignored.
    """
    if isinstance(batch, list | tuple):
        batch = batch[0]
    return _as_arguments(batch, device)


def check_repeatable(inputs: Any) -> None:
    """Raise ValueError if inputs cannot be read several times in the same order."""
    if isinstance(inputs, Tensor | tuple | Mapping):
        return
    if not isinstance(inputs, Iterable):
        kind = type(inputs).__name__
        raise TypeError(f"inputs is a {kind}, not a tensor, tuple, mapping or iterable of batches")
    if isinstance(inputs, Iterator):
        raise ValueError("inputs can be read only once: pass a DataLoader or a list of batches")
    if isinstance(inputs, DataLoader) and isinstance(inputs.sampler, RandomSampler):
        raise ValueError(
            "inputs is shuffled, so that each network would see another order: pass a DataLoader "
            "with shuffle=False"
        )


def get_device(model: nn.Module) -> torch.device:
    """Return the device of a network, that of its first parameter or buffer."""
    for tensor in (*model.parameters(), *model.buffers()):
        return tensor.device
    return torch.device("cpu")


def _as_arguments(inputs: Any, device: torch.device) -> Arguments:
    if isinstance(inputs, Mapping):
        return (), {name: _move(value, device) for name, value in inputs.items()}
    if isinstance(inputs, tuple):
        return tuple(_move(value, device) for value in inputs), {}
    return (_move(inputs, device),), {}


def _move(value: Any, device: torch.device) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value
