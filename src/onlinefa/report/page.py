"""One file of HTML from what there is: text, tables, figures, scripts and styles, all inside."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from onlinefa.comparison import ranking
from onlinefa.config import Config
from onlinefa.figures import FIGURES
from onlinefa.figures.alternative_text import alternative_text
from onlinefa.files import atomic
from onlinefa.presentation import (
    EXPERIMENTS,
    METRICS,
    look,
    settings_of,
    spelled,
    title_of_figure,
)
from onlinefa.report import HERE, SCRIPTS, asset, charts, facts, verdicts
from onlinefa.report.material import Material
from onlinefa.tables import METRICS as METRICS_OF
from onlinefa.tables import compared, compared_metrics, ranks

_WIDEST = 1400  # pixels of a picture: as sharp as screens show it


def write_report(
    material: Sequence[Material], config: Config, pictures: Sequence[Path], output: Path
) -> None:
    """Write the page. Pictures are those of figures, in the order in which they are shown."""
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    shown = _by_experiment(pictures)
    coverage, costs = facts.coverage(material), facts.costs(material)
    core_hours = float(costs["core_hours"].sum())
    page = environment.get_template("page.html").render(
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=asset("style.css"),
        library=_library(),
        script="\n".join(map(asset, SCRIPTS)),
        data=_embedded(_data(material, coverage, costs)),
        experiments=[_section(each, shown[each.experiment]) for each in material],
        missing=facts.missing(material),
        number_missing=sum(len(each.missing) for each in material),
        troubles=facts.troubles(material),
        core_hours=core_hours,
        time_of_fits=_duration(3600 * core_hours),
        cells=int(coverage["cells"].sum()),
        provenance=facts.provenance(material, config),
    )
    with atomic(output) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _duration(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"


@cache
def _library() -> str:
    """Vega-Lite, by which the figures are drawn: a bundle that needs no network."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _embedded(data: Any) -> str:
    """As JSON in which no value can end the element that it is in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", r"\u003c").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")


def _data(
    material: Sequence[Material], coverage: pd.DataFrame, costs: pd.DataFrame
) -> dict[str, Any]:
    names = {name for each in material for name in each.rows["algorithm"].unique()}
    return {
        "algorithms": charts.looks(list(names)),
        "filters": charts.FILTERS,
        "experiments": {
            each.experiment: charts.chart(each.summary, each.experiment)
            | {"compared": _compared(each)}
            for each in material
            if each.summary is not None and each.has_values
        },
        "coverage": _labelled(coverage),
        "costs": _labelled(costs),
    }


def _labelled(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Lines of a table, with algorithms by the names that readers know."""
    named = table.assign(algorithm=[look(name).label for name in table["algorithm"]])
    return [
        {str(key): _short(value) for key, value in line.items()}
        for line in named.to_dict("records")
    ]


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _compared(each: Material) -> list[dict[str, Any]]:
    """The tests of each metric, and what its table says above them."""
    if each.comparison is None:
        return []
    tested = {
        metric: compared.compared_rows(each.comparison, metric)
        for metric in compared_metrics(each.experiment)
        if (each.comparison["metric"] == metric).any()
    }
    return [
        {
            "metric": metric,
            "caption": compared.caption(rows, metric),
            "settings": settings_of(rows),
            "lines": [_tested(row, settings_of(rows)) for row in rows.to_dict("records")],
        }
        for metric, rows in tested.items()
        if (rows["pairs"] + rows["lost"]).sum() > 0
    ]


def _tested(row: Mapping[Hashable, Any], keys: Sequence[str]) -> dict[str, Any]:
    numbers = ("difference", "standard_error", "pairs", "lost", "p_holm", "seeds_needed")
    return (
        {key: spelled(key, row[key]) for key in keys}
        | {name: row[name] for name in ("algorithm", "shown")}
        | {name: _finite(row[name]) for name in numbers}
    )


def _finite(value: float) -> float | str | None:
    if pd.isna(value):
        return None
    return "Infinity" if math.isinf(value) else float(f"{value:.6g}")


def _section(each: Material, pictures: Sequence[dict[str, str]]) -> dict[str, Any]:
    """What is written of an experiment before any script has run."""
    section: dict[str, Any] = {
        "name": each.experiment,
        "title": EXPERIMENTS[each.experiment],
        "pictures": pictures,
        "headline": "There is not a single value.",
        "verdicts": [],
        "ranks": None,
    }
    if each.summary is not None and (metric := verdicts.main_metric(each.summary, each.experiment)):
        found = verdicts.verdicts(each.summary, metric)
        section["headline"] = verdicts.headline(each.summary, metric, found)
        section["verdicts"] = [
            asdict(verdict) | {"how_sure": verdict.how_sure, "is_clear": verdict.is_clear}
            for verdict in found
        ]
    if each.comparison is not None:
        section["ranks"] = _ranks(each.comparison, METRICS_OF[each.experiment])
    return section


def _ranks(comparison: pd.DataFrame, metrics: Sequence[str]) -> dict[str, Any]:
    found = {metric: ranking(comparison, metric) for metric in metrics}
    header, lines = ranks.grid(found)
    labels = {metric.replace("_", " "): METRICS[metric].label for metric in metrics}
    return {"caption": ranks.caption(found), "header": header, "lines": lines, "labels": labels}


def _by_experiment(paths: Sequence[Path]) -> dict[str, list[dict[str, str]]]:
    """The pictures of each experiment, in their order."""
    figures = {path: figure for path in paths if (figure := _figure_of(path))}
    shown: dict[str, list[dict[str, str]]] = {name: [] for name in EXPERIMENTS}
    # Half of the page's time: threads, because Pillow does not hold Python's lock meanwhile.
    with ThreadPoolExecutor() as pool:
        drawn = pool.map(_picture, figures, figures.values())
        for figure, picture in zip(figures.values(), drawn, strict=True):
            shown[FIGURES[figure]].append(picture)
    return shown


def _figure_of(path: Path) -> str | None:
    """The figure of that name; one that is drawn for each dataset has this behind its own."""
    names = [name for name in FIGURES if path.stem == name or path.stem.startswith(f"{name}_")]
    return max(names, key=len, default=None)


def _picture(path: Path, figure: str) -> dict[str, str]:
    """A picture small enough to be one of many in a page."""
    from PIL import Image

    with Image.open(path) as image:
        image.thumbnail((_WIDEST, 4 * _WIDEST))
        small = io.BytesIO()
        image.convert("RGB").save(small, "WEBP", quality=85, method=6)
        width, height = image.size
    content = base64.b64encode(small.getvalue()).decode()
    return {
        "name": title_of_figure(path.stem),
        "text": alternative_text(figure, path.stem.removeprefix(figure).removeprefix("_")),
        "source": f"data:image/webp;base64,{content}",
        "width": str(width),
        "height": str(height),
    }
