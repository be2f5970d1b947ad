"""MultiSWAG and other posteriors of trained networks: regression on tables, and digits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from onlinefa_benchmark import algorithms, datasets
from onlinefa_benchmark.axes import DATASET, Axis, AxisValue
from onlinefa_benchmark.experiments.base import (
    Count,
    Experiment,
    ExperimentConfig,
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

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Group

_HERE = "onlinefa_benchmark.experiments.network"

# Seconds of one core for a candidate's step and a weight, with its share of the training.
_STEP = 5e-7

# Of scikit-learn's digits; the images are those for training, without test and validation parts.
_PIXELS, _CLASSES, _IMAGES = 64, 10, 1151


class TrainedNetworkConfig(NetworkExperimentConfig):
    """Configuration of how networks are trained, and of the search for hyperparameters."""

    width: Count = Field(description="number of hidden units")
    K: Several = Field(description="latent dimension of estimators that are fitted to SGD's walk")
    samples: Count = Field(description="number of networks drawn from each posterior")
    candidates: Count = Field(
        description="number of random candidates for learning rate, prior precision and noise "
        "precision; each algorithm uses the one that predicts a fifth of the training rows best"
    )
    runs: Count = Field(
        description="number of networks from different starts, for ensembles and mixtures"
    )
    batch: Count = Field(description="rows in a step of Adam or SGD")
    steps: Count = Field(description="steps of Adam from a start to a mode")
    learning_rate: Positive = Field(description="initial learning rate of Adam; it falls to zero")
    walk: Count = Field(description="steps of SGD with a constant rate after those of Adam")
    every: Count = Field(description="steps of SGD between two observations of the weights")

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

    def training_parameters(self) -> dict[str, Any]:
        """Return the parameters of training.

        All networks are trained at once, so that every cell depends on all of these parameters.
        """
        names = (
            "width",
            "candidates",
            "runs",
            "batch",
            "steps",
            "learning_rate",
            "walk",
            "every",
        )
        training = {name: getattr(self, name) for name in names}
        return {"training": training, "samples": self.samples}


class NetworkConfig(TrainedNetworkConfig):
    """Configuration of networks on regression tables."""

    datasets: list[str] = Field(description="tables: files of src/onlinefa_benchmark/datasets")
    splits: dict[str, Count] | None = Field(
        default=None, description="`{dataset: n}`: only the first n seeds, for large tables"
    )

    def seeds_allowed(self, axes: Mapping[str, Any]) -> int | None:
        """Return the largest number of seeds of a dataset; None if there is no limit."""
        return (self.splits or {}).get(str(axes["dataset"]))

    def dimensions(self) -> list[int]:
        """Return the numbers of weights of all networks."""
        return [self.weights(name) for name in self.datasets]

    def weights(self, dataset: str) -> int:
        """Return the number of weights of a network for a dataset."""
        return count_weights(len(datasets.table(dataset).inputs), self.width)

    @field_validator("splits")
    @classmethod
    def _check_splits(
        cls, splits: dict[str, int] | None, info: ValidationInfo
    ) -> dict[str, int] | None:
        for name in splits or {}:
            check_known(name, info.data.get("datasets", [name]))
        return splits

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


class DigitsConfig(TrainedNetworkConfig):
    """Configuration of networks on handwritten digits."""

    def dimensions(self) -> list[int]:
        """Return the number of weights of the network."""
        return [self.weights()]

    def weights(self) -> int:
        """Return the number of weights of the network."""
        return count_weights(_PIXELS, self.width, _CLASSES)

    @field_validator("K")
    @classmethod
    def _check_fewer_factors_than_weights(cls, K: int, info: ValidationInfo) -> int:
        D = count_weights(_PIXELS, info.data.get("width", 1), _CLASSES)
        check_below([K], {f"there are {D} weights": D})
        return K

    @field_validator("batch")
    @classmethod
    def _check_enough_images(cls, batch: int) -> int:
        if batch > _IMAGES:
            raise ValueError(f"there are {_IMAGES} training images, fewer than {batch}")
        return batch


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
    setting_axes: ClassVar[Sequence[Axis]] = (DATASET,)
    job_axes: ClassVar[Sequence[str]] = ("dataset",)
    figures: ClassVar[Sequence[Figure]] = (
        Figure(
            "network",
            "Test negative log-likelihoods of networks with their standard errors: a panel for "
            "each dataset, a line for each posterior. Further left is better.",
        ),
        Figure(
            "calibration",
            "Share of targets below a predicted level less that level, against the level: a panel "
            "for each dataset, a line for each posterior. Zero is calibrated.",
        ),
        Figure(
            "network_ranks",
            "Critical-difference diagram: average ranks of posteriors by their test likelihood on "
            "a line, the best on the left, and bars that join those that were not shown to differ.",
            from_comparison=True,
        ),
    )
    column_axis = "dataset"
    computation = f"{_HERE}.computation"
    drawing = f"{_HERE}.figures"
    additional_metric_kind: ClassVar[Kind | None] = "predictive"
    gpu = "each"
    step_unit = ""
    measured_on = "of networks that were trained on nine tenths of a table"
    seeds_are_splits = True

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield a group for each dataset and algorithm."""
        for dataset, algorithm in product(config.datasets, config.algorithms):
            axes: dict[str, AxisValue] = {
                "dataset": dataset,
                "width": config.width,
                "D": config.weights(dataset),
                "K": config.K,
                "algorithm": algorithm,
            }
            table = {"table": datasets.table(dataset).digest}
            yield axes, table | config.training_parameters()

    def estimate_seconds(self, group: Group) -> float:
        """Estimate the seconds of a cell from the number of candidates, steps and weights."""
        training = group.parameters["training"]
        steps = training["candidates"] * (training["steps"] + training["walk"])
        return _STEP * float(steps) * int(group.axes["D"])

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return the table of a cell."""
        return [str(axes["dataset"])]


class Digits(Network):
    """Comparison of posteriors of networks by accuracy and calibration on handwritten digits."""

    name = "digits"
    title = "Networks on digits"
    description = "MultiSWAG and others: networks on handwritten digits, in ten classes"
    Config = DigitsConfig
    metrics = (
        Metric("class_nll", "test negative log-likelihood (nats per image)", is_main=True),
        Metric("accuracy", "accuracy", "higher", is_main=True),
        Metric("calibration_error", "expected calibration error"),
        Metric("rotated_auroc", "detection of turned images (area under the ROC curve)", "higher"),
    )
    job_axes = ()
    figures = (
        Figure(
            "reliability",
            "Accuracy less confidence of predicted digits, against confidence, above, and the "
            "share of images with such a confidence, below: a line for each posterior. Above zero "
            "is underconfident, below zero overconfident.",
        ),
    )
    computation = f"{_HERE}.digits_computation"
    additional_metric_kind = None
    measured_on = "of networks that were trained on four fifths of the images"

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield a group for each algorithm."""
        for algorithm in config.algorithms:
            axes: dict[str, AxisValue] = {
                "dataset": "digits",
                "width": config.width,
                "D": config.weights(),
                "K": config.K,
                "algorithm": algorithm,
            }
            yield axes, config.training_parameters()

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return no table: the images come with scikit-learn."""
        return []
