"""The typed configuration: what may be in a config, and what it means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from itertools import pairwise, product
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from onlinefa import algorithms, data, estimators
from onlinefa.models import toy
from onlinefa.models.sgd_walk import WalkName
from onlinefa.names import complaint, nearest, needs_package

Count = Annotated[int, Field(strict=True, ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(strict=True, ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Experiment(_Strict, ABC):
    """What all experiments are told."""

    algorithms: list[str] = Field(
        description="algorithms to compare, names of src/onlinefa/estimators or of `variants`"
    )
    seeds: list[Seed] = Field(description="a list of seeds, or their number n for 0 to n - 1")

    @abstractmethod
    def dimensions(self) -> list[int]:
        """The dimensions of its data."""

    def seeds_of(self, algorithm: str) -> list[int]:
        """The seeds that an algorithm is tried with."""
        return self.seeds

    @field_validator("seeds", mode="before")
    @classmethod
    def _number_of_seeds(cls, seeds: Any) -> Any:
        is_number = isinstance(seeds, int) and not isinstance(seeds, bool)
        return list(range(seeds)) if is_number else seeds

    @field_validator("*")
    @classmethod
    def _not_empty_no_duplicates(cls, values: Any) -> Any:
        if not isinstance(values, list | dict):
            return values
        if not values:
            raise ValueError("is empty, so there is nothing to run")
        items = list(values)
        repeated = sorted({str(value) for value in items if items.count(value) > 1})
        if repeated:
            raise ValueError(f"has {repeated[0]} more than once")
        return values

    @field_validator("algorithms")
    @classmethod
    def _known(cls, algorithms: list[str], info: ValidationInfo) -> list[str]:
        variants = info.context  # a configuration that was checked before comes without
        if variants is not None:
            for name in algorithms:
                if text := complaint(name, cls.known_algorithms(), variants):
                    raise ValueError(text)
        return algorithms

    @classmethod
    def known_algorithms(cls) -> list[str]:
        """What it can compare."""
        return estimators.names()


def _check_below(K: list[int], D: dict[str, int]) -> list[int]:
    """Every K must be below every D; `D` has them by what a message says of them."""
    if D:
        name, smallest = min(D.items(), key=lambda item: item[1])
        if max(K) >= smallest:
            raise ValueError(f"{max(K)} must be below every D, and {name}")
    return K


class Synthetic(Experiment):
    """Chapter 5: synthetic factor models."""

    D: list[Count] = Field(description="observation dimensions")
    K: list[Count] = Field(description="latent dimensions, each below each D")
    spectrum: list[tuple[Count, Count]] = Field(
        description="ranges [low, high] of s^2 in Algorithm 3"
    )
    T: list[Count] = Field(description="sample sizes at which a fit is measured, increasing")

    def dimensions(self) -> list[int]:
        return self.D

    @field_validator("K")
    @classmethod
    def _below_every_dimension(cls, K: list[int], info: ValidationInfo) -> list[int]:
        return _check_below(K, {f"D has {D}": D for D in info.data.get("D", [])})

    @field_validator("spectrum")
    @classmethod
    def _low_below_high(cls, spectrum: list[tuple[int, int]]) -> list[tuple[int, int]]:
        for low, high in spectrum:
            if low >= high:
                raise ValueError(f"[{low}, {high}] must have its low below its high")
        return spectrum

    @field_validator("T")
    @classmethod
    def _increasing(cls, T: list[int]) -> list[int]:
        for before, after in pairwise(T):
            if after <= before:
                raise ValueError(f"must be increasing, and {after} follows {before}")
        return T


class Scale(Synthetic):
    """Chapter 5 in other units."""

    scales: list[Positive] = Field(description="numbers that all observations are multiplied by")


class Change(Synthetic):
    """Chapter 5 with a model that is replaced on the way."""

    change_at: Count = Field(description="observations of the first model, fewer than the last T")

    @field_validator("change_at")
    @classmethod
    def _on_the_way(cls, change_at: int, info: ValidationInfo) -> int:
        T = info.data.get("T")
        if T and change_at >= T[-1]:
            raise ValueError(f"{change_at} must be below the last T, {T[-1]}")
        return change_at


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
        return _check_below(K, {f"{name} has {D[name]} weights": D[name] for name in D})


class Limit(_Strict):
    """Where an algorithm is tried that would take too long elsewhere."""

    datasets: list[str] | None = Field(default=None, min_length=1, description="only these")
    widths: list[Count] | None = Field(default=None, min_length=1, description="only these")
    seeds: Count | None = Field(default=None, description="only the first so many")

    def allows(self, dataset: str, width: int) -> bool:
        return dataset in (self.datasets or [dataset]) and width in (self.widths or [width])


class GP(Experiment):
    """Chapter 7: sampled networks and the Gaussian process that wide ones become."""

    MOST_ROWS: ClassVar[int] = 5000  # a Cholesky decomposition takes as long as their cube

    algorithms: list[str] = Field(
        description="posteriors to compare, names of src/onlinefa/posteriors, or algorithms that "
        "are fitted to SGD's walk, as elsewhere"
    )
    batch: Count = Field(description="rows of the table in a step of SGD")
    datasets: list[str] = Field(
        description="`toy`, a curve with a gap, or tables, names of src/onlinefa/data"
    )
    widths: list[Count] = Field(description="hidden units; features, for `random_features`, ...")
    K: Annotated[int, Field(strict=True, ge=2)] = Field(
        description="latent dimension of what is fitted to the walk"
    )
    samples: Count = Field(description="networks that are drawn from each posterior")
    iterations: Count = Field(description="of L-BFGS, to the most likely network")
    learning_rate: Annotated[float, Field(gt=0, lt=1)] = Field(
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
        """Of a network: for each unit one per input, its bias and what leads on; a last bias."""
        inputs = 1 if dataset == "toy" else len(data.table(dataset).inputs)
        return width * (inputs + 2) + 1

    def limit(self, algorithm: str) -> Limit:
        return (self.limits or {}).get(algorithm, Limit())

    def seeds_of(self, algorithm: str) -> list[int]:
        return self.seeds[: self.limit(algorithm).seeds]

    @field_validator("algorithms")
    @classmethod
    def _needs_pytorch(cls, algorithms: list[str]) -> list[str]:
        if find_spec("torch") is None:
            raise ValueError(needs_package("PyTorch", "networks"))
        return algorithms

    @field_validator("datasets")
    @classmethod
    def _known_tables(cls, datasets: list[str], info: ValidationInfo) -> list[str]:
        batch = info.data.get("batch", 1)
        for name in datasets:
            _check_known(name, ["toy", *data.names()])
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
        _check_below([K], {f"{name}, {H} has {D[name, H]} weights": D[name, H] for name, H in D})
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
            _check_known(name, info.data.get("algorithms", [name]))
            for key in ("datasets", "widths"):
                for value in getattr(limit, key) or []:
                    _check_known(str(value), list(map(str, info.data.get(key, [value]))))
        return limits


def _training_rows(dataset: str) -> int:
    """Of a table, nine tenths are learned from."""
    if dataset == "toy":
        return toy.N
    rows = data.table(dataset).rows
    return rows - rows // 10


def _check_known(name: str, allowed: list[str]) -> None:
    if name not in allowed:
        raise ValueError(f"unknown name '{name}'{nearest(name, allowed)}")


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


EXPERIMENTS: dict[str, type[Experiment]] = {
    "synthetic": Synthetic,
    "eigenvalues": Synthetic,
    "components": Synthetic,
    "scale": Scale,
    "change": Change,
    "linear": Linear,
    "plane": Plane,
    "gp": GP,
}


class Variant(BaseModel):
    """An algorithm with other settings, to be compared under a name of its own."""

    model_config = ConfigDict(extra="allow", frozen=True)

    algorithm: str

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class Config(_Strict):
    """Everything that a run of the workflow is told."""

    root_seed: Seed = Field(description="changes every random number of the benchmark")
    seeds_per_job: Count = Field(
        description="how many seeds one process fits; no result depends on it"
    )
    job_minutes: Positive | None = Field(
        default=None,
        description="instead of `seeds_per_job`: as many seeds as take about so long, for clusters",
    )
    device: Literal["cpu", "cuda", "auto"] = Field(
        default="cpu",
        description="`cuda`: networks, and algorithms that can fit the seeds of a job at once, on "
        "a GPU; `auto`: if there is one",
    )

    @field_validator("device")
    @classmethod
    def _needs_pytorch(cls, device: str) -> str:
        if device != "cpu" and find_spec("torch") is None:
            raise ValueError(f"{device} {needs_package('PyTorch', 'networks')}")
        return device

    settings: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="settings of algorithms that differ from their defaults"
    )
    variants: dict[str, Variant] = Field(
        default_factory=dict,
        description="names for algorithms with other settings: `{name: {algorithm: ..., ...}}`",
    )
    data_dir: str | None = Field(
        default=None,
        description="a folder with tables of your own, relative to where you run snakemake",
    )
    synthetic: Synthetic | None = Field(
        default=None, description="chapter 5: synthetic factor models"
    )
    eigenvalues: Synthetic | None = Field(
        default=None, description="as `synthetic`, with models whose eigenvalues are s^2"
    )
    components: Synthetic | None = Field(
        default=None, description="as `synthetic`, for algorithms that choose K themselves"
    )
    scale: Scale | None = Field(
        default=None, description="as `synthetic`, with observations in other units"
    )
    change: Change | None = Field(
        default=None, description="as `synthetic`, with a model that is replaced on the way"
    )
    linear: Linear | None = Field(
        default=None, description="chapter 6: linear regression on UCI tables"
    )
    plane: Plane | None = Field(default=None, description="chapter 6 in two dimensions")
    gp: GP | None = Field(
        default=None, description="chapter 7: sampled networks and their Gaussian process"
    )
