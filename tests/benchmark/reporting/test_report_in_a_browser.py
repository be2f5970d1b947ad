"""Tests of the report in Chromium, without a network."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from support.tiny_run import fit_all, make_config

from onlinefa_benchmark.reporting.html.material import read_partial
from onlinefa_benchmark.reporting.html.page import write_report
from onlinefa_benchmark.storage.store import Store

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium: see tests/install"),
]
METRIC = "relative_frobenius"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return a folder with a page, and its summary in a Parquet file."""
    folder, config = tmp_path_factory.mktemp("run"), make_config()
    (material,) = read_partial(
        fit_all(config, folder), config, folder / "cells", Store(folder / "store")
    )
    write_report([material], config, None, folder / "report.html")
    material.summary.to_parquet(folder / "summary.parquet")
    return folder


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, report):
    """Open the page as a file. It must not log messages nor request anything."""
    page = chromium.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            request.url.startswith(("file:", "data:")) or complaints.append(request.url)
        ),
    )
    page.goto((report / "report.html").as_uri())
    page.wait_for_selector("#synthetic .chart svg")
    yield page
    assert complaints == []
    page.close()


def expected(report):
    """Return the values of the last step, by algorithm and spectrum."""
    summary = pd.read_parquet(report / "summary.parquet")
    rows = summary[(summary["metric"] == METRIC) & (summary["step"] == summary["step"].max())]
    return rows.set_index(["algorithm", "spectrum"])[["mean", "standard_error", "ok"]]


def lines(page):
    """Return the table of final values, as a reader sees it."""
    table = page.get_by_role("region", name="synthetic, final values")
    names = [name.strip(" ↕↑↓") for name in table.locator("thead th").all_inner_texts()]
    cells = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
    return [dict(zip(names, line, strict=True)) for line in cells]


def test_values_equal_those_of_the_parquet_file(page, report):
    values = expected(report)
    found = lines(page)
    assert len(found) == len(values) == 3 * 2
    names = {"online EM": "online_em", "online SGA": "online_sga", "diagonal control": "diagonal"}
    for line in found:
        spectrum = line["spectrum"].strip("[]").replace(", ", "-")
        mean, error, seeds = values.loc[(names[line["algorithm"]], spectrum)]
        assert float(line["mean"]) == pytest.approx(mean, rel=1e-4)
        assert float(line["standard error"]) == pytest.approx(error, rel=0.05)
        assert int(line["seeds"]) == seeds == 3


def test_a_table_can_be_sorted_with_the_keyboard(page, report):
    table = page.get_by_role("region", name="synthetic, final values")
    button = table.get_by_role("button", name="mean")
    button.focus()
    page.keyboard.press("Enter")
    means = [float(line["mean"]) for line in lines(page)]
    assert means == sorted(means) != sorted(means, reverse=True)
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("mean")
    page.keyboard.press("Space")
    assert [float(line["mean"]) for line in lines(page)] == sorted(means, reverse=True)
    assert min(means) == pytest.approx(expected(report)["mean"].min(), rel=1e-4)


def test_the_order_is_kept_when_filters_change(page):
    table = page.get_by_role("region", name="synthetic, final values")
    table.get_by_role("button", name="mean").click()
    page.get_by_text("Filters").click()
    page.get_by_role("checkbox", name="online SGA").uncheck()
    means = [float(line["mean"]) for line in lines(page)]
    assert len(means) == 4
    assert means == sorted(means)
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("mean")


def test_infinite_numbers_of_seeds_are_last_in_sorted_tables(page):
    table = page.get_by_role("region", name="synthetic, paired comparisons")
    table.get_by_role("button", name="seeds needed").click()
    texts = [row.locator("td").last.inner_text() for row in table.locator("tbody tr").all()]
    numbers = [1001 if text.startswith(">") else int(text.split()[0]) for text in texts]
    assert len(numbers) == 4
    assert numbers == sorted(numbers)


