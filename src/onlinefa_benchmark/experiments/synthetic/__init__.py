"""Chapter 5: synthetic factor models, and four experiments that go beyond the thesis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from onlinefa_benchmark.axes import SCALE, SPECTRUM, Axis, AxisValue, D, K
from onlinefa_benchmark.experiments._distance_metrics import distance_metrics
from onlinefa_benchmark.experiments.base import (
    Count,
    Experiment,
    ExperimentConfig,
    Figure,
    GroupSpec,
    Kind,
    Metric,
    Positive,
    check_below,
)

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Group

_HERE = "onlinefa_benchmark.experiments.synthetic"

# Seconds of one core: to start a cell; for each observation, column and factor.
_START = 0.2
_WORK = 1e-8

_METRICS = (
    *distance_metrics("relative_frobenius"),
    Metric("largest_principal_angle", "largest principal angle (radians)"),
    Metric(
        "held_out_log_likelihood",
        "held-out log-likelihood (nats per sample)",
        "higher",
        is_main=True,
    ),
    Metric("wasserstein2_per_dimension", "2-Wasserstein distance / D"),
)
_PANELS = (
    "a panel for each dimension D, number of factors K and spectrum, a line for each algorithm"
)


class SyntheticConfig(ExperimentConfig):
    """Configuration of chapter 5: synthetic factor models."""

    D: list[Count] = Field(description="dimensions of the observations")
    K: list[Count] = Field(description="latent dimensions, each below each D")
    spectrum: list[tuple[Count, Count]] = Field(
        description="ranges [low, high] of s^2 in Algorithm 3"
    )
    T: list[Count] = Field(description="sample sizes at which a fit is measured, increasing")

    def dimensions(self) -> list[int]:
        """Return the dimensions of the observations."""
        return self.D

    @field_validator("K")
    @classmethod
    def _check_below_every_dimension(cls, K: list[int], info: ValidationInfo) -> list[int]:
        return check_below(K, {f"D has {D}": D for D in info.data.get("D", [])})

    @field_validator("spectrum")
    @classmethod
    def _check_low_below_high(cls, spectrum: list[tuple[int, int]]) -> list[tuple[int, int]]:
        for low, high in spectrum:
            if low >= high:
                raise ValueError(f"[{low}, {high}] must have its low below its high")
        return spectrum

    @field_validator("T")
    @classmethod
    def _check_increasing(cls, T: list[int]) -> list[int]:
        for before, after in pairwise(T):
            if after <= before:
                raise ValueError(f"must be increasing, and {after} follows {before}")
        return T


class ScaleConfig(SyntheticConfig):
    """Configuration of chapter 5 in other units."""

    scales: list[Positive] = Field(description="numbers by which all observations are multiplied")


class ChangeConfig(SyntheticConfig):
    """Configuration of chapter 5 with a model that is replaced."""

    change_at: Count = Field(description="observations of the first model, fewer than the last T")

    @field_validator("change_at")
    @classmethod
    def _check_before_the_end(cls, change_at: int, info: ValidationInfo) -> int:
        T = info.data.get("T")
        if T and change_at >= T[-1]:
            raise ValueError(f"{change_at} must be below the last T, {T[-1]}")
        return change_at


class Synthetic(Experiment):
    """Comparison of estimates with the known factor model that the samples are drawn from."""

    name = "synthetic"
    title = "Chapter 5: synthetic factor models"
    description = "chapter 5: synthetic factor models"
    Config: ClassVar[type[ExperimentConfig]] = SyntheticConfig
    metrics: ClassVar[Sequence[Metric]] = _METRICS
    setting_axes: ClassVar[Sequence[Axis]] = (D, K, SPECTRUM)
    job_axes: ClassVar[Sequence[str]] = ("algorithm", "D", "K")
    figures: ClassVar[Sequence[Figure]] = (
        Figure(
            "figure_5_1",
            "Relative Frobenius distance of estimated covariances from the true one, against the "
            f"number of samples T, both on logarithmic axes: {_PANELS}. Lower is better.",
        ),
        Figure(
            "figure_5_2",
            "2-Wasserstein distance of estimated Gaussians from the true one, against the number "
            f"of samples T, both on logarithmic axes: {_PANELS}. Lower is better.",
        ),
        Figure(
            "time",
            "Relative Frobenius distance of estimated covariances from the true one, against the "
            f"seconds that fits take, both on logarithmic axes: {_PANELS}. Lower and further left "
            "is better.",
        ),
    )
    computation = f"{_HERE}.computation"
    drawing = f"{_HERE}.figures"
    additional_metric_kind: ClassVar[Kind | None] = "gaussian"
    gpu = "batch"

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield a group for each algorithm, D, K and spectrum."""
        for algorithm, dimension, rank, (low, high) in product(
            config.algorithms, config.D, config.K, config.spectrum
        ):
            axes: dict[str, AxisValue] = {
                "algorithm": algorithm,
                "D": dimension,
                "K": rank,
                "spectrum": f"{low}-{high}",
            }
            yield axes, {"dataset": "algorithm_3", "spectrum": [low, high], "T": config.T}

    def estimate_seconds(self, group: Group) -> float:
        """Estimate the seconds of a cell from the number of observations, columns and factors."""
        T, axes = group.parameters["T"][-1], group.axes
        return _START + _WORK * float(T * int(axes["D"]) * max(int(axes["K"]), 10))


