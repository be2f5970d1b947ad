"""Evidence of Laplace's approximation: what it depends on, and the search for its maximum."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

# Limits of the search for precision and noise: without noise, the evidence is infinite.
_LOG_LIMITS = (math.log(1e-12), math.log(1e12))


@dataclass
class EvidenceStatistics:
    """What the evidence depends on, besides the information.

    Attributes
    ----------
    targets : float
        Number of targets.
    misfit : float
        Negative log-likelihood of the classes, or half of the sum of squared errors.
    """

    targets: float = 0.0
    misfit: float = 0.0


def maximise(function: Callable[..., float], start: Mapping[str, float]) -> dict[str, float]:
    """Maximise a function of positive numbers, in their logarithms."""
    if not start:
        return {}

    def negative(logs: Any) -> float:
        return -function(**dict(zip(start, np.exp(logs).tolist(), strict=True)))

    found = minimize(
        negative,
        np.log(list(start.values())),
        method="Nelder-Mead",
        bounds=[_LOG_LIMITS] * len(start),
        options={"xatol": 1e-3, "fatol": 1e-4},
    )
    return dict(zip(start, np.exp(found.x).tolist(), strict=True))
