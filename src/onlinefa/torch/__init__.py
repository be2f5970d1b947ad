"""Posteriors over the weights of PyTorch networks, learned while the networks are trained."""

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = "onlinefa.torch needs PyTorch: pip install 'onlinefa[torch]'"
    raise ModuleNotFoundError(message, name="torch") from None

from onlinefa.torch._layout import NetworkChanged
from onlinefa.torch.weight_posterior import TooFewUpdates, WeightPosterior, predict_mixture

__all__ = ["NetworkChanged", "TooFewUpdates", "WeightPosterior", "predict_mixture"]

del torch
