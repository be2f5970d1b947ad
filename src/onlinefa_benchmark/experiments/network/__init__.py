"""MultiSWAG and other posteriors of trained networks with one hidden layer, on tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from onlinefa_benchmark import algorithms, datasets
from onlinefa_benchmark.axes import DATASET, Axis, AxisValue
from onlinefa_benchmark.experiments.base import (
    Count,
    Experiment,
    ExperimentConfig,
    ExtraTable,
    Figure,
    GroupSpec,
    Kind,
    Metric,
    NetworkExperimentConfig,
    Positive,
    Several,
    check_below,
    check_known,
    count_weights,
)
from onlinefa_benchmark.experiments.network.splits import (
    TEST_SHARE,
    SplitKind,
    count_standard_splits,
)
from onlinefa_benchmark.models.activations import Activation

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Group

_HERE = "onlinefa_benchmark.experiments.network"

Noise = Literal["evidence", "validation", "heteroscedastic"]

NOISE = Axis("noise")

# Seconds of one core for a step of SGD and a weight, and for an update of prior and noise and the
# square of a weight.
_STEP, _UPDATE = 5e-7, 1e-7


class NetworkConfig(NetworkExperimentConfig):
    """Configuration of networks on regression tables, and of the choice of hyperparameters."""

    width: Count = Field(description="number of hidden units")
    activation: Activation = Field(description="activation function of the hidden units")
    K: Several = Field(description="latent dimension of estimators that are fitted to SGD's walk")
    samples: Count = Field(description="number of networks drawn from each posterior")
    noises: list[Noise] = Field(
        description="how the variance of the noise and the precision of the prior are chosen: by "
        "Laplace's `evidence`, the same for all algorithms, or by `validation`, for each "
        "algorithm; with `heteroscedastic`, the log variance is an output of the network, and "
        "its prior is chosen by the evidence"
    )
    runs: Count = Field(
        description="number of networks from different starts, for ensembles and mixtures"
    )
    rounds: Count = Field(
        description="largest number of updates of prior and noise during training; without "
        "`validation`, that with the largest evidence is taken"
    )
    iterations: Count = Field(
        description="largest number of iterations of the search for a mode, without `validation`"
    )
    candidates: Several = Field(
        description="how many of the updates of prior and noise are candidates with `validation`; "
        "each algorithm uses the one that predicts a fifth of the training rows best"
    )
    batch: Count = Field(description="rows in a step of SGD")
    walk: Count = Field(description="steps of SGD with a constant rate from the trained weights")
    walk_rate: Positive = Field(
        description="learning rate of these steps, as a fraction of the rate at which descent with "
        "all rows becomes unstable"
    )
    every: Count = Field(description="steps of SGD between two observations of the weights")

    datasets: list[str] = Field(description="tables: files of src/onlinefa_benchmark/datasets")
    splits: SplitKind = Field(
        description="`standard`: the splits of the literature, twenty for each table and five for "
        "casp; or `random`"
    )
    most_splits: dict[str, Count] | None = Field(
        default=None, description="`{dataset: n}`: only the first n seeds, for large tables"
    )
    widths: dict[str, Count] | None = Field(
        default=None, description="`{dataset: n}`: another number of hidden units"
    )

    @classmethod
    def known_algorithms(cls) -> list[str]:
        """Return all algorithms but the references of chapter 7."""
        posteriors = algorithms.posterior_names()
        compared = [name for name in posteriors if not algorithms.is_reference(name)]
        return sorted([*algorithms.estimator_names(), *compared])

    @field_validator("every")
    @classmethod
    def _check_enough_observations(cls, every: int, info: ValidationInfo) -> int:
        walk, K = info.data.get("walk"), info.data.get("K")
        if walk and K and walk // every <= K:
            raise ValueError(
                f"{every} leaves {walk // every} observations of the walk, and more than K ({K}) "
                "are needed"
            )
        return every

    def parameters_of(self, dataset: str, noise: Noise) -> dict[str, Any]:
        """Return the parameters of the networks of a dataset, on which all its cells depend."""
        names = ("activation", "runs", "rounds", "batch", "walk", "walk_rate", "every")
        training = {name: getattr(self, name) for name in names}
        return {
            "splits": self.splits,
            "training": {"width": self.width_of(dataset), **training},
            "selection": (
                {"numbers": self.stages()}
                if noise == "validation"
                else {"iterations": self.iterations}
            ),
            "samples": self.samples,
        }

    def stages(self) -> list[int]:
        """Return the numbers of updates that are candidates with `validation`.

        They grow in equal ratios, because each update changes networks less than the one before.
        """
        ratio = self.rounds ** (1 / (self.candidates - 1))
        return sorted({round(ratio**i) for i in range(self.candidates)})

    def seeds_of(self, axes: Mapping[str, Any]) -> list[int]:
        """Return the seeds of a group of cells: with standard splits, those that exist."""
        seeds = super().seeds_of(axes)
        if self.splits == "random":
            return seeds
        return [seed for seed in seeds if seed < count_standard_splits(str(axes["dataset"]))]

    def seeds_allowed(self, axes: Mapping[str, Any]) -> int | None:
        """Return the largest number of seeds of a dataset; None if there is no limit."""
        dataset = str(axes["dataset"])
        chosen = (self.most_splits or {}).get(dataset)
        if self.splits == "random":
            return chosen
        known = count_standard_splits(dataset)
        return min(chosen or known, known)

    def dimensions(self) -> list[int]:
        """Return the numbers of weights of all networks."""
        return [self.weights(name) for name in self.datasets]

    def width_of(self, dataset: str) -> int:
        """Return the number of hidden units of networks for a dataset."""
        return (self.widths or {}).get(dataset, self.width)

    def weights(self, dataset: str, outputs: int = 1) -> int:
        """Return the number of weights of a network for a dataset."""
        inputs, width = len(datasets.table(dataset).inputs), self.width_of(dataset)
        return count_weights(inputs, width, outputs)

    @model_validator(mode="after")
    def _check_seeds(self) -> Self:
        for dataset in self.datasets if self.splits == "standard" else ():
            known = count_standard_splits(dataset)
            if min(self.seeds) >= known:
                raise ValueError(f"{dataset} has {known} standard splits, and seeds begin later")
        return self

    @field_validator("most_splits", "widths")
    @classmethod
    def _check_datasets(
        cls, numbers: dict[str, int] | None, info: ValidationInfo
    ) -> dict[str, int] | None:
        for name in numbers or {}:
            check_known(name, info.data.get("datasets", [name]))
        return numbers

    @field_validator("datasets")
    @classmethod
    def _check_tables(cls, names: list[str], info: ValidationInfo) -> list[str]:
        for name in names:
            check_known(name, datasets.names())
            rows = datasets.table(name).rows * 72 // 100  # less a tenth, and a fifth of the rest
            if rows < info.data.get("batch", 1):
                raise ValueError(
                    f"{name} has {rows} training rows, fewer than a batch ({info.data['batch']})"
                )
        return names

    @field_validator("datasets")
    @classmethod
    def _check_more_weights_than_factors(cls, names: list[str], info: ValidationInfo) -> list[str]:
        width, K = info.data.get("width"), info.data.get("K")
        if width and K:
            D = {name: count_weights(len(datasets.table(name).inputs), width) for name in names}
            check_below([K], {f"{name} has {D[name]} weights": D[name] for name in D})
        return names


class Network(Experiment):
    """Comparison of posteriors of networks by their predictions of held-out rows of tables."""

    name = "network"
    title = "Networks on tables"
    description = "MultiSWAG and others: networks on UCI tables"
    Config: ClassVar[type[ExperimentConfig]] = NetworkConfig
    metrics: ClassVar[Sequence[Metric]] = (
        Metric("test_nll", "test negative log-likelihood (nats per point)", is_main=True),
        Metric("test_rmse", "test root mean squared error (units of y)", is_main=True),
        Metric("test_crps", "test CRPS (units of y)", is_main=True),
        Metric("coverage_50", "coverage of 50 % intervals", 0.5),
        Metric("coverage_90", "coverage of 90 % intervals", 0.9),
        Metric("coverage_95", "coverage of 95 % intervals", 0.95),
    )
    setting_axes: ClassVar[Sequence[Axis]] = (DATASET, NOISE)
    job_axes: ClassVar[Sequence[str]] = ("dataset", "noise")
    figures: ClassVar[Sequence[Figure]] = (
        Figure(
            "network",
            "Test negative log-likelihoods of networks with their standard errors: a panel for "
            "each dataset, a line for each posterior. Further left is better.",
        ),
        Figure(
            "calibration",
            "Share of held-out targets in central 90 % intervals, as a heat map: a row for each "
            "posterior, a column for each dataset, a panel for each choice of the noise.",
        ),
        Figure(
            "network_ranks",
            "Critical-difference diagram: average ranks of posteriors by their test likelihood on "
            "a line, the best on the left, and bars that join those that were not shown to differ.",
            from_comparison=True,
        ),
        Figure(
            "network_detectable",
            "The smallest difference of test likelihoods that a corrected paired t test at 5 % "
            "finds with a power of 80 %, against the number of splits: a line for each setting.",
            from_comparison=True,
        ),
    )
    extra_tables: ClassVar[Sequence[ExtraTable]] = (
        ExtraTable("network_published", from_summary=True),
    )
    column_axis = "dataset"
    computation = f"{_HERE}.computation"
    drawing = f"{_HERE}.figures"
    additional_metric_kind: ClassVar[Kind | None] = "predictive"
    gpu = "each"
    step_unit = ""
    measured_on = "of networks that were trained on nine tenths of a table"
    test_share = TEST_SHARE

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield a group for each dataset, choice of hyperparameters and algorithm."""
        for dataset, noise, algorithm in product(config.datasets, config.noises, config.algorithms):
            outputs = 2 if noise == "heteroscedastic" else 1
            if outputs > 1 and algorithms.needs_one_output(algorithm):
                continue
            axes: dict[str, AxisValue] = {
                "dataset": dataset,
                "noise": noise,
                "width": config.width_of(dataset),
                "D": config.weights(dataset, outputs),
                "K": config.K,
                "algorithm": algorithm,
            }
            table = {"table": datasets.table(dataset).digest}
            yield axes, table | config.parameters_of(dataset, noise)

    def estimate_seconds(self, group: Group) -> float:
        """Estimate the seconds of a cell: its share of the training, and its own steps."""
        training, D = group.parameters["training"], int(group.axes["D"])
        return _UPDATE * float(training["rounds"]) * D**2 + _STEP * training["walk"] * D

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return the table of a cell."""
        return [str(axes["dataset"])]
