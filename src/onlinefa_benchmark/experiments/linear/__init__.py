"""Chapter 6: linear regression on UCI tables, and a regression with two weights to draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from onlinefa_benchmark import datasets
from onlinefa_benchmark.axes import DATASET, WALK, Axis, AxisValue, K
from onlinefa_benchmark.experiments._distance_metrics import distance_metrics
from onlinefa_benchmark.experiments.base import (
    Count,
    Experiment,
    ExperimentConfig,
    ExtraTable,
    Figure,
    GroupSpec,
    Kind,
    Metric,
    MoreSeeds,
    Positive,
    check_below,
    check_known,
)
from onlinefa_benchmark.models.walk_names import (
    LANGEVIN_WALKS,
    LEAST_LANGEVIN_STEPS,
    WalkName,
)

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Group

_HERE = "onlinefa_benchmark.experiments.linear"

# Seconds of one core for an epoch over a table of a thousand rows: of SGD, and of a Langevin walk,
# which fits two factor analyses of its own.
_EPOCH = 8e-4
_LANGEVIN_EPOCH = 2e-3

_PANELS = "a panel for each dataset and number of factors K, a line for each algorithm"


class SGDConfig(ExperimentConfig):
    """Configuration of experiments that follow the walk of SGD."""

    batch: Count = Field(description="rows in a step of SGD")
    warm_up: Count = Field(description="epochs before the first weights are observed")
    every: Count = Field(
        description="epochs between two measurements; ten times as many for batch algorithms"
    )
    epochs: Count = Field(description="epochs of a walk, including the warm-up")

    @field_validator("epochs")
    @classmethod
    def _check_whole_measurements(cls, epochs: int, info: ValidationInfo) -> int:
        warm_up, every = info.data.get("warm_up"), info.data.get("every")
        if warm_up and every and (epochs <= warm_up or (epochs - warm_up) % every):
            raise ValueError(
                f"{epochs} must be warm_up ({warm_up}) plus 1, 2, ... times every ({every})"
            )
        return epochs

    def walk_parameters(self) -> dict[str, Any]:
        """Return the parameters of a walk, except for the learning rate."""
        names = ("batch", "warm_up", "every", "epochs")
        return {name: getattr(self, name) for name in names}


class LinearConfig(SGDConfig):
    """Configuration of chapter 6: linear regression on UCI tables."""

    datasets: list[str] = Field(description="tables: files of src/onlinefa_benchmark/datasets")
    K: list[Count] = Field(
        description="latent dimensions, each below the number of weights of each dataset"
    )
    walks: list[WalkName] = Field(
        description="walks whose weights are observed: of SGD, with batches `reshuffled` every "
        "epoch or drawn with `replacement` (`_averaged`: means over epochs); `constant_sgd`; "
        "`sgld` and its variants `sgld_control_variate`, `sgld_diagonal`, `sgld_cyclical`; "
        "`underdamped` and `langevin_fa`, Langevin dynamics"
    )
    learning_rate: Positive = Field(
        description="learning rate of SGD; Table 6.1 has the rates at which it diverges"
    )

    def dimensions(self) -> list[int]:
        """Return the number of weights of each table's regression."""
        return [datasets.table(name).dimension for name in self.datasets]

    @field_validator("datasets")
    @classmethod
    def _check_tables(cls, names: list[str], info: ValidationInfo) -> list[str]:
        batch = info.data.get("batch", 1)
        for name in names:
            check_known(name, datasets.names(), "dataset")
            rows = datasets.table(name).rows
            if rows < batch:
                raise ValueError(f"{name} has {rows} rows, fewer than a batch ({batch})")
        return names

    @field_validator("K")
    @classmethod
    def _check_below_every_dimension(cls, K: list[int], info: ValidationInfo) -> list[int]:
        D = {name: datasets.table(name).dimension for name in info.data.get("datasets", [])}
        return check_below(K, {f"{name} has {D[name]} weights": D[name] for name in D})

    @field_validator("walks")
    @classmethod
    def _check_enough_steps(cls, walks: list[WalkName], info: ValidationInfo) -> list[WalkName]:
        epochs, batch = info.data.get("epochs"), info.data.get("batch")
        langevin = [name for name in walks if name in LANGEVIN_WALKS]
        if langevin and epochs and batch:
            for dataset in info.data.get("datasets", []):
                steps = epochs * -(-datasets.table(dataset).rows // batch)
                if steps < LEAST_LANGEVIN_STEPS:
                    raise ValueError(
                        f"{langevin[0]} needs {LEAST_LANGEVIN_STEPS} steps, and {epochs} epochs of "
                        f"{dataset} have {steps}"
                    )
        return walks


class PlaneConfig(SGDConfig):
    """Configuration of chapter 6 in two dimensions."""

    rates: list[Positive] = Field(description="learning rates of SGD, a panel for each")

    def dimensions(self) -> list[int]:
        """Return the number of weights."""
        return [2]

    @field_validator("seeds")
    @classmethod
    def _check_one_seed(cls, seeds: list[int]) -> list[int]:
        if len(seeds) > 1:
            raise ValueError("must be one: every seed has its own table, and the figure shows one")
        return seeds

    @field_validator("more_seeds")
    @classmethod
    def _refuse_more_seeds(cls, more: MoreSeeds | None) -> MoreSeeds | None:
        if more is not None:
            raise ValueError("cannot be given: seeds must be one")
        return more


class Linear(Experiment):
    """Comparison of Gaussians fitted to SGD's walk with the posterior of a linear regression."""

    name = "linear"
    title = "Chapter 6: linear regression"
    description = "chapter 6: linear regression on UCI tables"
    Config: ClassVar[type[ExperimentConfig]] = LinearConfig
    metrics: ClassVar[Sequence[Metric]] = distance_metrics("relative_frobenius", "wasserstein2")
    setting_axes: ClassVar[Sequence[Axis]] = (WALK, DATASET, K)
    job_axes: ClassVar[Sequence[str]] = ("algorithm",)
    figures: ClassVar[Sequence[Figure]] = (
        Figure(
            "figure_6_1",
            "Relative distance of estimated means from the posterior mean, against epochs of SGD: "
            f"{_PANELS}. Lower is better.",
        ),
        Figure(
            "figure_6_2",
            "Relative Frobenius distance of estimated covariances from that of the posterior, "
            f"against epochs of SGD: {_PANELS}. Lower is better.",
        ),
        Figure(
            "figure_6_3",
            f"2-Wasserstein distance of estimates from the posterior, against epochs of SGD: "
            f"{_PANELS}. A dotted line is the distance of the stationary law of SGD itself.",
        ),
        Figure(
            "figure_6_4",
            "Heat maps of the posterior covariance of the weights and of the covariance that each "
            "algorithm estimates, above; the same as correlations, below.",
            per_dataset=True,
        ),
        Figure(
            "figure_6_5",
            "Estimated against posterior means, on the left, and variances, on the right: a point "
            "for each weight and algorithm, and a dotted diagonal on which exact estimates lie.",
            per_dataset=True,
        ),
        Figure(
            "figure_6_6",
            "Stacked bars of the steps from the posterior to an estimate, in 2-Wasserstein "
            "distances: SGD's law, a finite walk, rank K, and the algorithm; a panel for each "
            "dataset and walk, a bar for each algorithm.",
        ),
        Figure(
            "figure_6_8",
            "2-Wasserstein distance of an estimate from the posterior, against the epochs of "
            "gradients that a walk has spent, both on logarithmic scales: a panel for each "
            "dataset, a line for each walk, and a dotted line for the best factor analysis of the "
            "posterior itself. Lower is better.",
        ),
        Figure(
            "figure_6_9",
            "Heat maps of the posterior covariance of the weights and of the covariance that one "
            "algorithm estimates from each walk, above; the same as correlations, below.",
            per_dataset=True,
        ),
        Figure(
            "figure_6_10",
            "Estimated against posterior means, on the left, and variances, on the right: a point "
            "for each weight and walk, and a dotted diagonal on which exact estimates lie.",
            per_dataset=True,
        ),
        Figure(
            "figure_6_11",
            "Relative distances of estimated means, above, and covariances, below, from those of "
            "the posterior, against the epochs of gradients that a walk has spent: a column for "
            "each dataset, a line for each walk. Lower is better.",
        ),
    )
    extra_tables: ClassVar[Sequence[ExtraTable]] = (ExtraTable("table_6_1"),)
    computation = f"{_HERE}.computation"
    drawing = f"{_HERE}.figures"
    additional_metric_kind: ClassVar[Kind | None] = "gaussian"
    step_unit = "epochs"

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield a group for each dataset, algorithm, walk and K."""
        for dataset, algorithm, walk, rank in product(
            config.datasets, config.algorithms, config.walks, config.K
        ):
            table = datasets.table(dataset)
            axes: dict[str, AxisValue] = {
                "dataset": dataset,
                "D": table.dimension,
                "algorithm": algorithm,
                "walk": walk,
                "K": rank,
            }
            yield axes, self._parameters(config, walk) | {"table": table.digest}

    @staticmethod
    def _parameters(config: Any, walk: str) -> dict[str, Any]:
        """Return the parameters of a walk; Langevin walks choose their step sizes and windows."""
        if walk in LANGEVIN_WALKS:
            return {"batch": config.batch, "epochs": config.epochs}
        return config.walk_parameters() | {"learning_rate": config.learning_rate}

    def estimate_seconds(self, group: Group) -> float:
        """Estimate the seconds of a cell from the number of epochs."""
        is_langevin = group.axes["walk"] in LANGEVIN_WALKS
        epoch = _LANGEVIN_EPOCH if is_langevin else _EPOCH
        return epoch * float(group.parameters["epochs"])

    def computation_of(self, axes: Mapping[str, AxisValue]) -> str:
        """Return the module that computes a cell.

        Walks of SGD and Langevin walks have separate modules, so that the fingerprints of the
        former do not depend on the code of the latter.
        """
        is_langevin = axes.get("walk") in LANGEVIN_WALKS
        return f"{_HERE}.langevin_computation" if is_langevin else self.computation

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return the table of a cell."""
        return [str(axes["dataset"])]


class Plane(Linear):
    """A regression with two weights, whose posterior and approximations can be drawn."""

    name = "plane"
    title = "Chapter 6: two weights"
    description = "chapter 6 in two dimensions"
    Config = PlaneConfig
    setting_axes = (replace(WALK, label="learning rate"),)
    job_axes = ()
    figures = (
        Figure(
            "figure_6_7",
            "Ellipses that hold 95 % of the posterior of two weights and of each approximation, "
            "over the walk of SGD: a panel for each learning rate.",
        ),
    )
    extra_tables = ()
    computation = f"{_HERE}.plane_computation"

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield a group for each algorithm and learning rate."""
        for algorithm, rate in product(config.algorithms, config.rates):
            axes: dict[str, AxisValue] = {
                "dataset": "plane",
                "D": 2,
                "K": 1,
                "algorithm": algorithm,
                "walk": f"{rate:g}",
            }
            yield axes, config.walk_parameters()

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return no table: each seed draws its own."""
        return []
