"""How algorithms and metrics are named and drawn: one place, so that every figure agrees.

Colours are those of Okabe and Ito, which remain distinct to colour-blind readers; markers differ
as well. An algorithm without an entry gets one of what is left, always the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

from onlinefa import estimators


@dataclass(frozen=True)
class Look:
    label: str
    colour: str
    marker: str
    line: str = "-"


_LOOKS = {
    # The thesis draws these three in blue, orange and green.
    "batch_svd": Look("batch SVD", "#0072B2", "o"),
    "online_em": Look("online EM", "#E69F00", "s"),
    "online_sga": Look("online SGA", "#009E73", "^"),
    "batch_ml": Look("maximum likelihood", "#000000", "D"),
    "diagonal": Look("diagonal control", "#7F7F7F", "x", "--"),
}
_SPARE = [(colour, marker) for marker in "vP*X" for colour in ("#CC79A7", "#56B4E9", "#D55E00")]


def look(algorithm: str) -> Look:
    if algorithm in _LOOKS:
        return _LOOKS[algorithm]
    others = [name for name in estimators.names() if name not in _LOOKS]
    position = others.index(algorithm) if algorithm in others else len(others)
    colour, marker = _SPARE[position % len(_SPARE)]
    return Look(algorithm.replace("_", " "), colour, marker)


def in_order(algorithms: list[str]) -> list[str]:
    """The known ones as listed here, then the others by name."""
    known = list(_LOOKS)
    return sorted(algorithms, key=lambda a: (known.index(a) if a in known else len(known), a))


def bounds(spectrum: str) -> tuple[int, int]:
    """Low and high of a spectrum's name, such as 1-100."""
    low, high = spectrum.split("-")
    return int(low), int(high)


def over_seeds(number: int) -> str:
    """What a value with an error bar is."""
    return f"mean and standard error over {number} seeds" if number > 1 else "one seed"


@dataclass(frozen=True)
class Metric:
    label: str
    higher_is_better: bool = False


METRICS = {
    "relative_frobenius": Metric("relative Frobenius distance of covariances"),
    "relative_frobenius_off_diagonal": Metric("relative Frobenius distance, off-diagonal"),
    "relative_mean_distance": Metric("relative distance of means"),
    "wasserstein2": Metric("2-Wasserstein distance (units of the data)"),
    "wasserstein2_per_dimension": Metric("2-Wasserstein distance / D (units of the data)"),
    "kl_truth_estimate": Metric("KL(truth || estimate) (nats)"),
    "kl_estimate_truth": Metric("KL(estimate || truth) (nats)"),
    "held_out_log_likelihood": Metric("held-out log-likelihood (nats per sample)", True),
    "largest_principal_angle": Metric("largest principal angle (radians)"),
}
