"""The page of the report: one HTML file with text, tables, figures, scripts and styles."""

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

from onlinefa_benchmark.atomic_file import atomic
from onlinefa_benchmark.axes import Axis
from onlinefa_benchmark.config import Config
from onlinefa_benchmark.experiments.base import Figure, Metric
from onlinefa_benchmark.looks import look
from onlinefa_benchmark.reporting.figures import describe_picture, list_pictures, picture_name
from onlinefa_benchmark.reporting.html import HERE, SCRIPTS, charts, facts, read_asset, verdicts
from onlinefa_benchmark.reporting.html.material import Material
from onlinefa_benchmark.reporting.tables import compared, compared_metrics, ranks
from onlinefa_benchmark.reporting.titles import title_of_figure

_WIDEST = 1400  # pixels of a picture: as sharp as screens show it


def write_report(
    material: Sequence[Material], config: Config, figures: Path | None, output: Path
) -> None:
    """Write the report.

    Parameters
    ----------
    material : sequence of Material
        Content of the report, by experiment.
    config : Config
        Configuration of the run.
    figures : Path or None
        Folder of drawn figures; without it, none are shown.
    output : Path
        HTML file to write.
    """
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pictures = _read_pictures(material, figures) if figures else {}
    coverage, costs = facts.count_cells(material), facts.sum_costs(material)
    core_hours = float(costs["core_hours"].sum())
    page = environment.get_template("page.html").render(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=read_asset("style.css"),
        library=_load_library(),
        script="\n".join(map(read_asset, SCRIPTS)),
        data=_embed(_collect_data(material, coverage, costs)),
        experiments=[_make_section(each, pictures.get(each.name, [])) for each in material],
        missing=facts.list_missing(material),
        number_missing=sum(len(each.missing) for each in material),
        failures=facts.group_failures(material),
        core_hours=core_hours,
        time_of_fits=_format_duration(3600 * core_hours),
        cells=int(coverage["cells"].sum()),
        provenance=facts.collect_provenance(material, config),
    )
    with atomic(output) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _format_duration(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.2g} seconds"


@cache
def _load_library() -> str:
    """Return Vega-Lite, which draws the charts, as a bundle that needs no network."""
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _embed(data: Any) -> str:
    """Return JSON in which no value can end the element that it is in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", r"\u003c").replace("\u2028", r"\u2028").replace("\u2029", r"\u2029")


def _collect_data(
    material: Sequence[Material], coverage: pd.DataFrame, costs: pd.DataFrame
) -> dict[str, Any]:
    """Return what the scripts of the page work with."""
    algorithms = {name for each in material for name in each.rows["algorithm"].unique()}
    settings = [key for each in material for key in each.experiment.setting_keys]
    return {
        "algorithms": charts.describe_looks(list(algorithms)),
        "filters": list(dict.fromkeys(settings)),
        "experiments": {
            each.name: charts.make_chart(each.experiment, each.summary, each.metrics)
            | {"compared": _collect_tests(each)}
            for each in material
            if each.summary is not None and each.has_values
        },
        "coverage": _label_lines(coverage),
        "costs": _label_lines(costs),
    }


def _label_lines(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a table, with the labels of algorithms."""
    labelled = table.assign(algorithm=[look(name).label for name in table["algorithm"]])
    return [
        {str(key): _shorten(value) for key, value in line.items()}
        for line in labelled.to_dict("records")
    ]


def _shorten(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _collect_tests(each: Material) -> list[dict[str, Any]]:
    """Return the tests of each metric, with the caption of its table."""
    if each.comparison is None:
        return []
    axes = [each.experiment.axis(key) for key in each.experiment.setting_keys]
    tested = [
        (metric, compared.compared_rows(each.experiment, each.comparison, metric))
        for metric in compared_metrics(each.metrics)
    ]
    return [
        {
            "metric": metric.name,
            "caption": compared.caption(each.experiment, rows, metric),
            "settings": each.experiment.setting_keys,
            "overlap": each.experiment.overlap > 0,
            "lines": [_make_line(row, axes) for row in rows.to_dict("records")],
        }
        for metric, rows in tested
        if (rows["pairs"] + rows["lost"]).sum() > 0
    ]


def _make_line(row: Mapping[Hashable, Any], axes: Sequence[Axis]) -> dict[str, Any]:
    numbers = (
        "difference",
        "standard_error",
        "pairs",
        "lost",
        "p_holm",
        "p_t_holm",
        "seeds_needed",
        "detectable",
    )
    return (
        {axis.name: axis.format(row[axis.name]) for axis in axes}
        | {name: row[name] for name in ("algorithm", "shown")}
        | {name: _to_json_number(row[name]) for name in numbers}
    )


def _to_json_number(value: float) -> float | str | None:
    if pd.isna(value):
        return None
    return "Infinity" if math.isinf(value) else float(f"{value:.6g}")


def _make_section(each: Material, pictures: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Return what the page shows of an experiment without scripts."""
    section: dict[str, Any] = {
        "name": each.name,
        "title": each.experiment.title,
        "pictures": pictures,
        "headline": "There are no values.",
        "verdicts": [],
        "ranks": None,
    }
    metric = verdicts.choose_metric(each)
    if each.summary is not None and metric is not None:
        found = verdicts.find_verdicts(each.experiment, each.summary, metric)
        section["headline"] = verdicts.format_headline(each.experiment, each.summary, metric, found)
        section["verdicts"] = [
            asdict(verdict) | {"confidence": verdict.confidence, "is_clear": verdict.is_clear}
            for verdict in found
        ]
    if each.comparison is not None:
        section["ranks"] = _make_ranks(each.comparison, each.metrics)
    return section


def _make_ranks(comparison: pd.DataFrame, metrics: Mapping[str, Metric]) -> dict[str, Any]:
    found = ranks.find_rankings(comparison, metrics)
    header, lines = ranks.grid(found)
    labels = {name.replace("_", " "): metric.label for name, metric in metrics.items()}
    return {"caption": ranks.caption(found), "header": header, "lines": lines, "labels": labels}


def _read_pictures(material: Sequence[Material], folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the pictures of each experiment that are in a folder."""
    found = []
    for each in material:
        datasets = sorted(each.rows["dataset"].dropna().unique())
        is_compared = each.comparison is not None
        for figure, dataset in list_pictures(each.experiment, datasets, is_compared, each.added):
            path = folder / f"{picture_name(figure, dataset)}.png"
            if path.exists():
                found.append((each.name, path, figure, dataset))
    shown: dict[str, list[dict[str, str]]] = {each.name: [] for each in material}
    # Encoding takes half of the time of the page. Pillow releases the global interpreter lock, so
    # that threads help.
    with ThreadPoolExecutor() as pool:
        encoded = pool.map(lambda picture: _encode_picture(*picture[1:]), found)
        for (name, *_), picture in zip(found, encoded, strict=True):
            shown[name].append(picture)
    return shown


def _encode_picture(path: Path, figure: Figure, dataset: str) -> dict[str, str]:
    """Return a picture that is small enough to be one of many in a page."""
    from PIL import Image

    with Image.open(path) as image:
        image.thumbnail((_WIDEST, 4 * _WIDEST))
        small = io.BytesIO()
        image.convert("RGB").save(small, "WEBP", quality=85, method=6)
        width, height = image.size
    content = base64.b64encode(small.getvalue()).decode()
    return {
        "name": title_of_figure(path.stem),
        "text": describe_picture(figure, dataset),
        "source": f"data:image/webp;base64,{content}",
        "width": str(width),
        "height": str(height),
    }
