"""Posterior over the weights of a PyTorch network, learned by any estimator during training."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.swa_utils import update_bn

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.serialization import CannotRestore, restore, save
from onlinefa.torch._layout import ParameterLayout

__all__ = ["TooFewUpdates", "WeightPosterior", "predict_mixture"]

Random = int | np.random.Generator | None
Batches = Iterable[Any] | None


class TooFewUpdates(ValueError):
    """Exception for a posterior that has learned from too few weight vectors."""


class WeightPosterior:
    """Gaussian over the weights of a network, learned from their trajectory during training.

    The posterior covers the parameters that require a gradient when it is attached; tied ones count
    once. Sampled networks share the values of frozen parameters with the model. The estimator runs
    on the CPU, in float32 or, if some parameter is float64, in float64; sampled networks have the
    types and devices of the model.

    The running statistics of batch normalisation are valid only for the weights that they were
    collected with, not for an average or a sample. As in SWAG, they are collected anew for every
    network, by a pass over `batches` in training mode. `batches` is an iterable of tensors, or of
    lists or tuples whose first item is the input of the network, for example a DataLoader. All
    other buffers are those of the model.

    Parameters
    ----------
    model : torch.nn.Module
        The network, which is only read and may be trained further.
    estimator : FactorEstimator
        Any estimator of this package. It is cloned.

    Attributes
    ----------
    model : torch.nn.Module
        The network.
    estimator : FactorEstimator
        The clone, which learns from the weights.

    Examples
    --------
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

    def __init__(self, model: nn.Module, estimator: FactorEstimator) -> None:
        self.model = model
        self.estimator: FactorEstimator = clone(estimator)
        self._layout = ParameterLayout(model)
        self._row = torch.empty(self._layout.dimension, dtype=self._layout.dtype)

    @property
    def updates(self) -> int:
        """Number of weight vectors that were learned from."""
        return self.estimator.n_samples_seen_ if self.estimator.__sklearn_is_fitted__() else 0

    def update(self) -> None:
        """Learn from the present weights of the model, after a step of the optimiser or an epoch.

        Raises
        ------
        NetworkChanged
            If the parameters of the model are no longer those that the posterior was attached to.
        ValueError
            If a weight is NaN or infinite.
        FitDiverged
            If the fit has diverged.
        """
        self._layout.read(self.model, self._row)
        try:
            self.estimator.partial_fit(self._row[None].numpy())
        except ValueError:
            # The estimator checks all weights; search for the parameter only if it refuses them.
            self._layout.check_finite(self._row)
            raise

    # -- results -------------------------------------------------------------------------------

    def gaussian(self) -> LowRankGaussian:
        """Return the distribution of all weights, one parameter after the other.

        Returns
        -------
        gaussian : LowRankGaussian
            The estimate, which later updates do not change.

        Raises
        ------
        TooFewUpdates
            If there were fewer updates than the estimator has factors, or none.
        """
        K = getattr(self.estimator, "n_components", 0)
        self._check_updates(int(K) if isinstance(K, Integral) else 1)
        return self.estimator.gaussian()

    def sample(self, random_state: Random = None, batches: Batches = None) -> nn.Module:
        """Draw a network.

        Parameters
        ----------
        random_state : int, numpy.random.Generator or None, default=None
            Seed, or the generator to draw from.
        batches : iterable or None, default=None
            Training inputs, needed if the model has batch normalisation.

        Returns
        -------
        network : torch.nn.Module
            A new network in evaluation mode.
        """
        network = self._copy_model(batches)
        self._draw(network, np.random.default_rng(random_state), batches)
        return network

    def average(self, batches: Batches = None) -> nn.Module:
        """Create a network with the mean of the trajectory as its weights (SWA).

        Parameters
        ----------
        batches : iterable or None, default=None
            Training inputs, needed if the model has batch normalisation.

        Returns
        -------
        network : torch.nn.Module
            A new network in evaluation mode.
        """
        self._check_updates(1)
        network = self._copy_model(batches)
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
        """Compute the outputs of sampled networks, without gradients.

        The networks are the same as those of repeated calls of `sample` with one generator. Their
        weights are written into one copy of the model, one network after the other.

        Parameters
        ----------
        inputs : torch.Tensor
            Input of the network, with N rows.
        samples : int, default=100
            Number of networks.
        random_state : int, numpy.random.Generator or None, default=None
            Seed, or the generator to draw from.
        batches : iterable or None, default=None
            Training inputs, needed if the model has batch normalisation.

        Returns
        -------
        outputs : torch.Tensor of shape (samples, N, ...)
            Output of each network.
        """
        if samples < 1:
            raise ValueError(f"samples={samples} must be at least 1")
        network, random = self._copy_model(batches), np.random.default_rng(random_state)
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

    def _copy_model(self, batches: Batches) -> nn.Module:
        if batches is None and _find_batch_norms(self.model):
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
            raise TooFewUpdates("there was no update: call update() after steps of the optimiser")
        if self.updates < least:
            raise TooFewUpdates(
                f"n_components={least} needs at least as many updates, there were {self.updates}"
            )

    # -- saving --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, for `torch.save`, without the state of the model.

        A posterior that is restored with `load_state_dict` continues as if it had not been
        interrupted, to the bit.

        Returns
        -------
        state : dict
            Tensors, numbers, strings, lists and dicts, which `torch.load` reads with
            ``weights_only=True``.
        """
        shapes = {name: list(shape) for name, shape in self._layout.shapes.items()}
        return {"parameters": shapes, "estimator": _to_tensors(save(self.estimator))}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace what was learned by a saved state.

        Parameters
        ----------
        state : mapping
            The result of `state_dict`.

        Raises
        ------
        CannotRestore
            If the state belongs to another network or estimator.
        """
        if state.keys() != {"parameters", "estimator"}:
            raise CannotRestore("this is not the state_dict of a WeightPosterior")
        self._layout.check_saved(state["parameters"])
        restore(self.estimator, _to_arrays(state["estimator"]))


