"""Samples of the posterior of a network of finite width by NUTS, from NumPyro."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import sqrt
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from onlinefa_benchmark.arrays import Array
from onlinefa_benchmark.posteriors.base import Functions, Posterior, SampledFunctions, Task

if TYPE_CHECKING:
    from onlinefa_benchmark.models.network import NetworkPosterior

# Limits of the diagnostics at any input; beyond them, the chains are not a reference.
_MAX_R_HAT = 1.02
_MIN_SAMPLE_SIZE = 100

_XLA_FLAGS = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


class NUTS(Posterior):
    """Chains of NUTS from starts that are drawn from the prior.

    Units of a network can be permuted without changing its function, so that chains need not agree
    on weights. They must agree on functions: `r_hat` is the largest split R-hat of the function at
    any input, and `effective_sample_size` the smallest effective sample size. If either is beyond
    its limit, the functions are marked as not reliable.

    Chains are computed in single precision, the default of NumPyro: gradients take a sixth to a
    tenth of the time, because the error function is slow in double precision.

    Parameters
    ----------
    chains : int
        Number of chains.
    warm_up : int
        Number of warm-up steps of each chain.
    draws : int
        Number of networks that are drawn from each chain.
    tree_depth : int
        Maximum depth of the tree of a step.
    """

    needs: ClassVar[str | None] = "numpyro"
    trained: ClassVar[bool] = False
    reference: ClassVar[bool] = True
    on_gpu: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "chains": [Interval(Integral, 2, None, closed="left")],
        "warm_up": [Interval(Integral, 1, None, closed="left")],
        "draws": [Interval(Integral, 4, None, closed="left")],
        "tree_depth": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, *, chains: int = 2, warm_up: int = 300, draws: int = 300, tree_depth: int = 8
    ) -> None:
        self.chains = chains
        self.warm_up = warm_up
        self.draws = draws
        self.tree_depth = tree_depth

    def functions(self, task: Task) -> Functions:
        """Return the functions of all networks of all chains, with diagnostics."""
        # Set before JAX is imported: one thread, as everywhere, and no GPU.
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAGS}"
        import jax
        from numpyro import infer
        from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

        network, random = task.network, task.random("sampling")
        chains = infer.MCMC(
            infer.NUTS(potential_fn=_energy(network), max_tree_depth=self.tree_depth),
            num_warmup=self.warm_up,
            num_samples=self.draws,
            num_chains=self.chains,
            chain_method="sequential",
            progress_bar=False,
        )
        starts = random.standard_normal((self.chains, network.dimension))
        chains.run(jax.random.key(int(random.integers(2**31))), init_params=jax.numpy.array(starts))
        thetas = np.array(chains.get_samples(), dtype=np.float64)
        values = network.functions(thetas, task.inputs)
        by_chain = values.reshape(self.chains, self.draws, -1)
        r_hat = float(np.max(split_gelman_rubin(by_chain)))
        size = float(np.min(effective_sample_size(by_chain)))
        agree = r_hat <= _MAX_R_HAT and size >= _MIN_SAMPLE_SIZE
        return SampledFunctions(
            values,
            {"r_hat": r_hat, "effective_sample_size": size},
            "" if agree else f"R-hat is {r_hat:.3f}, the effective sample size {size:.0f}",
        )


def _energy(network: NetworkPosterior) -> Callable[[Any], Any]:
    """Return `NetworkPosterior.energy` as a function that JAX can differentiate."""
    import jax.numpy as jnp
    from jax.scipy.special import erf

    from onlinefa_benchmark.models.likelihoods import Gaussian

    X, y = (np.asarray(values, dtype=np.float32) for values in (network.X, network.y))
    prior, H, p = network.prior, network.width, network.X.shape[1]
    assert isinstance(network.likelihood, Gaussian)
    noise = float(network.likelihood.noise)

    def energy(theta: Array) -> Any:
        hidden = erf(X @ (prior.sigma_w * theta[: H * p].reshape(H, p)).T)
        above = prior.omega / sqrt(H) * theta[H * p : -1]
        outputs = hidden @ above + prior.sigma_b * theta[-1]
        return jnp.sum((y - outputs) ** 2) / (2 * noise) + theta @ theta / 2

    return energy
