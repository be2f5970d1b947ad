"""Tests that links, paths and commands in the documentation exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from onlinefa_benchmark.cli import COMMANDS

ROOT = Path(__file__).parents[2]
# The changelog also names files that no longer exist.
PAGES = sorted(
    page
    for pattern in ("*.md", "config/*.md", "docs/*.md", "docs/results/*.md")
    for page in ROOT.glob(pattern)
    if page.name != "CHANGELOG.md"
)
FOLDERS = ("config", "conformance", "docs", "envs", "profiles", "src", "tests", "workflow")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_pages_are_found():
    assert len(PAGES) >= 13


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if target.startswith("http"):
            continue
        file = page.parent / target if target else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_paths_exist(page):
    # Blocks of code are skipped, because their files are examples.
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page):
    text = page.read_text()
    commands = re.findall(r"(?:`|^)onlinefa ([a-z_]+)", text, re.M)
    assert [command for command in commands if command not in COMMANDS] == []
    assert "python -m onlinefa" not in text


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_targets_of_make_exist(page):
    targets = re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.M)
    known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert [target for target in targets if target not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_extras_exist(page):
    given = re.findall(r"'(?:onlinefa|\.)\[([a-z,]+)\]'", page.read_text())
    extras = {extra for several in given for extra in several.split(",")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extras <= set(project["optional-dependencies"])