def predict_mixture(
    posteriors: Sequence[WeightPosterior],
    inputs: Tensor,
    samples: int = 100,
    random_state: Random = None,
    batches: Batches = None,
) -> Tensor:
    """Compute the outputs of networks that are sampled from several posteriors.

    The posteriors of independent runs, each with SWAG, give MultiSWAG (Wilson and Izmailov, 2020).

    Parameters
    ----------
    posteriors : sequence of WeightPosterior
        The posteriors.
    inputs : torch.Tensor
        Input of the networks, with N rows.
    samples : int, default=100
        Number of networks of each posterior.
    random_state : int, numpy.random.Generator or None, default=None
        Seed, or the generator to draw from.
    batches : iterable or None, default=None
        Training inputs, needed if the models have batch normalisation.

    Returns
    -------
    outputs : torch.Tensor of shape (len(posteriors) * samples, N, ...)
        Output of each network, one posterior after the other.
    """
    if not posteriors:
        raise ValueError("posteriors is empty")
    random = np.random.default_rng(random_state)
    return torch.cat([each.predict(inputs, samples, random, batches) for each in posteriors])


def _find_batch_norms(network: nn.Module) -> list[_BatchNorm]:
    """Return the layers that keep running statistics."""
    return [
        each
        for each in network.modules()
        if isinstance(each, _BatchNorm) and each.running_mean is not None
    ]


def _collect_statistics(network: nn.Module, batches: Batches) -> None:
    layers = _find_batch_norms(network)
    if not layers or batches is None:
        return
    update_bn(batches, network, device=next(network.parameters()).device)
    if all(layer.num_batches_tracked == 0 for layer in layers):
        raise ValueError(
            "batches has no batch (left): every network needs a pass over it, pass a DataLoader or "
            "a list and not an iterator"
        )


def _to_tensors(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_tensors(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_to_tensors(item) for item in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def _to_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_arrays(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_to_arrays(item) for item in value]
    return value.cpu().numpy() if isinstance(value, Tensor) else value
