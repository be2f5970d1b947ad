"""Laplace's approximation for any network, with a low-rank plus diagonal precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp

from onlinefa.information import InformationSketch
from onlinefa.precision import PrecisionGaussian
from onlinefa.serialization import CannotRestore
from onlinefa.torch._evidence import EvidenceStatistics, maximise
from onlinefa.torch._gradients import as_matrix, iterate_gradients
from onlinefa.torch._inputs import (
    Arguments,
    batch_arguments,
    get_device,
    iterate_inputs,
)
from onlinefa.torch._layout import ParameterLayout, Selection, unwrap
from onlinefa.torch._likelihoods import LIKELIHOODS
from onlinefa.torch._statistics import evaluation
from onlinefa.torch.posterior import (
    Draws,
    Posterior,
    Random,
    get_tensor,
    make_generator,
)

__all__ = ["LaplaceFA", "NotFitted"]

_STATE = {
    "likelihood",
    "parameters",
    "mode",
    "factors",
    "diagonal",
    "statistics",
    "prior_precision",
    "noise",
}


class NotFitted(ValueError):
    """Exception for a posterior whose method `fit` was not called."""


class LaplaceFA(Posterior):
    """Laplace's approximation of the posterior of a network's weights, in O(DK) memory.

    The posterior is Gaussian around the present weights, which should be a mode, such as those of a
    network that is trained with weight decay. Its precision is that of the prior plus the
    Gauss-Newton matrix of the data, which is approximated by K factors and a diagonal
    (`InformationSketch`). `fit` needs one pass over the data, with a gradient for each observation.

    Gradients are those of outputs with random signs, so that their second moment is the
    Gauss-Newton matrix: in expectation, and exactly for a network with one output. The network is
    in evaluation mode: running statistics do not change, and there is no dropout.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network. It is only read; its weights are copied by `fit`.
    likelihood : {"classification", "regression"}
        "classification": the outputs are logits of classes, of shape (N, C), or a single logit of
        the second of two classes. "regression": the targets are the outputs plus Gaussian noise.
    n_components : int, default=10
        Number of factors K.
    prior_precision : float or "evidence", default="evidence"
        Precision of the prior of each weight, whose mean is zero. With weight decay w and a loss
        that is an average over N observations, it is N w. "evidence" selects the value with the
        largest evidence (marginal likelihood). With few factors, the determinant of the precision
        and thereby the noise are overestimated.
    noise : float or "evidence", default="evidence"
        Variance of the noise of a regression; "evidence" selects it as well.
    parameters : str, torch.nn.Module, torch.nn.Parameter, iterable of these or None, default=None
        Parameters that the posterior covers, as in `WeightPosterior`.
    linearised : bool, default=True
        Whether predictions are those of the network linearised at the mode, to which the
        approximation belongs, or of the network itself with sampled weights.

    Attributes
    ----------
    prior_precision_ : float
        The precision of the prior.
    noise_ : float
        The variance of the noise; 1 for classification.

    Examples
    --------
    >>> import torch
    >>> from onlinefa.torch import LaplaceFA
    >>> X = torch.linspace(-1, 1, 40)[:, None]
    >>> y = X + 0.1 * torch.randn(40, 1, generator=torch.Generator().manual_seed(0))
    >>> model = torch.nn.Linear(1, 1)
    >>> optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    >>> for _ in range(100):
    ...     optimiser.zero_grad()
    ...     torch.mean((model(X) - y) ** 2).backward()
    ...     optimiser.step()
    >>> posterior = LaplaceFA(model, "regression", n_components=1).fit([(X, y)])
    >>> mean, variance = posterior.predict_moments(torch.tensor([[0.0], [9.0]]), random_state=0)
    >>> bool(variance[1] > 10 * variance[0])  # far away from the data
    True
    """

    def __init__(
        self,
        model: nn.Module,
        likelihood: Literal["classification", "regression"],
        n_components: int = 10,
        *,
        prior_precision: float | Literal["evidence"] = "evidence",
        noise: float | Literal["evidence"] = "evidence",
        parameters: Selection = None,
        linearised: bool = True,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise TypeError(f"model is a {type(model).__name__}, not a torch.nn.Module")
        if likelihood not in LIKELIHOODS:
            raise ValueError(f"likelihood={likelihood!r} must be 'classification' or 'regression'")
        _check_positive("prior_precision", prior_precision)
        _check_positive("noise", noise)
        self.model = model
        self.likelihood = likelihood
        self.n_components = n_components
        self.prior_precision = prior_precision
        self.noise = noise
        self.linearised = linearised
        self._likelihood = LIKELIHOODS[likelihood]
        self._layout = ParameterLayout(model, parameters)
        self._mode: Tensor | None = None
        self._factors = self._diagonal = torch.empty(0)
        self._statistics = EvidenceStatistics()
        self.prior_precision_ = self.noise_ = math.nan

    def __repr__(self) -> str:
        """Describe the posterior."""
        state = "not fitted"
        if self._mode is not None:
            state = f"prior_precision={self.prior_precision_:.3g}, noise={self.noise_:.3g}"
        return (
            f"LaplaceFA({type(unwrap(self.model)).__name__} with {self._layout.dimension} weights, "
            f"{self.likelihood}, n_components={self.n_components}, {state})"
        )

    # -- learning ------------------------------------------------------------------------------

    def fit(
        self, batches: Iterable[Any], *, random_state: Random = None, chunk_size: int = 32
    ) -> LaplaceFA:
        """Learn the posterior around the present weights, by one pass over the training data.

        Parameters
        ----------
        batches : iterable of (inputs, targets)
            The training data, for example a DataLoader. `inputs` is a tensor, a tuple or a mapping,
            as in `predict`; `targets` are classes, or the targets of a regression.
        random_state : int, numpy.random.Generator, torch.Generator or None, default=None
            Source of the random signs.
        chunk_size : int, default=32
            Number of observations whose gradients are stored at once.

        Returns
        -------
        self : LaplaceFA
            The posterior.
        """
        if chunk_size < 1:
            raise ValueError(f"chunk_size={chunk_size} must be at least 1")
        random = make_generator(random_state)
        model = unwrap(self.model)
        mode = torch.empty(
            self._layout.dimension, dtype=self._layout.dtype, device=self._layout.device
        )
        self._layout.read(self.model, mode)
        self._layout.check_finite(mode)
        sketch = InformationSketch(min(self.n_components, self._layout.dimension))
        statistics = EvidenceStatistics()
        with evaluation(model):
            for batch in batches:
                arguments, targets = _split_batch(batch, get_device(model))
                with torch.no_grad():
                    outputs = as_matrix(self._call(self._layout.split(mode, model), arguments))
                statistics.misfit += self._likelihood.compute_misfit(outputs, targets)
                statistics.targets += self._likelihood.count_targets(targets)
                for rows in self._draw_gradients(mode, arguments, outputs, random, chunk_size):
                    sketch.absorb(rows)
        if sketch.count == 0:
            raise ValueError("batches has no batch")
        self._mode = mode
        self._factors, self._diagonal = sketch.factors, sketch.diagonal
        self._statistics = statistics
        self._choose_precision()
        return self

    def _call(self, tensors: Mapping[str, Tensor], arguments: Arguments) -> Tensor:
        return get_tensor(functional_call(unwrap(self.model), dict(tensors), *arguments))

    def _draw_gradients(
        self,
        mode: Tensor,
        arguments: Arguments,
        outputs: Tensor,
        random: np.random.Generator,
        chunk_size: int,
    ) -> Iterator[Tensor]:
        """Yield a gradient for each observation, whose second moment is the information."""
        signs = torch.from_numpy(random.choice([-1.0, 1.0], size=tuple(outputs.shape)))
        directions = self._likelihood.multiply_root(outputs, signs.to(outputs)).to(mode.dtype)
        weights = self._layout.split(mode, unwrap(self.model))
        yield from iterate_gradients(self._call, weights, arguments, directions, chunk_size)

    # -- the evidence --------------------------------------------------------------------------

    def log_evidence(self, prior_precision: float, noise: float = 1.0) -> float:
        """Compute Laplace's approximation of the log marginal likelihood of the training data.

        The mode is taken as given: it is not trained again with this prior.

        Parameters
        ----------
        prior_precision : float
            Precision of the prior.
        noise : float, default=1.0
            Variance of the noise of a regression.

        Returns
        -------
        log_evidence : float
            The log evidence.
        """
        mode, statistics = self._check_fitted().double(), self._statistics
        log_likelihood = self._likelihood.compute_log_likelihood(
            statistics.misfit, statistics.targets, noise
        )
        # The factors (2 pi)^(D/2) of the prior and of the posterior cancel.
        square = float(mode @ mode)
        log_prior = (len(mode) * math.log(prior_precision) - prior_precision * square) / 2
        log_determinant = self._make_gaussian(prior_precision, noise).log_determinant
        return log_likelihood + log_prior - log_determinant / 2

    def _choose_precision(self) -> None:
        """Set prior precision and noise, those with the largest evidence where not given."""
        has_noise = self._likelihood.has_noise
        start: dict[str, float] = {}
        if self.prior_precision == "evidence":
            start["prior_precision"] = 1.0
        if has_noise and self.noise == "evidence":
            mean_square = 2 * self._statistics.misfit / self._statistics.targets
            start["noise"] = max(mean_square, 1e-12)
        given = {
            "prior_precision": self.prior_precision,
            "noise": self.noise if has_noise else 1.0,
        }
        found = maximise(lambda **values: self.log_evidence(**{**given, **values}), start)
        chosen = {**given, **found}
        self.prior_precision_ = float(chosen["prior_precision"])
        self.noise_ = float(chosen["noise"])

    def choose_prior_precision(
        self,
        batches: Iterable[Any],
        candidates: Iterable[float] | None = None,
        *,
        samples: int = 30,
        random_state: Random = 0,
    ) -> LaplaceFA:
        """Set the precision of the prior to the one that predicts held-out data best.

        For large networks and few observations, the prior with the largest evidence is often so
        wide that predictions are too uncertain. The noise is not changed.

        Parameters
        ----------
        batches : iterable of (inputs, targets)
            Data that the network was not trained with.
        candidates : iterable of float or None, default=None
            Precisions to compare; None for 15 values from 0.01 to 100,000.
        samples : int, default=30
            Number of networks of each prediction.
        random_state : int, numpy.random.Generator, torch.Generator or None, default=0
            Seed. The same random numbers are used for all candidates if it is an int.

        Returns
        -------
        self : LaplaceFA
            The posterior with this prior.
        """
        self._check_fitted()
        data = list(batches)
        if not data:
            raise ValueError("batches has no batch")
        values = list(np.logspace(-2, 5, 15) if candidates is None else candidates)
        if not values or not all(_is_positive(value) for value in values):
            raise ValueError(f"candidates={values} must be positive numbers")
        before, scores = self.prior_precision_, {}
        try:
            for value in values:
                self.prior_precision_ = float(value)
                scores[self.prior_precision_] = self._score(data, samples, random_state)
        except BaseException:
            self.prior_precision_ = before
            raise
        self.prior_precision_ = max(scores, key=scores.__getitem__)
        return self

    def _score(self, batches: list[Any], samples: int, random_state: Random) -> float:
        """Compute the log-likelihood of held-out data."""
        targets = torch.cat([_split_batch(batch, torch.device("cpu"))[1] for batch in batches])
        outputs = self.predict(batches, samples, random_state)
        outputs = outputs.reshape(*outputs.shape[:2], -1)
        return self._likelihood.score_predictions(outputs, targets, self.noise_)

    # -- results -------------------------------------------------------------------------------

    def gaussian(self) -> PrecisionGaussian:
        """Return the distribution of all weights, one parameter after the other.

        Returns
        -------
        gaussian : PrecisionGaussian
            The posterior, with tensors.
        """
        self._check_fitted()
        return self._make_gaussian(self.prior_precision_, self.noise_)

    def _make_gaussian(self, prior_precision: float, noise: float) -> PrecisionGaussian:
        mode: Any = self._check_fitted()
        factors: Any = self._factors / math.sqrt(noise)
        diagonal: Any = prior_precision + self._diagonal / noise
        return PrecisionGaussian(mode, factors, diagonal)

    def _draw_outputs(self, draws: Draws) -> Iterator[Tensor]:
        mode, gaussian, model = self._check_fitted(), self.gaussian(), unwrap(self.model)
        centre = self._layout.split(mode, model)
        for _ in range(draws.samples):
            move = math.sqrt(draws.scale) * (gaussian.sample(1, draws.random)[0] - mode)
            predict = self._make_prediction(centre, self._layout.split(move, model))
            with torch.no_grad(), evaluation(model):
                output = torch.cat(
                    [predict(a) for a in iterate_inputs(draws.inputs, get_device(model))]
                )
            yield output

    def _make_prediction(
        self, centre: dict[str, Tensor], move: dict[str, Tensor]
    ) -> Callable[[Arguments], Tensor]:
        """Return the function of a network that is moved away from the mode, or linearised."""
        if not self.linearised:
            moved = {name: value + move[name] for name, value in centre.items()}
            return lambda arguments: self._call(moved, arguments)

        def predict(arguments: Arguments) -> Tensor:
            moved: Any = jvp(lambda weights: self._call(weights, arguments), (centre,), (move,))
            value, change = moved
            return value + change

        return predict

    def _check_fitted(self) -> Tensor:
        if self._mode is None:
            raise NotFitted("the posterior is not fitted: call fit() with the training data")
        return self._mode

    # -- saving --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, for `torch.save`.

        Returns
        -------
        state : dict
            Tensors, numbers and lists, which `torch.load` reads with ``weights_only=True``.
        """
        return {
            "likelihood": self.likelihood,
            "parameters": self._layout.to_lists(),
            "mode": self._check_fitted(),
            "factors": self._factors,
            "diagonal": self._diagonal,
            "statistics": [self._statistics.targets, self._statistics.misfit],
            "prior_precision": self.prior_precision_,
            "noise": self.noise_,
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
            If the state belongs to another network.
        """
        if state.keys() != _STATE:
            raise CannotRestore("this is not the state_dict of a LaplaceFA")
        self._layout.check_saved(state["parameters"])
        if state["likelihood"] != self.likelihood:
            raise CannotRestore(f"the state is that of a {state['likelihood']}")
        if (saved := state["factors"].shape[1]) > self.n_components:
            raise CannotRestore(f"the state has {saved} factors, more than {self.n_components}")
        device = self._layout.device
        self._mode = state["mode"].to(device)
        self._factors, self._diagonal = (state[key].to(device) for key in ("factors", "diagonal"))
        self._statistics = EvidenceStatistics(*state["statistics"])
        self.prior_precision_, self.noise_ = state["prior_precision"], state["noise"]


def _is_positive(value: Any) -> bool:
    return isinstance(value, Real) and 0 < float(value) < math.inf


def _check_positive(name: str, value: Any) -> None:
    if not isinstance(value, str) and _is_positive(value):
        return
    if value != "evidence":
        raise ValueError(f"{name}={value!r} must be positive or 'evidence'")


def _split_batch(batch: Any, device: torch.device) -> tuple[Arguments, Tensor]:
    if not isinstance(batch, list | tuple) or len(batch) != 2 or not isinstance(batch[1], Tensor):
        raise TypeError("every batch must be a pair of inputs and a tensor of targets")
    return batch_arguments(batch, device), batch[1]
