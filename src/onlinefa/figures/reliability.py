"""Reliability of networks on digits: how often a prediction of some confidence is right."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from onlinefa.figures.style import nothing_to_draw
from onlinefa.presentation import in_order, look, over_seeds


def draw(summary: pd.DataFrame) -> Figure:
    """Accuracy less confidence, in bins of confidence, and how many images are in each."""
    bins = summary[summary["metric"].str.contains("[", regex=False)]
    if bins["mean"].isna().all():
        return nothing_to_draw("networks that could be fitted")
    names = bins["metric"].str.extract(r"(?P<quantity>\w+)\[(?P<bin>\d+)\]")
    wide = (
        bins.assign(**names)
        .pivot(index=["algorithm", "bin"], columns="quantity", values="mean")
        .reset_index()
        .dropna()
        .sort_values(by="confidence")
    )
    figure, (gap, share) = plt.subplots(
        2, 1, sharex=True, layout="constrained", figsize=(8, 6.4), height_ratios=[3, 1.4]
    )
    gap.axhline(0, color="black", linewidth=0.8)
    for algorithm in in_order(list(wide["algorithm"].unique())):
        own, drawn = wide[wide["algorithm"] == algorithm], look(algorithm)
        told = {
            "color": drawn.colour, "marker": drawn.marker, "linestyle": drawn.line, "linewidth": 1,
        }  # fmt: skip
        off = 100 * (own["bin_accuracy"] - own["confidence"])
        gap.plot(own["confidence"], off, label=drawn.label, **told)
        share.plot(own["confidence"], own["bin_share"], **told)
    gap.set_ylabel("accuracy less confidence (per cent)")
    share.set(xlabel="confidence", ylabel="share of images", yscale="log")
    figure.legend(
        *gap.get_legend_handles_labels(), ncols=4, loc="outside lower center", fontsize="small",
        title="above zero too timid, below it too bold; "
        + over_seeds(summary, "mean"),
    )  # fmt: skip
    return figure
