"""How algorithms and metrics are named and drawn: one place, so that every figure agrees.

Colours are those of Okabe and Ito, which remain distinct to colour-blind readers; markers differ
as well. An algorithm without an entry gets one of what is left, always the same one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


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
    "diagonal": Look("diagonal control", "#7F7F7F", "X", "--"),
    "recursive_em": Look("recursive EM", "#D55E00", "P"),
    "recursive_em_auto": Look("recursive EM, K chosen", "#332288", "h"),
    "recursive_em_forgetting": Look("recursive EM, forgetting", "#332288", ">"),
    "shrunk_em": Look("shrunk EM", "#56B4E9", "*"),
    "stepwise_em": Look("stepwise EM", "#882255", "X"),
    "preconditioned_sga": Look("preconditioned SGA", "#44AA99", "<"),
    "incremental_pca": Look("incremental PCA", "#999933", "p"),
    "swag": Look("SWAG", "#CC79A7", "v"),
    "swag_diagonal": Look("SWAG-diagonal", "#7F7F7F", "x", "--"),
    "map": Look("MAP", "#AA4499", ">"),
    "ensemble": Look("deep ensemble", "#117733", "d"),
    "laplace": Look("Laplace, last layer", "#DDCC77", "H"),
    "laplace_all": Look("Laplace, all weights", "#661100", "8"),
    "laplace_diagonal": Look("Laplace, diagonal", "#6699CC", "8"),
    "swa": Look("SWA", "#999933", "<"),
    "multiswag": Look("MultiSWAG", "#AA0055", "v"),
    "multi_online_em": Look("multi-FA, online EM", "#B87A00", "s"),
    "multi_fa": Look("multi-FA, recursive EM", "#8A3A00", "P"),
    "mean_field": Look("mean field", "#332288", "x"),
    "vifa": Look("VIFA", "#44AA99", "*"),
    "nuts": Look("NUTS", "#000000", "h", ":"),
    "gaussian_process": Look("Gaussian process", "#000000", "*", ":"),
    "nystrom": Look("Nystrom", "#0072B2", "d"),
    "random_features": Look("random units", "#E69F00", "v"),
    "fourier_features": Look("random Fourier features", "#009E73", "p"),
}
# Approximations of the process itself, with as many features as a network has units.
FEATURES = ("nystrom", "random_features", "fourier_features")
# What others are held against: none of these can be the best of them.
REFERENCES = ("gaussian_process", "nuts", *FEATURES)
_SPARE = [
    (colour, marker)
    for marker in "dH8v^s"
    for colour in ("#AA4499", "#DDCC77", "#661100", "#117733", "#6699CC")
    if not any((colour, marker) == (taken.colour, taken.marker) for taken in _LOOKS.values())
]


def look(algorithm: str) -> Look:
    if algorithm in _LOOKS:
        return _LOOKS[algorithm]
    colour, marker = _SPARE[crc32(algorithm.encode()) % len(_SPARE)]
    return Look(algorithm.replace("_", " "), colour, marker)


def in_order(algorithms: list[str]) -> list[str]:
    """The known ones as listed here, then the others by name."""
    return sorted(algorithms, key=lambda algorithm: position("algorithm", algorithm))


EXPERIMENTS = {
    "synthetic": "Chapter 5: synthetic factor models",
    "eigenvalues": "Beyond: eigenvalues that are set",
    "components": "Beyond: the number of factors",
    "scale": "Beyond: other units",
    "change": "Beyond: a model that changes",
    "linear": "Chapter 6: linear regression",
    "plane": "Chapter 6: two weights",
    "gp": "Chapter 7: networks and the Gaussian process",
    "network": "Networks on tables",
    "digits": "Networks on digits",
}
# What a table's lines and a figure's panels are told apart by, in order.
_SETTINGS = {
    "synthetic": ["D", "K", "spectrum"],
    "eigenvalues": ["D", "K", "spectrum"],
    "components": ["D", "K", "spectrum"],
    "scale": ["D", "K", "spectrum", "scale"],
    "change": ["D", "K", "spectrum"],
    "linear": ["walk", "dataset", "K"],
    "plane": ["walk"],
    "gp": ["dataset", "width"],
    "network": ["dataset"],
    "digits": ["dataset"],
}
# What a table has a column for each of, where that is not the algorithm: there are more of those.
_COLUMNS = {"gp": "width", "network": "dataset", "digits": "dataset"}
_ASKED = {
    "gp": "at inputs that were not learned from",
    "network": "of networks that were trained on nine tenths of a table",
    "digits": "of networks that were trained on four fifths of the images",
}
_WALKS = {
    "reshuffled": "reshuffled",
    "replacement": "with replacement",
    "reshuffled_averaged": "reshuffled, averaged",
    "replacement_averaged": "with replacement, averaged",
}


def called(experiment: str, key: str) -> str:
    """What readers know a setting as."""
    if experiment == "plane" and key == "walk":
        return "learning rate"
    return {"walk": "walk of SGD", "width": "hidden units"}.get(key, key)


def settings_of(rows: pd.DataFrame) -> list[str]:
    """The columns that tell the settings of an experiment apart."""
    return _SETTINGS[rows["experiment"].iloc[0]]


def columns_of(rows: pd.DataFrame) -> str:
    """What a table has a column for each of."""
    return _COLUMNS.get(rows["experiment"].iloc[0], "algorithm")


def at_step(rows: pd.DataFrame) -> str:
    """When the last measurement was made, as the experiment counts."""
    experiment = rows["experiment"].iloc[0]
    if experiment in _ASKED:
        return _ASKED[experiment]
    step = f"{rows['step'].max():,}"
    return f"after {step} epochs" if "walk" in settings_of(rows) else f"at T = {step}"


def spelled(key: str, value: Any) -> str:
    """A setting's value as readers see it."""
    if key == "spectrum":
        low, high = bounds(value)
        return f"[{low}, {high}]"
    if key == "scale":
        return f"{value:g}"
    if key == "algorithm":
        return look(value).label
    if key == "dataset":
        return str(value).replace("_", " ")
    return _WALKS.get(value, str(value)) if key == "walk" else str(value)