class Eigenvalues(Synthetic):
    """`Synthetic` with models whose s^2 are the eigenvalues of F F'."""

    name = "eigenvalues"
    title = "Beyond: eigenvalues that are set"
    description = "as `synthetic`, with models whose eigenvalues are s^2"
    figures = (
        Figure(
            "eigenvalues",
            "Relative Frobenius distance of estimated covariances from the true one, against the "
            "number of samples T, for models whose eigenvalues are set: a panel for each range of "
            "eigenvalues, a line for each algorithm. Lower is better.",
        ),
    )

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield the groups of `Synthetic` with the other kind of model."""
        for axes, parameters in super().groups(config):
            yield axes, parameters | {"dataset": "eigenvalues"}


class Components(Synthetic):
    """`Synthetic` for algorithms that choose the number of factors."""

    name = "components"
    title = "Beyond: the number of factors"
    description = "as `synthetic`, for algorithms that choose K themselves"
    metrics = (
        *_METRICS,
        Metric("components_off", "chosen number of factors, distance from the true one"),
        Metric("components_right", "share of seeds with the right number of factors", "higher"),
    )
    figures = (
        Figure(
            "components",
            "Number of factors that an algorithm finds, against the number of samples T: a panel "
            "for each dimension D, a line for each true number, which is dotted.",
        ),
    )


class Scale(Synthetic):
    """`Synthetic` with observations in other units."""

    name = "scale"
    title = "Beyond: other units"
    description = "as `synthetic`, with observations in other units"
    Config = ScaleConfig
    setting_axes = (D, K, SPECTRUM, SCALE)
    figures = (
        Figure(
            "scale",
            "Relative Frobenius distance of estimated covariances from the true one, against the "
            "number that all observations are multiplied by, a line for each algorithm. Units do "
            "not matter to an algorithm whose line is flat.",
        ),
    )

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield the groups of `Synthetic` for each scale."""
        for (axes, parameters), scale in product(super().groups(config), config.scales):
            yield axes | {"scale": scale}, parameters


class Change(Synthetic):
    """`Synthetic` with a model that is replaced by another after some observations."""

    name = "change"
    title = "Beyond: a model that changes"
    description = "as `synthetic`, with a model that is replaced by another"
    Config = ChangeConfig
    metrics = distance_metrics("relative_frobenius", "wasserstein2")
    figures = (
        Figure(
            "change",
            "Relative Frobenius distance of estimated covariances from that of the current model, "
            "against the number of samples T, a line for each algorithm. A dotted vertical line is "
            "where the true model is replaced by another.",
        ),
    )
    computation = f"{_HERE}.change_computation"

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield the groups of `Synthetic` with the time of the change."""
        for axes, parameters in super().groups(config):
            yield axes, parameters | {"change_at": config.change_at}
