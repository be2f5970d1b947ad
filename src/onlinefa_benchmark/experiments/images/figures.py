"""Figures of deep networks on images: small panels instead of many lines in one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, ScalarFormatter

from onlinefa_benchmark.axes import ALGORITHM
from onlinefa_benchmark.datasets import images
from onlinefa_benchmark.experiments.base import Experiment
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.models.image_shifts import SHIFTS
from onlinefa_benchmark.plotting.panels import new_panels
from onlinefa_benchmark.plotting.style import draw_placeholder
from onlinefa_benchmark.statistics.frames import sorted_values
from onlinefa_benchmark.statistics.seeds import describe_seeds

_BINS = ("bin_share", "confidence", "bin_accuracy")
_GALLERY = ("gallery_image", "gallery_probability", "gallery_map_probability")
_CLASSES_SHOWN = 3
_SETTING = ["dataset", "architecture", "K"]
_NOTHING = "networks that could be fitted"
_LEAST_COVERAGE = 50  # per cent; there are hardly any errors below it


def images_reliability(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw accuracy minus confidence against confidence: a panel for each algorithm."""
    rows = _largest_setting(summary[summary["metric"].isin(_BINS)])
    if rows["mean"].isna().all():
        return draw_placeholder(_NOTHING)
    algorithms = sorted_values(rows, ALGORITHM)
    figure, axes = new_panels(
        len(algorithms),
        lambda across, down: (1 + 2.1 * across, 0.9 + 1.9 * down),
        sharex=True,
        sharey=True,
    )
    wide = rows.pivot(index=["algorithm", "i"], columns="metric", values="mean").reset_index()
    for algorithm, axis in zip(algorithms, axes.flat, strict=False):
        own, drawn = wide[wide["algorithm"] == algorithm].dropna(), look(algorithm)
        gap = 100 * (own["bin_accuracy"] - own["confidence"])
        doubt = 1 - own["confidence"]  # most confidences are close to one
        axis.axhline(0, color="black", linewidth=0.8)
        axis.plot(doubt, gap, color=drawn.colour, linewidth=0.8)
        axis.scatter(doubt, gap, 4 + 200 * own["bin_share"], color=drawn.colour, alpha=0.6)
        axis.set_xscale("log")
        axis.set_title(drawn.label, fontsize="small")
    axes.flat[0].invert_xaxis()
    figure.supxlabel("1 - confidence; further right is more sure", fontsize="small")
    figure.supylabel("accuracy minus confidence (per cent)", fontsize="small")
    figure.suptitle(
        f"{_describe_setting(rows)}. Below zero is overconfident; the area of a point is the share "
        f"of images;\n{describe_seeds(rows, experiment.setting_keys, 'mean')}",
        fontsize="small",
    )
    return figure


