"""What the experiments with trained networks are told: regression on tables, and digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from onlinefa import algorithms, data, posteriors
from onlinefa.config.base import (
    Count,
    OfNetworks,
    Positive,
    Several,
    check_below,
    check_known,
    weights,
)

# Of scikit-learn's digits; images are those that are neither the test nor held back.
_PIXELS, _CLASSES, _IMAGES = 64, 10, 1151


class Trained(OfNetworks):
    """How networks are trained, and what decides between their hyperparameters."""

    width: Count = Field(description="hidden units")
    K: Several = Field(description="latent dimension of what is fitted to the walk")
    samples: Count = Field(description="networks that are drawn from each posterior")
    candidates: Count = Field(
        description="random choices of learning rate, prior precision and noise precision, of "
        "which each algorithm takes its best on a fifth of the training rows"
    )
    runs: Count = Field(description="networks from different starts, for ensembles and mixtures")
    batch: Count = Field(description="rows in a step")
    steps: Count = Field(description="steps of Adam from a start to a mode, nearly")
    learning_rate: Positive = Field(description="of Adam, before it falls to zero")
    walk: Count = Field(description="steps of SGD, with a constant rate, from there on")
    every: Count = Field(description="steps of SGD between two observations of the weights")

    @classmethod
    def known_algorithms(cls) -> list[str]:
        """Not what others are held against in chapter 7."""
        references = [name for name in posteriors.names() if posteriors.is_reference(name)]
        return [name for name in algorithms.names() if name not in references]

    @field_validator("every")
    @classmethod
    def _enough_observations(cls, every: int, info: ValidationInfo) -> int:
        walk, K = info.data.get("walk"), info.data.get("K")
        if walk and K and walk // every <= K:
            raise ValueError(
                f"{every} leaves {walk // every} observations of the walk, and more than K ({K}) "
                "are needed"
            )
        return every


class Network(Trained):
    """MultiSWAG and others on regression tables."""

    datasets: list[str] = Field(description="tables, names of src/onlinefa/data")
    splits: dict[str, Count] | None = Field(
        default=None, description="`{dataset: n}`: no more than the first n seeds, of large tables"
    )

    def seeds_allowed(self, axes: Mapping[str, Any]) -> int | None:
        return (self.splits or {}).get(str(axes["dataset"]))

    @field_validator("splits")
    @classmethod
    def _of_what_is_there(
        cls, splits: dict[str, int] | None, info: ValidationInfo
    ) -> dict[str, int] | None:
        for name in splits or {}:
            check_known(name, info.data.get("datasets", [name]))
        return splits

    def dimensions(self) -> list[int]:
        return [self.weights(name) for name in self.datasets]

    def weights(self, dataset: str) -> int:
        """Of a network for a dataset."""
        return weights(len(data.table(dataset).inputs), self.width)

    @field_validator("datasets")
    @classmethod
    def _known_tables(cls, datasets: list[str], info: ValidationInfo) -> list[str]:
        for name in datasets:
            check_known(name, data.names())
            rows = data.table(name).rows * 72 // 100  # a tenth is held out, a fifth of the rest
            if rows < info.data.get("batch", 1):
                raise ValueError(
                    f"{name} has {rows} rows to learn from, fewer than a batch "
                    f"({info.data['batch']})"
                )
        return datasets

    @field_validator("datasets")
    @classmethod
    def _more_weights_than_factors(cls, datasets: list[str], info: ValidationInfo) -> list[str]:
        width, K = info.data.get("width"), info.data.get("K")
        if width and K:
            D = {name: weights(len(data.table(name).inputs), width) for name in datasets}
            check_below([K], {f"{name} has {D[name]} weights": D[name] for name in D})
        return datasets


class Digits(Trained):
    """The same with scikit-learn's handwritten digits, in ten classes."""

    def dimensions(self) -> list[int]:
        return [self.weights()]

    def weights(self) -> int:
        return weights(_PIXELS, self.width, _CLASSES)

    @field_validator("K")
    @classmethod
    def _fewer_factors_than_weights(cls, K: int, info: ValidationInfo) -> int:
        D = weights(_PIXELS, info.data.get("width", 1), _CLASSES)
        check_below([K], {f"there are {D} weights": D})
        return K

    @field_validator("batch")
    @classmethod
    def _no_more_than_there_are(cls, batch: int) -> int:
        if batch > _IMAGES:
            raise ValueError(f"there are {_IMAGES} images to learn from, fewer than {batch}")
        return batch
