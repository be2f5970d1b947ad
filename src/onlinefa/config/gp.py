"""What chapter 7's experiment is told: networks, and where an algorithm is not tried."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from onlinefa import algorithms, data
from onlinefa.config.base import (
    Count,
    NumberOnly,
    OfNetworks,
    Several,
    Strict,
    check_below,
    check_known,
    weights,
)
from onlinefa.models import toy


class Limit(Strict):
    """Where an algorithm is tried that would take too long elsewhere."""

    datasets: list[str] | None = Field(default=None, min_length=1, description="only these")
    widths: list[Count] | None = Field(default=None, min_length=1, description="only these")
    seeds: Count | None = Field(default=None, description="only the first so many")

    def allows(self, dataset: str, width: int) -> bool:
        return dataset in (self.datasets or [dataset]) and width in (self.widths or [width])


class GP(OfNetworks):
    """Chapter 7: sampled networks and the Gaussian process that wide ones become."""

    MOST_ROWS: ClassVar[int] = 5000  # a Cholesky decomposition takes as long as their cube

    batch: Count = Field(description="rows of the table in a step of SGD")
    datasets: list[str] = Field(
        description="`toy`, a curve with a gap, or tables, names of src/onlinefa/data"
    )
    widths: list[Count] = Field(description="hidden units; features, for `random_features`, ...")
    K: Several = Field(description="latent dimension of what is fitted to the walk")
    samples: Count = Field(description="networks that are drawn from each posterior")
    iterations: Count = Field(description="of L-BFGS, to the most likely network")
    learning_rate: Annotated[float, NumberOnly, Field(gt=0, lt=1)] = Field(
        description="of SGD, as a share of the rate from which on descent with all rows diverges"
    )
    warm_up: Count = Field(description="epochs of SGD before the first weights are observed")
    epochs: Count = Field(description="epochs of SGD, the warm-up among them")
    every: Count = Field(description="steps of SGD between two observations of the weights")
    limits: dict[str, Limit] | None = Field(
        default=None,
        description="`{algorithm: {datasets: [...], widths: [...], seeds: n}}`: no others",
    )

    @classmethod
    def known_algorithms(cls) -> list[str]:
        return algorithms.names()

    def dimensions(self) -> list[int]:
        return [self.weights(*network) for network in product(self.datasets, self.widths)]

    @staticmethod
    def weights(dataset: str, width: int) -> int:
        """Of a network for a dataset."""
        inputs = 1 if dataset == "toy" else len(data.table(dataset).inputs)
        return weights(inputs, width)

    def limit(self, algorithm: str) -> Limit:
        return (self.limits or {}).get(algorithm, Limit())

    def seeds_allowed(self, axes: Mapping[str, Any]) -> int | None:
        return self.limit(str(axes["algorithm"])).seeds

    @field_validator("datasets")
    @classmethod
    def _known_tables(cls, datasets: list[str], info: ValidationInfo) -> list[str]:
        batch = info.data.get("batch", 1)
        for name in datasets:
            check_known(name, ["toy", *data.names()])
            rows = _training_rows(name)
            if rows < 10:
                raise ValueError(f"{name} has {rows} rows to learn from, too few to hold any out")
            if rows < batch:
                raise ValueError(
                    f"{name} has {rows} rows to learn from, fewer than a batch ({batch})"
                )
            if rows > cls.MOST_ROWS:
                raise ValueError(
                    f"{name} has {rows} rows to learn from; a Gaussian process can take "
                    f"{cls.MOST_ROWS}"
                )
        return datasets

    @field_validator("K")
    @classmethod
    def _below_every_dimension(cls, K: int, info: ValidationInfo) -> int:
        networks = product(info.data.get("datasets", []), info.data.get("widths", []))
        D = {network: cls.weights(*network) for network in networks}
        check_below([K], {f"{name}, {H} has {D[name, H]} weights": D[name, H] for name, H in D})
        return K

    @field_validator("epochs")
    @classmethod
    def _more_than_the_warm_up(cls, epochs: int, info: ValidationInfo) -> int:
        warm_up = info.data.get("warm_up")
        if warm_up and epochs <= warm_up:
            raise ValueError(f"{epochs} must be above warm_up, which is {warm_up}")
        return epochs

    @field_validator("every")
    @classmethod
    def _enough_observations(cls, every: int, info: ValidationInfo) -> int:
        told = info.data
        if {"batch", "datasets", "epochs", "warm_up", "K"} <= told.keys():
            for name in told["datasets"]:
                steps = _training_rows(name) // told["batch"] * (told["epochs"] - told["warm_up"])
                if steps // every <= told["K"]:
                    raise ValueError(
                        f"{every} leaves {steps // every} observations of the walk over {name}, "
                        f"and more than K ({told['K']}) are needed"
                    )
        return every

    @field_validator("limits")
    @classmethod
    def _of_what_is_there(
        cls, limits: dict[str, Limit] | None, info: ValidationInfo
    ) -> dict[str, Limit] | None:
        for name, limit in (limits or {}).items():
            check_known(name, info.data.get("algorithms", [name]))
            for key in ("datasets", "widths"):
                for value in getattr(limit, key) or []:
                    check_known(str(value), list(map(str, info.data.get(key, [value]))))
        return limits


def _training_rows(dataset: str) -> int:
    """Of a table, nine tenths are learned from."""
    if dataset == "toy":
        return toy.N
    rows = data.table(dataset).rows
    return rows - rows // 10
