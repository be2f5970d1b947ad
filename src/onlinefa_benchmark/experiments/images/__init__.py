"""Posteriors of deep networks on images: predictions, calibration, shift and unknown inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from onlinefa_benchmark import algorithms
from onlinefa_benchmark.axes import DATASET, Axis, AxisValue, K
from onlinefa_benchmark.datasets import digest_of, images
from onlinefa_benchmark.deep.catalogue import ARCHITECTURES, PHOTOGRAPHS, UNKNOWN
from onlinefa_benchmark.experiments.base import (
    Count,
    Experiment,
    ExperimentConfig,
    Figure,
    GroupSpec,
    Metric,
    NetworkExperimentConfig,
    NumberOnly,
    Positive,
    Several,
    Strict,
    check_below,
    check_known,
)
from onlinefa_benchmark.experiments.images.sizes import count_parts

if TYPE_CHECKING:
    from onlinefa_benchmark.cells import Group

_HERE = "onlinefa_benchmark.experiments.images"

ARCHITECTURE = Axis("architecture")

# Seconds of one core for an image in a training step, per multiplication of the network; how many
# times as fast a GPU is; the time of a prediction as a share of that of a training step; and the
# training runs of a seed, divided among all algorithms.
_IMAGE, _MULTIPLICATION = 7e-5, 5e-10
_GPU, _FORWARD, _RUNS = 50, 0.4, 0.5

_TRAINING = (
    "epochs",
    "walk_epochs",
    "batch",
    "learning_rate",
    "walk_rate",
    "weight_decay",
    "every",
    "augmentation",
    "training_images",
)
_EVALUATION = ("samples", "recollection", "test_images", "shifted_images", "unknown_images")


_Decay = Annotated[float, Field(ge=0, allow_inf_nan=False), NumberOnly]


class ArchitectureSchedule(Strict):
    """Lengths and rates of training that an architecture has instead of those of all."""

    epochs: Count | None = None
    walk_epochs: Count | None = None
    learning_rate: Positive | None = None
    walk_rate: Positive | None = None
    weight_decay: _Decay | None = None
    every: Count | None = None


class ImagesConfig(NetworkExperimentConfig):
    """Configuration of deep networks on images."""

    algorithms: list[str] = Field(
        description="posteriors to compare: files of src/onlinefa_benchmark/deep_posteriors, whose "
        "names in results begin with `deep_`, or estimators, which are fitted to SGD's walk"
    )
    datasets: list[str] = Field(
        description="images: files of src/onlinefa_benchmark/datasets/images"
    )
    architectures: list[str] = Field(
        description=f"networks: {', '.join(f'`{name}`' for name in ARCHITECTURES)}"
    )
    training_images: Count | None = Field(
        default=None, description="only n of the training images, for trials"
    )
    K: list[Several] = Field(description="numbers of factors")
    epochs: Count = Field(description="epochs to a mode; the learning rate falls to zero")
    walk_epochs: Count = Field(description="epochs of SGD with a constant rate after that")
    batch: Count = Field(description="images in a step")
    learning_rate: Positive = Field(description="first learning rate")
    walk_rate: Positive = Field(description="learning rate of the walk")
    weight_decay: _Decay = Field(description="weight decay of all weights")
    every: Count = Field(description="steps between two observations of the weights")
    schedules: dict[str, ArchitectureSchedule] | None = Field(
        default=None,
        description="`{architecture: {epochs: n, ...}}`: epochs, walk_epochs, learning_rate, "
        "walk_rate, weight_decay or every of an architecture, instead of those of all",
    )
    samples: Count = Field(description="number of networks drawn from each posterior")
    augmentation: bool = Field(
        default=False, description="whether training images are moved, and photographs mirrored"
    )
    recollection: Count = Field(
        default=2000, description="training images for the statistics of batch normalisation"
    )
    test_images: Count | None = Field(
        default=None, description="only the first n test images, and at most n validation images"
    )
    shifted_images: Count = Field(
        default=500, description="test images that are shifted, for each kind and strength"
    )
    unknown_images: Count = Field(
        default=2000, description="images of another dataset that should be recognised as unknown"
    )

    @classmethod
    def known_algorithms(cls) -> list[str]:
        """Return estimators and posteriors of deep networks."""
        return sorted([*algorithms.estimator_names(), *algorithms.deep_posterior_names()])

    @field_validator("algorithms", mode="before")
    @classmethod
    def _add_prefixes(cls, names: Any) -> Any:
        return [_complete(name) for name in names] if isinstance(names, list) else names

    @field_validator("compared_with", mode="before")
    @classmethod
    def _add_prefix(cls, name: Any) -> Any:
        return _complete(name)

    @field_validator("datasets")
    @classmethod
    def _check_datasets(cls, names: list[str]) -> list[str]:
        for name in names:
            check_known(name, images.names(), "dataset")
        return names

    @field_validator("architectures")
    @classmethod
    def _check_architectures(cls, names: list[str], info: ValidationInfo) -> list[str]:
        for name in names:
            check_known(name, list(ARCHITECTURES), "architecture")
            for dataset in info.data.get("datasets", []):
                _check_fit(name, dataset)
        return names

    @field_validator("K")
    @classmethod
    def _check_factors(cls, K: list[int], info: ValidationInfo) -> list[int]:
        names = product(info.data.get("datasets", []), info.data.get("architectures", []))
        D = {f"{two} for {one}": count_weights(one, two) for one, two in names}
        return check_below(K, {f"{name} has {D[name]} weights": D[name] for name in D})

    @field_validator("batch")
    @classmethod
    def _check_enough_images(cls, batch: int, info: ValidationInfo) -> int:
        for dataset in info.data.get("datasets", []):
            number = _count_training(dataset, info.data.get("training_images"))
            if number < batch:
                raise ValueError(f"{dataset} has {number} training images, fewer than {batch}")
        return batch

    @field_validator("schedules")
    @classmethod
    def _check_schedules(
        cls, schedules: dict[str, ArchitectureSchedule] | None, info: ValidationInfo
    ) -> dict[str, ArchitectureSchedule] | None:
        for name in schedules or {}:
            check_known(name, info.data.get("architectures", [name]), "architecture")
        return schedules

    @model_validator(mode="after")
    def _check_enough_observations(self) -> Self:
        for dataset, architecture in product(self.datasets, self.architectures):
            training = self.training_of(architecture)
            steps = _count_training(dataset, self.training_images) // self.batch
            seen = training["walk_epochs"] * steps // training["every"]
            if seen <= max(self.K):
                raise ValueError(
                    f"every ({training['every']}) leaves {seen} observations of the walk of "
                    f"{architecture} on {dataset}, and more than K ({max(self.K)}) are needed"
                )
        return self

    def training_of(self, architecture: str) -> dict[str, Any]:
        """Return the parameters of training of an architecture."""
        own = (self.schedules or {}).get(architecture, ArchitectureSchedule())
        shared = {name: getattr(self, name) for name in _TRAINING}
        return shared | own.model_dump(exclude_none=True)

    def dimensions(self) -> list[int]:
        """Return the numbers of weights of all networks."""
        return [count_weights(one, two) for one, two in product(self.datasets, self.architectures)]


def _complete(name: Any) -> Any:
    """Return the registered name of a posterior of deep networks that is given without prefix."""
    full = f"{algorithms.DEEP}{name}"
    return full if full in algorithms.deep_posterior_names() else name


def _check_fit(architecture: str, dataset: str) -> None:
    facts, (channels, height, width) = ARCHITECTURES[architecture], images.describe(dataset).shape
    if min(height, width) < facts.smallest:
        raise ValueError(
            f"{architecture} needs images of at least {facts.smallest} x {facts.smallest} pixels, "
            f"{dataset} has {height} x {width}"
        )
    if facts.channels not in (None, channels):
        raise ValueError(
            f"{architecture} needs images of {facts.channels} channels, {dataset} has {channels}"
        )


def count_weights(dataset: str, architecture: str) -> int:
    """Return the number of weights that are trained."""
    described = images.describe(dataset)
    return ARCHITECTURES[architecture].count_weights(described.shape, len(described.classes))


def _count_training(dataset: str, limit: int | None) -> int:
    """Return the number of images that networks are trained with."""
    described = images.describe(dataset)
    known, _, _ = count_parts(described.training, described.test)
    return min(known, limit or known)


class Images(Experiment):
    """Comparison of posteriors of deep networks by their predictions of classes of images."""

    name = "images"
    title = "Deep networks on images"
    description = "MultiSWAG and others: deep networks on images"
    Config: ClassVar[type[ExperimentConfig]] = ImagesConfig
    metrics: ClassVar[Sequence[Metric]] = (
        Metric("class_nll", "test negative log-likelihood (nats per image)", is_main=True),
        Metric("accuracy", "accuracy", "higher", is_main=True),
        Metric("calibration_error", "calibration error"),
        Metric("brier_score", "Brier score"),
        Metric("scaled_nll", "test negative log-likelihood after temperature scaling"),
        Metric("scaled_calibration_error", "calibration error after temperature scaling"),
        Metric("unknown_auroc", "detection of unknown images (area under the ROC curve)", "higher"),
        Metric("shifted_nll", "negative log-likelihood of shifted images"),
        Metric("posterior_megabytes", "what predictions need (MB)"),
    )
    setting_axes: ClassVar[Sequence[Axis]] = (DATASET, ARCHITECTURE, K)
    job_axes: ClassVar[Sequence[str]] = ("dataset", "architecture")
    figures: ClassVar[Sequence[Figure]] = (
        Figure(
            "images_reliability",
            "Reliability diagrams: accuracy minus confidence in bins of confidence, a panel for "
            "each posterior. At zero, predictions are calibrated.",
            per_dataset=True,
        ),
        Figure(
            "images_shift",
            "Negative log-likelihood against the strength of a shift: a panel for each kind of "
            "shift, a line for each posterior.",
            per_dataset=True,
        ),
        Figure(
            "images_front",
            "Test negative log-likelihood against the seconds of training: a panel for each "
            "setting, a point for each posterior, and a line through those that no other one beats "
            "in both.",
        ),
        Figure(
            "images_selective",
            "Errors among the most confident images against their share: a panel for each setting, "
            "a line for each posterior.",
        ),
        Figure(
            "images_gallery",
            "The test images on which predictions differ most from those of the trained network, "
            "a row for each posterior, with the probabilities of both.",
            per_dataset=True,
            shows_data=True,
        ),
    )
    column_axis = "dataset"
    computation = f"{_HERE}.computation"
    drawing = f"{_HERE}.figures"
    gpu = "each"
    step_unit = ""
    measured_on = "of test images"

    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield a group for each dataset, architecture, number of factors and algorithm."""
        for dataset, architecture, factors, algorithm in product(
            config.datasets, config.architectures, config.K, config.algorithms
        ):
            axes: dict[str, AxisValue] = {
                "dataset": dataset,
                "architecture": architecture,
                "D": count_weights(dataset, architecture),
                "K": factors,
                "algorithm": algorithm,
            }
            parameters = {
                "training": config.training_of(architecture),
                "evaluation": {name: getattr(config, name) for name in _EVALUATION},
                "data": {name: digest_of(name) for name in (dataset, *self.tables_read(axes))},
                "unknown": list(UNKNOWN.get(dataset, ())),
            }
            yield axes, parameters

    def estimate_seconds(self, group: Group) -> float:
        """Estimate the seconds of a cell: its share of the training runs, and its predictions."""
        training, evaluation = group.parameters["training"], group.parameters["evaluation"]
        dataset, architecture = str(group.axes["dataset"]), str(group.axes["architecture"])
        seconds = _IMAGE + _MULTIPLICATION * ARCHITECTURES[architecture].multiplications
        if group.parameters.get("device", "cpu") != "cpu":
            seconds /= _GPU
        trained = _count_training(dataset, training["training_images"])
        epochs = training["epochs"] + training["walk_epochs"]
        asked = evaluation["test_images"] or images.describe(dataset).test
        asked += 20 * evaluation["shifted_images"] + evaluation["unknown_images"]
        return seconds * (_RUNS * trained * epochs + _FORWARD * evaluation["samples"] * asked)

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return the datasets and pretrained weights of a cell."""
        dataset = str(axes["dataset"])
        weights = ARCHITECTURES[str(axes["architecture"])].weights
        names = [dataset, *UNKNOWN.get(dataset, ()), *([weights] if weights else [])]
        bundled = {PHOTOGRAPHS, *(name for name in images.names() if images.describe(name).bundled)}
        return [name for name in names if name not in bundled]
