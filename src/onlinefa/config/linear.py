"""What chapter 6's experiments are told: SGD's walk, over UCI tables and in a plane."""

from __future__ import annotations

from pydantic import Field, ValidationInfo, field_validator

from onlinefa import data
from onlinefa.config.base import Count, Experiment, MoreSeeds, Positive, check_below
from onlinefa.models.sgd_walk import WalkName
from onlinefa.names import nearest


class Walking(Experiment):
    """What experiments that follow SGD are told."""

    batch: Count = Field(description="rows of the table in a step of SGD")
    warm_up: Count = Field(description="epochs before the first weights are observed")
    every: Count = Field(
        description="epochs between two measurements; ten times as many for batch algorithms"
    )
    epochs: Count = Field(description="epochs of a walk, the warm-up among them")

    @field_validator("epochs")
    @classmethod
    def _whole_measurements(cls, epochs: int, info: ValidationInfo) -> int:
        warm_up, every = info.data.get("warm_up"), info.data.get("every")
        if warm_up and every and (epochs <= warm_up or (epochs - warm_up) % every):
            raise ValueError(
                f"{epochs} must be warm_up ({warm_up}) plus 1, 2, ... times every ({every})"
            )
        return epochs


class Linear(Walking):
    """Chapter 6: linear regression on UCI tables."""

    datasets: list[str] = Field(description="tables, names of src/onlinefa/data")
    K: list[Count] = Field(description="latent dimensions, each below each table's weights")
    walks: list[WalkName] = Field(
        description="batches reshuffled every epoch or drawn with replacement; `_averaged`: means "
        "over epochs"
    )
    learning_rate: Positive = Field(
        description="of SGD; Table 6.1 has the rates from which on it diverges"
    )

    def dimensions(self) -> list[int]:
        return [data.table(name).dimension for name in self.datasets]

    @field_validator("datasets")
    @classmethod
    def _known_tables(cls, datasets: list[str]) -> list[str]:
        for name in datasets:
            if name not in data.names():
                raise ValueError(f"unknown dataset '{name}'{nearest(name, data.names())}")
        return datasets

    @field_validator("datasets")
    @classmethod
    def _larger_than_a_batch(cls, datasets: list[str], info: ValidationInfo) -> list[str]:
        batch = info.data.get("batch", 1)
        for name in datasets:
            if data.table(name).rows < batch:
                raise ValueError(
                    f"{name} has {data.table(name).rows} rows, fewer than a batch ({batch})"
                )
        return datasets

    @field_validator("K")
    @classmethod
    def _below_every_dimension(cls, K: list[int], info: ValidationInfo) -> list[int]:
        D = {name: data.table(name).dimension for name in info.data.get("datasets", [])}
        return check_below(K, {f"{name} has {D[name]} weights": D[name] for name in D})


class Plane(Walking):
    """Chapter 6 in two dimensions, to be drawn."""

    rates: list[Positive] = Field(description="learning rates of SGD, a panel for each")

    def dimensions(self) -> list[int]:
        return [2]

    @field_validator("seeds")
    @classmethod
    def _one_walk(cls, seeds: list[int]) -> list[int]:
        if len(seeds) > 1:
            raise ValueError("must be one: every seed has a table of its own, and one is drawn")
        return seeds

    @field_validator("more_seeds")
    @classmethod
    def _no_other_walk(cls, more: MoreSeeds | None) -> MoreSeeds | None:
        if more is not None:
            raise ValueError("cannot be given: seeds must be one")
        return more