def test_filters_apply_to_figures_and_tables(page):
    assert page.locator("#synthetic .chart svg .role-scope .mark-symbol path").count() == 3 * 2 * 2
    page.get_by_text("Filters").click()
    page.get_by_role("checkbox", name="online SGA").uncheck()
    page.locator("fieldset[data-filter=spectrum]").get_by_label("[1, 100]").uncheck()
    page.wait_for_function(
        "document.querySelectorAll('#synthetic .chart .mark-symbol path').length === 4"
    )
    assert {line["algorithm"] for line in lines(page)} == {"online EM", "diagonal control"}
    assert {line["spectrum"] for line in lines(page)} == {"[1, 10]"}
    tests = page.get_by_role("region", name="synthetic, paired comparisons").locator("tbody tr")
    assert tests.count() == 1  # others are compared with the diagonal control
    assert page.locator("#filtered").inner_text() == "(2 hidden)"
    page.get_by_role("button", name="Show everything").click()
    assert len(lines(page)) == 6


def test_a_tooltip_shows_a_value(page, report):
    # The last algorithm is drawn above the others.
    point = page.locator(
        "#synthetic .chart .mark-symbol path[aria-label*='diagonal control']"
    ).first
    point.hover()
    tip = page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    told = dict(
        zip(
            tip.locator("td.key").all_inner_texts(),
            tip.locator("td.value").all_inner_texts(),
            strict=True,
        )
    )
    summary = pd.read_parquet(report / "summary.parquet")
    means = summary[(summary["metric"] == METRIC) & (summary["step"] == int(told["observations"]))][
        "mean"
    ]
    assert (means - float(told["mean"])).abs().min() < 1e-4 * float(told["mean"])
    assert told["seeds"] == "3"


def test_choosing_a_metric_changes_the_table(page, report):
    page.get_by_label("Metric").select_option("held_out_log_likelihood")
    summary = pd.read_parquet(report / "summary.parquet")
    rows = summary[
        (summary["metric"] == "held_out_log_likelihood")
        & (summary["step"] == summary["step"].max())
    ]
    found = sorted(float(line["mean"]) for line in lines(page))
    assert found == pytest.approx(sorted(rows["mean"]), rel=1e-4)


@pytest.mark.parametrize("width", [320, 390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_not_wider_than_the_screen_and_has_readable_contrast(
    chromium, report, width, scheme, tmp_path
):
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto((report / "report.html").as_uri())
    page.wait_for_selector("#synthetic .chart svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The contrast of text is sufficient in the light and the dark theme.
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    brightness = [sum(map(int, colour.strip("rgb()").split(","))) for colour in (ink, paper)]
    assert (brightness[0] < brightness[1]) is (scheme == "light")
    assert abs(brightness[0] - brightness[1]) > 400
    page.screenshot(path=tmp_path / "report.png", full_page=True)  # for visual inspection
    page.close()


def test_the_page_is_accessible(page):
    # Figures have texts, controls have names, tables have headers, and there is one h1.
    figures = page.locator(".chart [role=graphics-document]")
    assert figures.count() == 1
    text = figures.get_attribute("aria-label")
    assert text.startswith("relative Frobenius distance of covariances against observations")
    assert "2 panels: spectrum [1, 10]; spectrum [1, 100]" in text
    assert page.locator("img:not([alt])").count() == 0
    assert page.locator("h1").count() == 1
    assert page.evaluate("document.documentElement.lang") == "en"
    controls = "[...document.querySelectorAll('input, select')]"
    assert page.evaluate(f"{controls}.length") > 5
    assert page.evaluate(f"{controls}.every((each) => each.labels.length)")
    assert page.locator("table").count() == page.locator("table:has(th[scope=col])").count() > 4


def test_all_sections_are_open_in_print(page, tmp_path):
    assert page.locator("details:not([open])").count() > 0
    page.pdf(path=tmp_path / "report.pdf")
    assert page.locator("details:not([open])").count() == 0
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
