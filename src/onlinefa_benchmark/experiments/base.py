"""The base class of experiments, and the classes with which they are declared.

An experiment defines everything that is specific to it: its configuration, its cells, estimates of
their time, its metrics, figures and captions, and the computation. A new experiment is a file (or a
package) in this folder with a subclass of `Experiment`; the registry finds it, and all other parts
of the benchmark use the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from onlinefa_benchmark import axes as common_axes
from onlinefa_benchmark import metrics as additional_metrics
from onlinefa_benchmark.axes import Axis, AxisValue
from onlinefa_benchmark.experiments._config import (
    Count,
    ExperimentConfig,
    MoreSeeds,
    NetworkExperimentConfig,
    NumberOnly,
    Positive,
    Seed,
    Several,
    Strict,
    check_below,
    check_known,
    count_weights,
)
from onlinefa_benchmark.metrics.base import Kind, Metric

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from onlinefa_benchmark.algorithms import AlgorithmFacts
    from onlinefa_benchmark.cells import Cell, Group
    from onlinefa_benchmark.context import Context
    from onlinefa_benchmark.measurement import Measurement

__all__ = [
    "Axis",
    "Count",
    "Experiment",
    "ExperimentConfig",
    "ExtraTable",
    "Figure",
    "GroupSpec",
    "Kind",
    "Metric",
    "MoreSeeds",
    "NetworkExperimentConfig",
    "NumberOnly",
    "Positive",
    "Seed",
    "Several",
    "Strict",
    "check_below",
    "check_known",
    "count_weights",
]

GroupSpec = tuple[dict[str, AxisValue], dict[str, Any]]
"""The axes of a group of cells, and the parameters that the experiment adds."""


@dataclass(frozen=True)
class Figure:
    """A figure of an experiment.

    Its drawing function has the same name and is in the experiment's module `drawing`. It takes the
    experiment and a data frame (the summary, or the comparison) and returns a matplotlib figure. If
    the figure shows data, it also takes the folder of fetched datasets.

    Parameters
    ----------
    name : str
        Name of its files and of its drawing function.
    alternative_text : str
        What it shows, in words, whatever the results are.
    from_comparison : bool, default=False
        Whether it is drawn from the comparison; without ``compared_with`` there is none.
    per_dataset : bool, default=False
        Whether there is one picture for each dataset.
    metric : str, default=""
        The additional metric that it shows; such a figure has no drawing function of its own.
    shows_data : bool, default=False
        Whether it shows rows or images of datasets.
    """

    name: str
    alternative_text: str
    from_comparison: bool = False
    per_dataset: bool = False
    metric: str = ""
    shows_data: bool = False


@dataclass(frozen=True)
class ExtraTable:
    """A table of an experiment besides those of its metrics.

    Its function has the same name and is in the experiment's module `drawing`. It takes the
    experiment's configuration and the folder of fetched datasets, or the configuration and the
    summary, and returns the rows, a caption, a header and the lines that readers see.

    Parameters
    ----------
    name : str
        Name of the table and of its function.
    from_summary : bool, default=False
        Whether the function takes the summary, a DataFrame, instead of the folder of datasets.
    """

    name: str
    from_summary: bool = False


class Experiment(ABC):
    """Base class of experiments.

    Attributes
    ----------
    name : str
        Key in a configuration, and name in the results.
    title : str
        Title for readers.
    description : str
        What it is, for the table of configuration keys.
    Config : type
        Model of the experiment's keys in a configuration.
    metrics : sequence of Metric
        Metrics that have a table.
    setting_axes : sequence of Axis
        Axes that define a setting; algorithms are compared within a setting.
    job_axes : sequence of str
        Axes that the path of a job names. Cells that differ in other axes share a job.
    figures, extra_tables : sequences
        What is drawn and written besides the tables of metrics.
    column_axis : str
        Axis whose values are the columns of a table.
    computation : str
        Module with the function ``run(cell, context)``, which yields measurements; by default the
        module of the class. Its code, with all that it imports, is part of a cell's fingerprint.
    drawing : str
        Module with the functions of figures and extra tables; by default that of the class.
    additional_metric_kind : {"gaussian", "predictive"} or None
        Kind of metrics that a configuration may add.
    gpu : {"none", "each", "batch"}
        Whether cells run on a GPU: not at all, one by one, or all seeds of a group at once. For
        ``"batch"`` the computation has a function ``trial(cell, context)`` as well.
    step_unit : str
        What steps are counted in; empty if there is one measurement, at the end.
    measured_on : str
        For experiments with one measurement: what it is measured on, for captions.
    test_share : float
        Share of a table's rows that a seed holds out, if another seed is another split of the same
        table; 0 if seeds do not share data.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    Config: ClassVar[type[ExperimentConfig]]
    metrics: ClassVar[Sequence[Metric]]
    setting_axes: ClassVar[Sequence[Axis]]
    job_axes: ClassVar[Sequence[str]]
    figures: ClassVar[Sequence[Figure]] = ()
    extra_tables: ClassVar[Sequence[ExtraTable]] = ()
    column_axis: ClassVar[str] = "algorithm"
    computation: ClassVar[str]
    drawing: ClassVar[str]
    additional_metric_kind: ClassVar[Kind | None] = None
    gpu: ClassVar[Literal["none", "each", "batch"]] = "none"
    step_unit: ClassVar[str] = "observations"
    measured_on: ClassVar[str] = ""
    test_share: ClassVar[float] = 0.0

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for role in ("computation", "drawing"):
            if not hasattr(cls, role):
                setattr(cls, role, cls.__module__)

    # -- cells ---------------------------------------------------------------------------------

    @abstractmethod
    def groups(self, config: Any) -> Iterator[GroupSpec]:
        """Yield the axes of each group of cells, and the parameters that the experiment adds."""

    @abstractmethod
    def estimate_seconds(self, group: Group) -> float:
        """Estimate the seconds of one cell of a group, to within a factor of about five."""

    def algorithm_parameters(self, config: Any, facts: AlgorithmFacts) -> dict[str, Any]:
        """Return parameters that only some algorithms depend on, given facts of an algorithm."""
        return {}

    def job_axes_of(self, config: Any, algorithm: str, base: str) -> Sequence[str]:
        """Return the axes that the path of a job names, given the algorithm and its base."""
        return self.job_axes

    def tables_read(self, axes: Mapping[str, AxisValue]) -> list[str]:
        """Return the names of the tables that a cell reads."""
        return []

    # -- computation ---------------------------------------------------------------------------

    def computation_of(self, axes: Mapping[str, AxisValue]) -> str:
        """Return the module that computes a cell, given its axes."""
        return self.computation

    def run(self, cell: Cell, context: Context) -> Iterator[Measurement]:
        """Compute a cell."""
        module = import_module(self.computation_of(cell.axes))
        measurements: Iterator[Measurement] = module.run(cell, context)
        return measurements

    @property
    def overlap(self) -> float:
        """Ratio of test rows to training rows, by which the seeds of a table are correlated."""
        return self.test_share / (1 - self.test_share)

    # -- what readers see ----------------------------------------------------------------------

    def all_figures(self, added: Sequence[str] = ()) -> list[Figure]:
        """Return the figures, with one for each metric that a configuration adds."""
        return [*self.figures, *map(self._figure_of_metric, added)]

    def _figure_of_metric(self, name: str) -> Figure:
        label = additional_metrics.load(name).label
        text = f"Final values of the metric {label}, with standard errors: a panel for each setting"
        return Figure(f"{self.name}_{name}", f"{text}, a line for each algorithm.", metric=name)

    def draw(self, figure: Figure, rows: pd.DataFrame, datasets: Path | None = None) -> Any:
        """Draw a figure of the experiment's own from the summary or the comparison."""
        function = getattr(import_module(self.drawing), figure.name)
        return function(self, rows, datasets) if figure.shows_data else function(self, rows)

    def make_table(self, table: ExtraTable, config: Any, datasets: Path, summary: Any) -> Any:
        """Make an extra table from the configuration and the folder of datasets or the summary."""
        function = getattr(import_module(self.drawing), table.name)
        return function(config, summary if table.from_summary else datasets)

    def axis(self, name: str) -> Axis:
        """Return the axis of that name."""
        own = {axis.name: axis for axis in self.setting_axes}
        return own.get(name) or common_axes.COMMON.get(name) or Axis(name)

    @property
    def own_axes(self) -> list[Axis]:
        """Axes that only this experiment has, each a further column of its results."""
        return [axis for axis in self.setting_axes if axis.name not in common_axes.COMMON]

    @property
    def setting_keys(self) -> list[str]:
        """Names of the axes in which settings differ."""
        return [axis.name for axis in self.setting_axes]

    def all_metrics(self, config: ExperimentConfig | None = None) -> dict[str, Metric]:
        """Return the metrics by name, with those that a configuration adds."""
        added = config.metrics or () if config else ()
        extra = [additional_metrics.load(name).named(name) for name in added]
        return {metric.name: metric for metric in (*self.metrics, *extra)}

    def step_phrase(self, rows: pd.DataFrame) -> str:
        """Return when the last measurement was made, for captions."""
        if self.measured_on:
            return self.measured_on
        step = f"{rows['step'].max():,}"
        return f"at T = {step}" if self.step_unit == "observations" else f"after {step} epochs"