def images_shift(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the likelihood against the strength of shifts: a panel for each kind."""
    rows = _largest_setting(summary[summary["metric"] == "shift_nll"])
    if rows["mean"].isna().all():
        return draw_placeholder(_NOTHING)
    algorithms = sorted_values(rows, ALGORITHM)
    figure, axes = new_panels(
        len(SHIFTS), lambda across, down: (1.5 + 2.5 * across, 2.4 + 2.3 * down), sharex=True
    )
    for number, (kind, axis) in enumerate(zip(SHIFTS, axes.flat, strict=False)):
        here = rows[rows["i"] == number]
        for algorithm in algorithms:
            own = here[here["algorithm"] == algorithm].sort_values("j")
            axis.plot(own["j"], own["mean"], label=look(algorithm).label, **_style(algorithm))
        axis.set(title=kind, xlabel="strength", xticks=range(1, 6))
    axes.flat[0].set_ylabel("negative log-likelihood (nats per image)")
    _add_legend(
        figure,
        axes.flat[:1],
        f"{_describe_setting(rows)}, lower is better; "
        + describe_seeds(rows, experiment.setting_keys, "mean"),
    )
    return figure


def images_front(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the likelihood against the time of training: a panel for each setting."""
    rows = summary[summary["metric"] == "class_nll"]
    if rows["mean"].isna().all():
        return draw_placeholder(_NOTHING)
    settings = _split_settings(rows)
    figure, axes = new_panels(
        len(settings), lambda across, down: (max(8.5, 1 + 3.8 * across), 1.6 + 3.4 * down)
    )
    for (setting, own), axis in zip(settings, axes.flat, strict=False):
        _draw_front(axis, own.set_index("algorithm"))
        axis.set(
            xscale="log",
            xlabel="seconds of training and fit",
            ylabel="test negative log-likelihood",
            title=_name_setting(*setting),
        )
        axis.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.xaxis.set_major_formatter(ScalarFormatter())
        axis.xaxis.set_minor_formatter(ScalarFormatter())
    _add_legend(
        figure,
        axes.flat[: len(settings)],
        "no posterior is both better and faster than those on the line; "
        + describe_seeds(rows, experiment.setting_keys, "mean"),
    )
    return figure


def images_selective(experiment: Experiment, summary: pd.DataFrame) -> Figure:
    """Draw the error rate of the most confident images against their share."""
    rows = summary[(summary["metric"] == "selective_accuracy") & (summary["i"] >= _LEAST_COVERAGE)]
    if rows["mean"].isna().all():
        return draw_placeholder(_NOTHING)
    settings = _split_settings(rows)
    figure, axes = new_panels(
        len(settings), lambda across, down: (max(8.5, 1 + 3.8 * across), 1.8 + 3 * down)
    )
    for (setting, here), axis in zip(settings, axes.flat, strict=False):
        for algorithm in sorted_values(here, ALGORITHM):
            own = here[here["algorithm"] == algorithm].sort_values("i")
            error = 100 * (1 - own["mean"])
            axis.plot(own["i"], error, label=look(algorithm).label, **_style(algorithm))
        axis.set(
            xlabel="share of images, the most confident first (per cent)",
            ylabel="errors among them (per cent)",
            title=_name_setting(*setting),
        )
    _add_legend(
        figure,
        axes.flat[: len(settings)],
        "lower is better; " + describe_seeds(rows, experiment.setting_keys, "mean"),
    )
    return figure


def images_gallery(experiment: Experiment, summary: pd.DataFrame, datasets: Path | None) -> Figure:
    """Draw images with the probabilities of a posterior and of the trained network."""
    rows = _largest_setting(summary[summary["metric"].isin(_GALLERY)])
    rows = rows[(rows["algorithm"] != "deep_map") & rows["mean"].notna()]
    if rows.empty:
        return draw_placeholder("seed 0, whose images are shown")
    name = rows["dataset"].iloc[0]
    data = images.read(name, datasets or Path())
    classes = images.describe(name).classes
    algorithms = sorted_values(rows, ALGORITHM)
    places = sorted(rows["i"].unique())
    figure, axes = plt.subplots(
        len(algorithms),
        2 * len(places),
        squeeze=False,
        layout="constrained",
        figsize=(1.4 + 3.2 * len(places), 0.9 + 1.15 * len(algorithms)),
        width_ratios=[1, 2.2] * len(places),
    )
    for line, algorithm in zip(axes, algorithms, strict=True):
        own = rows[rows["algorithm"] == algorithm]
        line[0].set_ylabel(
            look(algorithm).label.replace(", ", ",\n"), rotation=0, ha="right", va="center"
        )
        for place, picture, bars in zip(places, line[::2], line[1::2], strict=True):
            values = own[own["i"] == place].set_index("metric")
            number = int(values["mean"].get("gallery_image", -1))
            _draw_image(picture, data.images[number])
            _draw_probabilities(bars, values, int(data.labels[number]), classes, algorithm)
    figure.suptitle(
        f"{_describe_setting(rows)}, seed 0. Upper bars: the posterior; lower bars, in grey: the "
        "trained network; *: the true class",
        fontsize="small",
    )
    return figure


def _draw_image(axis: Axes, image: Any) -> None:
    colours = image.transpose(1, 2, 0)
    axis.imshow(colours[..., 0] if colours.shape[2] == 1 else colours, cmap="gray_r")
    axis.set(xticks=[], yticks=[])
    for side in axis.spines.values():
        side.set_visible(False)


def _draw_probabilities(
    axis: Axes, values: pd.DataFrame, label: int, classes: Sequence[str], algorithm: str
) -> None:
    """Draw the probabilities of the most likely classes."""
    of_classes = values[values["j"].notna()].reset_index()
    wide = of_classes.pivot(index="j", columns="metric", values="mean")
    shown = wide.max(axis=1).nlargest(_CLASSES_SHOWN).index
    heights = range(len(shown))
    axis.barh(
        [height - 0.2 for height in heights],
        wide.loc[shown, "gallery_probability"],
        height=0.4,
        color=look(algorithm).colour,
    )
    axis.barh(
        [height + 0.2 for height in heights],
        wide.loc[shown, "gallery_map_probability"],
        height=0.4,
        color="0.7",
    )
    names = [f"{classes[int(j)]}{'*' if j == label else ''}" for j in shown]
    axis.set_yticks(heights, names, fontsize="x-small")
    axis.set(xlim=(0, 1), xticks=[0, 1])
    axis.tick_params(axis="x", labelsize="x-small")
    axis.invert_yaxis()


def _add_legend(figure: Figure, axes: Iterable[Axes], title: str) -> None:
    """Add a legend of all algorithms below the panels."""
    handles: dict[str, Any] = {}
    for axis in axes:
        found, labels = axis.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    figure.legend(
        handles.values(),
        handles.keys(),
        ncols=4,
        loc="outside lower center",
        fontsize="small",
        title=title,
    )


def _draw_front(axis: Axes, values: pd.DataFrame) -> None:
    for algorithm in sorted_values(values.reset_index(), ALGORITHM):
        own, drawn = values.loc[algorithm], look(algorithm)
        axis.plot(
            own["seconds"],
            own["mean"],
            color=drawn.colour,
            marker=drawn.marker,
            linestyle="none",
            label=drawn.label,
        )
    ordered = values.dropna(subset=["mean"]).sort_values("seconds")
    best = ordered[ordered["mean"] <= ordered["mean"].cummin()]
    axis.step(best["seconds"], best["mean"], where="post", color="black", linewidth=0.8, zorder=0)


def _split_settings(rows: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    """Return the rows of each setting."""
    return list(rows.groupby(_SETTING))


def _largest_setting(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one setting: the largest network and number of factors."""
    largest = rows[rows["D"] == rows["D"].max()]
    return largest[largest["K"] == largest["K"].max()]


def _describe_setting(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    return _name_setting(first["dataset"], first["architecture"], first["K"])


def _name_setting(dataset: Any, architecture: Any, K: Any) -> str:
    return f"{str(dataset).replace('_', ' ')}, {architecture}, K = {int(K)}"


def _style(algorithm: str) -> dict[str, Any]:
    drawn = look(algorithm)
    return {
        "color": drawn.colour,
        "marker": drawn.marker,
        "linestyle": drawn.line,
        "linewidth": 1.0,
        "markersize": 4,
    }
