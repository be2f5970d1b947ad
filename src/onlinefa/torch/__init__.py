"""Posteriors over the weights of PyTorch networks, learned while the networks are trained."""

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = "onlinefa.torch needs PyTorch: pip install 'onlinefa[torch]'"
    raise ModuleNotFoundError(message, name="torch") from None

from onlinefa.torch._layout import NetworkChanged
from onlinefa.torch.laplace_fa import LaplaceFA, NotFitted
from onlinefa.torch.multi_posterior import MultiPosterior
from onlinefa.torch.posterior import Moments, Posterior
from onlinefa.torch.weight_posterior import TooFewUpdates, WeightPosterior

__all__ = [
    "LaplaceFA",
    "Moments",
    "MultiPosterior",
    "NetworkChanged",
    "NotFitted",
    "Posterior",
    "TooFewUpdates",
    "WeightPosterior",
]

del torch
