"""Running statistics of normalisation layers, collected anew for sampled weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from onlinefa.torch._layout import unwrap


class RunningStatistics:
    """The batch and instance normalisation layers of a network that are trained with batches.

    A layer that normalises with statistics of batches during training needs statistics of its own
    for every sampled network. A layer that stays in evaluation mode, as in a frozen or pretrained
    part, keeps the statistics that the network is trained with.

    Parameters
    ----------
    model : torch.nn.Module
        The network when the posterior is attached.

    Attributes
    ----------
    trained : set of str
        Names of layers that were in training mode in some update.
    """

    def __init__(self, model: nn.Module) -> None:
        self.trained: set[str] = set()
        self._initial = {
            name: layer.running_mean.detach().clone()
            for name, layer in _find_layers(model).items()
            if layer.running_mean is not None
        }

    def observe(self, model: nn.Module) -> None:
        """Record which layers are in training mode."""
        for name, layer in _find_layers(model).items():
            if layer.training:
                self.trained.add(name)

    def find(self, model: nn.Module) -> dict[str, _NormBase]:
        """Return the layers whose statistics have to be collected for every sampled network.

        Their statistics have changed since the posterior was attached, or they were in training
        mode in some update.
        """
        return {
            name: layer
            for name, layer in _find_layers(model).items()
            if name in self.trained or self._has_changed(name, layer)
        }

    def _has_changed(self, name: str, layer: _NormBase) -> bool:
        before, now = self._initial.get(name), layer.running_mean
        if before is None or now is None:
            return False
        return not torch.equal(before.to(now.device), now)


def _find_layers(model: nn.Module) -> dict[str, _NormBase]:
    """Return the layers that keep running statistics."""
    return {
        name: each
        for name, each in unwrap(model).named_modules()
        if isinstance(each, _NormBase) and each.running_mean is not None
    }


def collect_statistics(
    model: nn.Module,
    layers: dict[str, _NormBase],
    forward: Callable[[dict[str, Tensor], Any], Any],
    batches: Iterable[Any],
) -> dict[str, Tensor]:
    """Compute the buffers of a network after a pass over batches in training mode.

    The statistics of a layer are averages over all batches. The network itself does not change.

    Parameters
    ----------
    model : torch.nn.Module
        The network.
    layers : dict
        Layers whose statistics are collected; other ones are in evaluation mode.
    forward : callable
        Function of buffers and a batch that calls the network, which may change the buffers.
    batches : iterable
        The batches.

    Returns
    -------
    buffers : dict
        The collected statistics by their names in the network.
    """
    buffers = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
    collected = {
        f"{name}.{key}": buffers[f"{name}.{key}"]
        for name, layer in layers.items()
        for key, _ in layer.named_buffers(recurse=False)
    }
    for name, buffer in collected.items():
        buffer.fill_(1 if name.endswith("running_var") else 0)
    number = 0
    with _training(model, layers):
        for number, batch in enumerate(batches, start=1):
            for layer in layers.values():
                layer.momentum = 1 / number  # the average of all batches so far
            forward(buffers, batch)
    if number == 0:
        raise ValueError(
            "batches has no batch (left): every network needs a pass over it, pass a DataLoader or "
            "a list and not an iterator"
        )
    return collected


@contextmanager
def evaluation(model: nn.Module) -> Iterator[None]:
    """Put a network into evaluation mode, and then back into the modes of its modules."""
    with _modes_restored(model):
        model.eval()
        yield


@contextmanager
def _training(model: nn.Module, layers: dict[str, _NormBase]) -> Iterator[None]:
    """Put a network into training mode, with only the given ones of its normalisation layers."""
    momenta = {name: layer.momentum for name, layer in layers.items()}
    with _modes_restored(model):
        model.train()
        for each in _find_layers(model).values():
            each.eval()
        # A network may keep layers in evaluation mode by a method `train` of its own.
        for layer in layers.values():
            layer.training = True
        try:
            yield
        finally:
            for name, layer in layers.items():
                layer.momentum = momenta[name]


@contextmanager
def _modes_restored(model: nn.Module) -> Iterator[None]:
    modes = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
