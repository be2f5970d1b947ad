"""Gradients of the outputs of a network, one for each observation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.func import grad, vmap

from onlinefa.torch._inputs import Arguments

Network = Callable[[Mapping[str, Tensor], Arguments], Tensor]
"""Function of weights, by name, and of the arguments of a call; it returns outputs."""


def iterate_gradients(
    network: Network,
    weights: Mapping[str, Tensor],
    arguments: Arguments,
    directions: Tensor,
    chunk_size: int,
) -> Iterator[Tensor]:
    """Compute the gradient of each observation's outputs along a direction.

    Parameters
    ----------
    network : callable
        Function of weights and arguments.
    weights : mapping
        Weights by name.
    arguments : tuple
        Positional and keyword arguments, whose tensors have N observations.
    directions : torch.Tensor of shape (N, C)
        Coefficients of the outputs.
    chunk_size : int
        Number of observations whose gradients are computed at once.

    Yields
    ------
    gradients : torch.Tensor of shape (n, D)
        Gradients of the next observations, one parameter after the other.
    """
    positional, named = arguments

    def project(
        weights: dict[str, Tensor], args: tuple[Any, ...], kwargs: Any, direction: Tensor
    ) -> Tensor:
        one = (
            tuple(_add_axis(each) for each in args),
            {name: _add_axis(each) for name, each in kwargs.items()},
        )
        return torch.sum(as_matrix(network(weights, one))[0] * direction)

    differentiate = vmap(
        grad(project),
        in_dims=(None, _find_axes(positional), _find_axes(named), 0),
        randomness="same",
    )
    for start in range(0, len(directions), chunk_size):
        part = slice(start, start + chunk_size)
        gradients = differentiate(
            dict(weights),
            tuple(_take(value, part) for value in positional),
            {name: _take(value, part) for name, value in named.items()},
            directions[part],
        )
        flat = [gradients[name].flatten(start_dim=1).to(directions) for name in weights]
        yield torch.cat(flat, dim=1).detach()


def as_matrix(outputs: Tensor) -> Tensor:
    """Return outputs of shape (N, C); a vector has one output for each observation."""
    if outputs.ndim == 0:  # the output of one observation, squeezed
        return outputs.reshape(1, 1)
    return outputs[:, None] if outputs.ndim == 1 else outputs.flatten(start_dim=1)


def _find_axes(values: Any) -> Any:
    """Return which arguments have an axis of observations: all tensors."""
    if isinstance(values, dict):
        return {name: _find_axes(value) for name, value in values.items()}
    if isinstance(values, tuple):
        return tuple(_find_axes(value) for value in values)
    return 0 if isinstance(values, Tensor) else None


def _take(value: Any, part: slice) -> Any:
    return value[part] if isinstance(value, Tensor) else value


def _add_axis(value: Any) -> Any:
    return value[None] if isinstance(value, Tensor) else value
