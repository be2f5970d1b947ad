"""Base class of posteriors over the functions of a network."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from onlinefa.torch._inputs import check_repeatable

__all__ = ["Batches", "Inputs", "Moments", "Posterior", "Random"]

Random = int | np.random.Generator | torch.Generator | None
Batches = Iterable[Any] | None
Inputs = Tensor | tuple[Any, ...] | Mapping[str, Any] | Iterable[Any]


class Moments(NamedTuple):
    """Mean and variance of the outputs of sampled networks.

    Attributes
    ----------
    mean : torch.Tensor of shape (N, ...)
        Mean of each output.
    variance : torch.Tensor of shape (N, ...)
        Variance of each output.
    """

    mean: Tensor
    variance: Tensor


@dataclass(frozen=True)
class Draws:
    """A request for the outputs of sampled networks.

    Attributes
    ----------
    inputs : torch.Tensor, tuple, mapping or iterable of batches
        Inputs of the networks.
    samples : int
        Number of networks.
    random : numpy.random.Generator
        The generator to draw from.
    batches : iterable or None
        Training inputs for batch normalisation.
    scale : float
        Factor of the covariance.
    """

    inputs: Inputs
    samples: int
    random: np.random.Generator
    batches: Batches
    scale: float


class Posterior(ABC):
    """Base class for distributions over networks, with predictions from sampled networks.

    `inputs` of predictions are a tensor, a tuple (several arguments of the network), a mapping
    (keyword arguments), or an iterable of batches such as a DataLoader. Of a batch that is a list
    or tuple, the first item is the input. Tensors are moved to the device of the network. A network
    may return a tensor, or an object with a tensor `logits`, as those of Hugging Face do.
    """

    @abstractmethod
    def _draw_outputs(self, draws: Draws) -> Iterator[Tensor]:
        """Yield the outputs, of shape (N, ...), of each of some sampled networks."""

    def predict(
        self,
        inputs: Inputs,
        samples: int = 100,
        random_state: Random = None,
        batches: Batches = None,
        *,
        scale: float = 1.0,
    ) -> Tensor:
        """Compute the outputs of sampled networks, without gradients.

        Parameters
        ----------
        inputs : torch.Tensor, tuple, mapping or iterable of batches
            Inputs of the network, with N rows in total.
        samples : int, default=100
            Number of networks.
        random_state : int, numpy.random.Generator, torch.Generator or None, default=None
            Seed, or the generator to draw from.
        batches : iterable or None, default=None
            Training inputs, needed if the model has batch normalisation that is trained.
        scale : float, default=1.0
            Factor of the covariance of the weights.

        Returns
        -------
        outputs : torch.Tensor of shape (samples, N, ...)
            Output of each network.
        """
        outputs: Tensor | None = None
        drawn = self._iterate(inputs, samples, random_state, batches, scale)
        for number, output in enumerate(drawn):
            if outputs is None:
                outputs = output.new_empty((samples, *output.shape))
            outputs[number] = output
        assert outputs is not None
        return outputs

    def predict_proba(
        self,
        inputs: Inputs,
        samples: int = 100,
        random_state: Random = None,
        batches: Batches = None,
        *,
        scale: float = 1.0,
    ) -> Tensor:
        """Compute probabilities of classes, averaged over sampled networks.

        The outputs of the network are logits of shape (N, C, ...) for C classes. If there is only
        one, it is the logit of the second of two classes. The outputs of one network at a time are
        stored.

        Parameters
        ----------
        inputs, samples, random_state, batches, scale
            As in `predict`.

        Returns
        -------
        probabilities : torch.Tensor of shape (N, C, ...)
            Probability of each class, in float32 or float64.
        """
        total: Tensor | None = None
        for output in self._iterate(inputs, samples, random_state, batches, scale):
            probabilities = _to_probabilities(_promote(output))
            total = probabilities if total is None else total + probabilities
        assert total is not None
        return total / samples

    def predict_moments(
        self,
        inputs: Inputs,
        samples: int = 100,
        random_state: Random = None,
        batches: Batches = None,
        *,
        scale: float = 1.0,
    ) -> Moments:
        """Compute mean and variance of the outputs of sampled networks.

        The variance does not include the noise of observations. The outputs of one network at a
        time are stored.

        Parameters
        ----------
        inputs, samples, random_state, batches, scale
            As in `predict`.

        Returns
        -------
        moments : Moments
            Mean and variance of each output, of shape (N, ...), in float32 or float64.
        """
        mean: Tensor | None = None
        squares: Tensor | None = None
        drawn = self._iterate(inputs, samples, random_state, batches, scale)
        for number, output in enumerate(map(_promote, drawn), start=1):  # Welford's recursion
            if mean is None or squares is None:
                mean, squares = output.clone(), torch.zeros_like(output)
                continue
            deviation = output - mean
            mean = mean + deviation / number
            squares = squares + deviation * (output - mean)
        assert mean is not None
        assert squares is not None
        return Moments(mean, squares / samples)

    def _iterate(
        self, inputs: Inputs, samples: int, random_state: Random, batches: Batches, scale: float
    ) -> Iterator[Tensor]:
        if samples < 1:
            raise ValueError(f"samples={samples} must be at least 1")
        if not scale >= 0:
            raise ValueError(f"scale={scale} must not be negative")
        check_repeatable(inputs)
        random = make_generator(random_state)
        return self._draw_outputs(Draws(inputs, samples, random, batches, scale))


def make_generator(random_state: Random) -> np.random.Generator:
    """Return a generator for a seed or a generator of either library."""
    if isinstance(random_state, torch.Generator):
        seed = torch.randint(
            2**62, (1,), generator=random_state, device=random_state.device, dtype=torch.int64
        )
        return np.random.default_rng(int(seed))
    return np.random.default_rng(random_state)


def get_tensor(output: Any) -> Tensor:
    """Return the tensor of a network's output."""
    tensor = output if isinstance(output, Tensor) else getattr(output, "logits", None)
    if not isinstance(tensor, Tensor):
        kind = type(output).__name__
        raise TypeError(f"the network's output is a {kind}: neither a tensor nor with logits")
    return tensor


def _promote(output: Tensor) -> Tensor:
    """Convert half precision, in which sums over networks would lose their digits."""
    return output.to(torch.promote_types(output.dtype, torch.float32))


def _to_probabilities(output: Tensor) -> Tensor:
    if output.ndim == 1:
        output = output[:, None]
    if output.shape[1] == 1:
        second = torch.sigmoid(output)
        return torch.cat([1 - second, second], dim=1)
    return torch.softmax(output, dim=1)
