"""Chapter 7: sampled networks compared with the Gaussian process, the limit of wide networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from onlinefa_benchmark import algorithms, datasets
from onlinefa_benchmark.axes import DATASET, WIDTH, AxisValue
from onlinefa_benchmark.experiments.base import (
    Count,
    Experiment,
    Figure,
    GroupSpec,
    Metric,
    NetworkExperimentConfig,
    NumberOnly,
    Several,
    Strict,
    check_below,
    check_known,
    count_weights,
)
from onlinefa_benchmark.models import toy

if TYPE_CHECKING:
    from onlinefa_benchmark.algorithms import AlgorithmFacts
    from onlinefa_benchmark.cells import Group

_HERE = "onlinefa_benchmark.experiments.gp"

# Seconds on one core: for a posterior, with its share of the training; for each epoch of a walk and
# each weight; for each weight, with NUTS.
_FUNCTION = 0.5
_EPOCH = 2e-6
_NUTS = 0.3


class Limit(Strict):
    """Datasets, widths and seeds to which a slow algorithm is restricted."""

    datasets: list[str] | None = Field(default=None, min_length=1, description="only these")
    widths: list[Count] | None = Field(default=None, min_length=1, description="only these")
    seeds: Count | None = Field(default=None, description="only the first n")

    def allows(self, dataset: str, width: int) -> bool:
        """Return whether the algorithm runs on a dataset with a width."""
        return dataset in (self.datasets or [dataset]) and width in (self.widths or [width])


class GPConfig(NetworkExperimentConfig):
    """Configuration of chapter 7."""

    MOST_ROWS: ClassVar[int] = 5000  # a Cholesky decomposition takes time cubic in the rows

    batch: Count = Field(description="rows in a step of SGD")
    datasets: list[str] = Field(
        description="`toy`, a curve with a gap, or tables: files of src/onlinefa_benchmark/datasets"
    )
    widths: list[Count] = Field(
        description="numbers of hidden units, or of features for `random_features`, "
        "`fourier_features` and `nystrom`"
    )
    K: Several = Field(description="latent dimension of estimators that are fitted to SGD's walk")
    samples: Count = Field(description="number of networks drawn from each posterior")
    iterations: Count = Field(description="largest number of iterations of the search for a mode")
    learning_rate: Annotated[float, Field(gt=0, lt=1), NumberOnly] = Field(
        description="learning rate of SGD, as a fraction of the rate at which descent with all "
        "rows diverges"
    )
    warm_up: Count = Field(description="epochs of SGD before the first weights are observed")
    epochs: Count = Field(description="epochs of SGD, including the warm-up")
    every: Count = Field(description="steps of SGD between two observations of the weights")
    limits: dict[str, Limit] | None = Field(
        default=None,
        description="`{algorithm: {datasets: [...], widths: [...], seeds: n}}`: restricts an "
        "algorithm to these datasets, these widths and the first n seeds",
    )

    @classmethod
    def known_algorithms(cls) -> list[str]:
        """Return all algorithms."""
        return algorithms.names()

    def dimensions(self) -> list[int]:
        """Return the numbers of weights of all networks."""
        return [self.weights(*network) for network in product(self.datasets, self.widths)]

    @staticmethod
    def weights(dataset: str, width: int) -> int:
        """Return the number of weights of a network for a dataset."""
        inputs = 1 if dataset == "toy" else len(datasets.table(dataset).inputs)
        return count_weights(inputs, width)

    def limit(self, algorithm: str) -> Limit:
        """Return the restrictions of an algorithm."""
        return (self.limits or {}).get(algorithm, Limit())

    def seeds_allowed(self, axes: Mapping[str, Any]) -> int | None:
        """Return the largest number of seeds of an algorithm; None if there is no limit."""
        return self.limit(str(axes["algorithm"])).seeds

    @field_validator("datasets")
    @classmethod
    def _check_tables(cls, names: list[str], info: ValidationInfo) -> list[str]:
        batch = info.data.get("batch", 1)
        for name in names:
            check_known(name, ["toy", *datasets.names()])
            rows = _training_rows(name)
            if rows < 10:
                raise ValueError(f"{name} has {rows} training rows, too few to hold any out")
            if rows < batch:
                raise ValueError(f"{name} has {rows} training rows, fewer than a batch ({batch})")
            if rows > cls.MOST_ROWS:
                raise ValueError(
                    f"{name} has {rows} training rows; a Gaussian process can take {cls.MOST_ROWS}"
                )
        return names

    @field_validator("K")
    @classmethod
    def _check_below_every_dimension(cls, K: int, info: ValidationInfo) -> int:
        networks = product(info.data.get("datasets", []), info.data.get("widths", []))
        D = {network: cls.weights(*network) for network in networks}
        check_below([K], {f"{name}, {H} has {D[name, H]} weights": D[name, H] for name, H in D})
        return K

    @field_validator("epochs")
    @classmethod
    def _check_more_than_the_warm_up(cls, epochs: int, info: ValidationInfo) -> int:
        warm_up = info.data.get("warm_up")
        if warm_up and epochs <= warm_up:
            raise ValueError(f"{epochs} must be above warm_up, which is {warm_up}")
        return epochs

    @field_validator("every")
    @classmethod
    def _check_enough_observations(cls, every: int, info: ValidationInfo) -> int:
        given = info.data
        if {"batch", "datasets", "epochs", "warm_up", "K"} <= given.keys():
            for name in given["datasets"]:
                steps = _training_rows(name) // given["batch"]
                steps *= given["epochs"] - given["warm_up"]
                if steps // every <= given["K"]:
                    raise ValueError(
                        f"{every} leaves {steps // every} observations of the walk over {name}, "
                        f"and more than K ({given['K']}) are needed"
                    )
        return every

    @field_validator("limits")
    @classmethod
    def _check_limits(
        cls, limits: dict[str, Limit] | None, info: ValidationInfo
    ) -> dict[str, Limit] | None:
        for name, limit in (limits or {}).items():
            check_known(name, info.data.get("algorithms", [name]))
            for key in ("datasets", "widths"):
                for value in getattr(limit, key) or []:
                    check_known(str(value), list(map(str, info.data.get(key, [value]))))
        return limits


def _training_rows(dataset: str) -> int:
    """Return the number of training rows: nine tenths of a table."""
    if dataset == "toy":
        return toy.N
    rows = datasets.table(dataset).rows
    return rows - rows // 10


class GP(Experiment):
    """Comparison of sampled networks with the Gaussian process, the limit of wide networks."""

    name = "gp"
    title = "Chapter 7: networks and the Gaussian process"
    description = "chapter 7: sampled networks and their Gaussian process"
    Config = GPConfig
    metrics = (
        Metric(
            "function_wasserstein2",
            "2-Wasserstein distance of f* (GP standard deviations)",
            is_main=True,
        ),
        Metric("mean_error", "error of the mean of f* (GP standard deviations)"),
        Metric("sd_ratio", "standard deviation of f* over the GP's", "one"),
        Metric(
            "test_log_likelihood", "test log-likelihood (nats per point)", "higher", is_main=True
        ),
        Metric("test_rmse", "test root mean squared error (units of y)"),
    )
    setting_axes = (DATASET, WIDTH)
    job_axes = ("dataset",)
    figures = (
        Figure(
            "figure_7_1",
            "Bands of two standard deviations around the mean of a function with a gap in its "
            "data: a panel for each posterior of networks, drawn over the band of the Gaussian "
            "process.",
        ),
        Figure(
            "figure_7_2",
            "Three distances of posteriors of networks from the Gaussian process, against the "
            "number of hidden units: a row of panels for each dataset, a column for the "
            "distribution, the mean and the standard deviation, a line for each posterior.",
        ),
        Figure(
            "figure_7_3",
            "2-Wasserstein distance of approximations by features from the exact Gaussian "
            "process, against the number of features: a panel for each dataset, a line for each "
            "kind of feature. Lower is better.",
        ),
        Figure(
            "gp_ranks",
            "Critical-difference diagram: average ranks of posteriors by their distance from the "
            "Gaussian process on a line, the best on the left, and bars that join those that were "
            "not shown to differ.",
            from_comparison=True,
        ),
    )
    column_axis = "width"
    computation = f"{_HERE}.computation"
    drawing = f"{_HERE}.figures"
    additional_metric_kind = "predictive"
    gpu = "each"
    step_unit = ""
    measured_on = "at held-out inputs"
    test_share = 0.1

    def groups(self, config: GPConfig) -> Iterator[GroupSpec]:
        """Yield a group for each dataset, width and algorithm that runs there."""
        for dataset, width, algorithm in product(config.datasets, config.widths, config.algorithms):
            if config.limit(algorithm).allows(dataset, width):
                axes: dict[str, AxisValue] = {
                    "dataset": dataset,
                    "width": width,
                    "D": config.weights(dataset, width),
                    "K": config.K,
                    "algorithm": algorithm,
                }
                table = {} if dataset == "toy" else {"table": datasets.table(dataset).digest}
                yield axes, table

    def algorithm_parameters(self, config: GPConfig, facts: AlgorithmFacts) -> dict[str, Any]:
        """Return how networks are trained, as far as the algorithm depends on it.

        The chains of NUTS, for example, do not depend on SGD.
        """
        walks = facts.follows_sgd
        names = ["iterations"] if walks or facts.is_trained else []
        names += ["learning_rate", "batch", "warm_up", "epochs", "every"] if walks else []
        training = {"training": {name: getattr(config, name) for name in names}}
        return training | ({"samples": config.samples} if walks else {})

    def job_axes_of(self, config: GPConfig, algorithm: str, base: str) -> Sequence[str]:
        """Return more axes for algorithms of which a cell takes minutes."""
        is_slow = base == "nuts" or config.limit(algorithm).seeds
        return ("dataset", "algorithm", "width") if is_slow else self.job_axes

    def estimate_seconds(self, group: Group) -> float:
        """Estimate the seconds of a cell from the number of weights and epochs."""
        weights = int(group.axes["D"])
        if group.axes["algorithm"] == "nuts":
            return _NUTS * weights
        epochs = float(group.parameters["training"].get("epochs", 0))
        return _FUNCTION + _EPOCH * weights * epochs

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return the table of a cell; the toy is made up."""
        return [] if axes["dataset"] == "toy" else [str(axes["dataset"])]
