"""The Laplace approximation with Kronecker factors, of laplace-torch (Daxberger et al., 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from onlinefa_benchmark.posteriors.base import Functions, GaussianFunctions, Posterior, Task

if TYPE_CHECKING:
    from torch import Tensor, nn

    from onlinefa_benchmark.arrays import Array
    from onlinefa_benchmark.models.network import NetworkPosterior

_BATCH = 512  # rows that are processed at once


class LaplaceKron(Posterior):
    """A Gaussian of all weights whose Gauss-Newton matrix is a Kronecker product for each layer.

    The prior and the noise are those of the task. Predictions are linearised at the mode.
    """

    needs: ClassVar[str | None] = "laplace"
    one_output: ClassVar[bool] = True

    def functions(self, task: Task) -> Functions:
        """Return the Gaussian functions of the linearised network."""
        from onlinefa_benchmark.torchvision_operators import declare_missing_operators

        declare_missing_operators()  # laplace-torch imports torchvision
        import torch
        from laplace import KronLaplace
        from torch.utils.data import DataLoader, TensorDataset

        from onlinefa_benchmark.models.likelihoods import Gaussian

        network, likelihood = task.network, task.network.likelihood
        if not isinstance(likelihood, Gaussian):
            raise TypeError("Kronecker factors are implemented for Gaussian noise only")
        X, y = (values.float() for values in network.table)
        posterior = KronLaplace(
            make_module(network, task.mode),
            "regression",
            sigma_noise=float(likelihood.noise) ** 0.5,
            prior_precision=_list_precisions(network),
        )
        posterior.fit(DataLoader(TensorDataset(X, y[:, None]), batch_size=_BATCH))
        inputs = network.tensor(task.inputs).float()
        found = [posterior(part, pred_type="glm") for part in torch.split(inputs, _BATCH)]
        mean, variance = (torch.cat(parts).detach().double() for parts in zip(*found, strict=True))
        return GaussianFunctions(mean[:, 0].cpu().numpy(), np.sqrt(variance[:, 0, 0].cpu().numpy()))


def make_module(network: NetworkPosterior, theta: Array) -> nn.Module:
    """Return the network as a module, given its weights in units of the prior."""
    import torch
    from torch import nn

    class Activation(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return torch.erf(inputs) if network.activation == "erf" else torch.relu(inputs)

    p, H = network.X.shape[1], network.width
    below, above = nn.Linear(p, H, bias=False), nn.Linear(H, 1)
    weights = (network.scales * network.tensor(theta)).float()
    with torch.no_grad():
        below.weight.copy_(weights[: H * p].view(H, p))
        above.weight.copy_(weights[H * p : -1].view(1, H))
        above.bias.copy_(weights[-1:])
    return nn.Sequential(below, Activation(), above).to(network.device)


def _list_precisions(network: NetworkPosterior) -> Tensor:
    """Return the prior precisions of the weights of both layers and of the last bias."""
    scales, last = network.scales, network.last_layer
    return (scales[[0, last, -1]] ** -2).float()
