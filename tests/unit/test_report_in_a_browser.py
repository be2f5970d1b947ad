"""The report as its readers see it: in Chromium, without a network."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from tiny_run import configured, fitted

from onlinefa.report.material import partial
from onlinefa.report.page import write_report
from onlinefa.results import Store

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium: see tests/install")
METRIC = "relative_frobenius"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A page, and the summary that it is made of, in a Parquet file."""
    folder, config = tmp_path_factory.mktemp("run"), configured()
    (material,) = partial(fitted(config, folder), config, folder / "cells", Store(folder / "store"))
    write_report([material], config, [], folder / "report.html")
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
    """The page, opened as by a double click. It must not complain, nor ask for anything."""
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
    """What the last step has, by algorithm and spectrum."""
    summary = pd.read_parquet(report / "summary.parquet")
    rows = summary[(summary["metric"] == METRIC) & (summary["step"] == summary["step"].max())]
    return rows.set_index(["algorithm", "spectrum"])[["mean", "standard_error", "ok"]]


def lines(page):
    """The table of final values, as a reader sees it."""
    table = page.get_by_role("region", name="synthetic, final values")
    names = [name.strip(" ↕↑↓") for name in table.locator("thead th").all_inner_texts()]
    cells = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
    return [dict(zip(names, line, strict=True)) for line in cells]


def test_values_are_those_of_the_parquet(page, report):
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


def test_a_table_is_sorted_by_keys_alone(page, report):
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


def test_an_order_stays_when_filters_change(page):
    table = page.get_by_role("region", name="synthetic, final values")
    table.get_by_role("button", name="mean").click()
    page.get_by_text("Filters").click()
    page.get_by_role("checkbox", name="online SGA").uncheck()
    means = [float(line["mean"]) for line in lines(page)]
    assert len(means) == 4
    assert means == sorted(means)
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("mean")


def test_seeds_that_nobody_would_fit_are_the_most(page):
    table = page.get_by_role("region", name="synthetic, paired comparisons")
    table.get_by_role("button", name="seeds needed").click()
    texts = [row.locator("td").last.inner_text() for row in table.locator("tbody tr").all()]
    numbers = [1001 if text.startswith(">") else int(text.split()[0]) for text in texts]
    assert len(numbers) == 4
    assert numbers == sorted(numbers)


def test_filters_hold_for_figures_and_tables(page):
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
    assert tests.count() == 1  # the diagonal control is what others are compared with
    assert page.locator("#filtered").inner_text() == "(2 left out)"
    page.get_by_role("button", name="Show everything").click()
    assert len(lines(page)) == 6


def test_a_point_tells_its_value(page, report):
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


def test_another_metric_is_another_table(page, report):
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
def test_nothing_is_wider_than_the_screen(chromium, report, width, scheme, tmp_path):
    page = chromium.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto((report / "report.html").as_uri())
    page.wait_for_selector("#synthetic .chart svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Text stands out from its ground, by day and by night.
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    brightness = [sum(map(int, colour.strip("rgb()").split(","))) for colour in (ink, paper)]
    assert (brightness[0] < brightness[1]) is (scheme == "light")
    assert abs(brightness[0] - brightness[1]) > 400
    page.screenshot(path=tmp_path / "report.png", full_page=True)  # to be looked at
    page.close()


def test_who_cannot_see_it_is_told(page):
    # Figures have a text, controls a name, tables heads, and there is one first heading.
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


def test_on_paper_everything_is_open(page, tmp_path):
    assert page.locator("details:not([open])").count() > 0
    page.pdf(path=tmp_path / "report.pdf")
    assert page.locator("details:not([open])").count() == 0
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