def position(key: str, value: Any) -> Any:
    """By what the values of a setting are sorted."""
    if key == "spectrum":
        return bounds(value)
    if key == "algorithm":
        listed = list(_LOOKS)
        return (listed.index(value) if value in listed else len(listed), value)
    known = list(_WALKS)
    return (known.index(value) if value in known else -1, value) if key == "walk" else value


def in_reading_order(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Sorted by what these columns hold, one after the other, as readers expect it."""
    places = zip(*[[position(key, value) for value in rows[key]] for key in keys], strict=True)
    order = [place for place, _ in sorted(enumerate(places), key=lambda item: item[1])]
    return rows.iloc[order].reset_index(drop=True)


def bounds(spectrum: str) -> tuple[int, int]:
    """Low and high of a spectrum's name, such as 1-100."""
    low, high = spectrum.split("-")
    return int(low), int(high)


def seeds_of_settings(rows: pd.DataFrame, tried: str = "seeds") -> tuple[int, int]:
    """The fewest and the most seeds of a setting, which has those of its algorithm with the most.

    Who is limited to fewer is told apart by who writes the value down.
    """
    numbers = rows.groupby(settings_of(rows), dropna=False)[tried].max()
    numbers = numbers[numbers > 0]
    return (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)


def from_to(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"


def over_seeds(
    rows: pd.DataFrame, what: str = "mean and standard error", tried: str = "seeds"
) -> str:
    """What a value is, and an error bar, if it has one."""
    least, most = seeds_of_settings(rows, tried)
    return f"{what} over {from_to(least, most)} seeds" if most > 1 else "one seed"


@dataclass(frozen=True)
class Metric:
    label: str
    best: Literal["lower", "higher", "one"] | float = "lower"
    """A number is what the value should be."""

    def loss(self, values: pd.Series) -> pd.Series:
        """What is the lower the better."""
        if self.best == "one":  # half is as bad as twice, and nothing cannot be the best
            return np.log(values.where(values > 0)).abs()
        if isinstance(self.best, float):
            return (values - self.best).abs()
        return -values if self.best == "higher" else values

    @property
    def better(self) -> str:
        best = self.best
        return f"{best} is better" if best in ("lower", "higher") else f"{best} is best"


METRICS = {
    "relative_frobenius": Metric("relative Frobenius distance of covariances"),
    "relative_frobenius_off_diagonal": Metric("relative Frobenius distance, off-diagonal"),
    "relative_mean_distance": Metric("relative distance of means"),
    "wasserstein2": Metric("2-Wasserstein distance"),
    "wasserstein2_per_dimension": Metric("2-Wasserstein distance / D"),
    "kl_truth_estimate": Metric("KL(truth || estimate) (nats)"),
    "kl_estimate_truth": Metric("KL(estimate || truth) (nats)"),
    "held_out_log_likelihood": Metric("held-out log-likelihood (nats per sample)", "higher"),
    "components_off": Metric("chosen number of factors, distance from the true one"),
    "components_right": Metric("share of seeds with the right number of factors", "higher"),
    "largest_principal_angle": Metric("largest principal angle (radians)"),
    "function_wasserstein2": Metric("2-Wasserstein distance of f* (GP standard deviations)"),
    "mean_error": Metric("error of the mean of f* (GP standard deviations)"),
    "sd_ratio": Metric("standard deviation of f* over the GP's", "one"),
    "test_log_likelihood": Metric("test log-likelihood (nats per point)", "higher"),
    "test_rmse": Metric("test root mean squared error (units of y)"),
    "test_nll": Metric("test negative log-likelihood (nats per point)"),
    "test_crps": Metric("test CRPS (units of y)"),
    "coverage_50": Metric("coverage of 50 % intervals", 0.5),
    "coverage_90": Metric("coverage of 90 % intervals", 0.9),
    "coverage_95": Metric("coverage of 95 % intervals", 0.95),
    "accuracy": Metric("accuracy", "higher"),
    "class_nll": Metric("test negative log-likelihood (nats per image)"),
    "calibration_error": Metric("expected calibration error"),
    "rotated_auroc": Metric("detection of turned images (area under the ROC curve)", "higher"),
}


def losses(rows: pd.DataFrame) -> pd.Series:
    """What is the lower the better, for rows of known metrics."""
    by_metric = rows["value"].groupby(rows["metric"])
    loss: pd.Series = by_metric.transform(lambda values: METRICS[str(values.name)].loss(values))
    return loss


def title_of_figure(name: str) -> str:
    """Figure 5.1 for figure_5_1; of a picture of one dataset, its name as well."""
    words = re.sub(r"^(figure|table)_(\d)_(\d)_?", r"\1 \2.\3 ", name).replace("_", " ").strip()
    return f"{words[0].upper()}{words[1:]}"


def title_of_table(name: str) -> str:
    """What the table in a file of this name is about."""
    metric = METRICS.get(name.removeprefix("compared_"))
    if metric is None:
        return title_of_figure(name)
    title = f"{metric.label[0].upper()}{metric.label[1:]}"
    return f"{title}, compared" if name.startswith("compared_") else title
