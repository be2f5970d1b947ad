"""Posterior over the weights of a PyTorch network, learned by any estimator during training."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor, nn
from torch.func import functional_call

from onlinefa.estimators.base import FactorEstimator
from onlinefa.gaussian import LowRankGaussian
from onlinefa.serialization import CannotRestore, restore, save
from onlinefa.torch._inputs import batch_arguments, get_device, iterate_inputs
from onlinefa.torch._layout import ParameterLayout, Selection, unwrap
from onlinefa.torch._statistics import RunningStatistics, collect_statistics, evaluation
from onlinefa.torch.posterior import (
    Batches,
    Draws,
    Posterior,
    Random,
    get_tensor,
    make_generator,
)

__all__ = ["TooFewUpdates", "WeightPosterior"]


class TooFewUpdates(ValueError):
    """Exception for a posterior that has learned from too few weight vectors."""


class WeightPosterior(Posterior):
    """Gaussian over the weights of a network, learned from their trajectory during training.

    By default, the posterior covers the parameters that require a gradient when it is attached;
    tied ones count once. Sampled networks share the values of all other parameters with the model.
    The estimator learns in float32 or, if some parameter is float64, in float64; sampled networks
    have the types and devices of the model. Estimators that accept tensors, such as `SWAG`,
    `RecursiveEM` and `ShrunkEM`, run on the device of the first parameter, and the weights are
    never copied to the host. Other ones run on the CPU.

    The running statistics of batch or instance normalisation are valid only for the weights that
    they were collected with, not for an average or a sample. As in SWAG, they are collected anew
    for every network, by a pass over `batches` in training mode. `batches` is an iterable of
    inputs, for example a DataLoader; see `Posterior`. Layers that stay in evaluation mode during
    training, as in a frozen or pretrained part, keep their statistics. All other buffers are those
    of the model.

    Parameters
    ----------
    model : torch.nn.Module
        The network, which is only read and may be trained further.
    estimator : FactorEstimator
        Any estimator of this package. It is cloned.
    parameters : str, torch.nn.Module, torch.nn.Parameter, iterable of these or None, default=None
        Parameters that the posterior covers: names of parameters or modules, patterns such as
        ``"layers.*.bias"``, modules, or the parameters themselves. None covers those that require a
        gradient.

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

    def __init__(
        self, model: nn.Module, estimator: FactorEstimator, *, parameters: Selection = None
    ) -> None:
        _check_arguments(model, estimator)
        self.model = model
        self.estimator: FactorEstimator = clone(estimator)
        self._layout = ParameterLayout(model, parameters)
        self._statistics = RunningStatistics(model)
        device = self._layout.device if estimator.accepts_tensors else torch.device("cpu")
        self._row = torch.empty(self._layout.dimension, dtype=self._layout.dtype, device=device)

    def __repr__(self) -> str:
        """Describe the posterior."""
        return (
            f"WeightPosterior({type(unwrap(self.model)).__name__} with {self._layout.dimension} "
            f"weights, {self.estimator!r}, updates={self.updates})"
        )

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
        self._statistics.observe(self.model)
        try:
            self.estimator.partial_fit(self._row[None])
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
            The estimate, which later updates do not change. Its arrays are tensors if the estimator
            accepts them; ``gaussian().to_numpy()`` has arrays of NumPy.

        Raises
        ------
        TooFewUpdates
            If there were fewer updates than the estimator has factors, or none.
        """
        K = getattr(self.estimator, "n_components", 0)
        self._check_updates(int(K) if isinstance(K, Integral) else 1)
        return self.estimator.gaussian()

    def log_prob(self, model: nn.Module | None = None) -> float:
        """Compute the log density of the weights of a network.

        Parameters
        ----------
        model : torch.nn.Module or None, default=None
            A network with the same parameters; None for the present weights of `self.model`.

        Returns
        -------
        log_density : float
            The log density.

        Raises
        ------
        NoDensity
            If the noise of some weight is zero.
        """
        row = torch.empty_like(self._row)
        self._layout.read(self.model if model is None else model, row)
        gaussian = self.gaussian().to_numpy()  # in float64
        return float(gaussian.log_prob(row.double().cpu().numpy()[None])[0])

    def sample(
        self, random_state: Random = None, batches: Batches = None, *, scale: float = 1.0
    ) -> nn.Module:
        """Draw a network.

        Parameters
        ----------
        random_state : int, numpy.random.Generator, torch.Generator or None, default=None
            Seed, or the generator to draw from.
        batches : iterable or None, default=None
            Training inputs, needed if the model has batch normalisation that is trained.
        scale : float, default=1.0
            Factor of the covariance of the weights.

        Returns
        -------
        network : torch.nn.Module
            A new network in evaluation mode, a copy of the model inside of any wrapper.
        """
        row = self._draw_row(self.gaussian(), make_generator(random_state), scale)
        return self._copy_model(self._make_tensors(row, batches))

    def average(self, batches: Batches = None) -> nn.Module:
        """Create a network with the mean of the trajectory as its weights (SWA).

        Parameters
        ----------
        batches : iterable or None, default=None
            Training inputs, needed if the model has batch normalisation that is trained.

        Returns
        -------
        network : torch.nn.Module
            A new network in evaluation mode, a copy of the model inside of any wrapper.
        """
        self._check_updates(1)
        mean = self.estimator.mean_
        row = mean if isinstance(mean, Tensor) else torch.tensor(mean)
        return self._copy_model(self._make_tensors(row, batches))

    def _draw_outputs(self, draws: Draws) -> Iterator[Tensor]:
        gaussian, model = self.gaussian(), unwrap(self.model)
        for _ in range(draws.samples):
            row = self._draw_row(gaussian, draws.random, draws.scale)
            tensors = self._make_tensors(row, draws.batches)
            with torch.no_grad(), evaluation(model):
                output = torch.cat(
                    [
                        get_tensor(functional_call(model, tensors, *arguments))
                        for arguments in iterate_inputs(draws.inputs, get_device(model))
                    ]
                )
            yield output

    def _draw_row(
        self, gaussian: LowRankGaussian, random: np.random.Generator, scale: float
    ) -> Tensor:
        row = gaussian.sample(1, random)[0]
        if scale != 1:
            row = gaussian.mean + math.sqrt(scale) * (row - gaussian.mean)
        return torch.as_tensor(row)

    def _make_tensors(self, row: Tensor, batches: Batches) -> dict[str, Tensor]:
        """Return the weights of a vector and the running statistics that fit them, by name."""
        model = unwrap(self.model)
        tensors = self._layout.split(row, self.model)
        layers = self._statistics.find(model)
        if not layers:
            return tensors
        if batches is None:
            raise ValueError(
                "the model has batch normalisation, whose statistics fit its own weights only: "
                "pass batches=, training inputs to collect them anew for every network"
            )

        def forward(buffers: dict[str, Tensor], batch: Any) -> None:
            functional_call(model, tensors | buffers, *batch_arguments(batch, get_device(model)))

        with torch.no_grad():
            return tensors | collect_statistics(model, layers, forward, batches)

    def _copy_model(self, tensors: Mapping[str, Tensor]) -> nn.Module:
        try:
            network = copy.deepcopy(unwrap(self.model)).eval()
        except Exception as error:
            raise ValueError(f"the model cannot be copied, use predict(): {error}") from error
        own = dict(network.named_parameters()) | dict(network.named_buffers())
        for name, tensor in tensors.items():
            own[name].detach().copy_(tensor)
        return network

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
        return {
            "parameters": self._layout.to_lists(),
            "statistics": sorted(self._statistics.find(self.model)),
            "estimator": _to_tensors(save(self.estimator)),
        }

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
        if state.keys() != {"parameters", "statistics", "estimator"}:
            raise CannotRestore("this is not the state_dict of a WeightPosterior")
        self._layout.check_saved(state["parameters"])
        like = self._row if self.estimator.accepts_tensors else None
        restore(self.estimator, _to_arrays(state["estimator"]), like=like)
        self._statistics.trained = set(state["statistics"])


def _check_arguments(model: object, estimator: object) -> None:
    if isinstance(model, FactorEstimator) and isinstance(estimator, nn.Module):
        raise TypeError("model and estimator are swapped: WeightPosterior(model, estimator)")
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is a {type(model).__name__}, not a torch.nn.Module")
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"estimator is the class {name}: pass an instance, for example {name}()")
    if not isinstance(estimator, FactorEstimator):
        raise TypeError(f"estimator is a {type(estimator).__name__}, not one of this package")


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
