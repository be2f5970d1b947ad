"""The report: one page with all results, which opens without a server or a network."""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = ("table.js", "chart.js", "report.js")
ASSETS = ("page.html", "style.css", *SCRIPTS)


def asset(name: str) -> str:
    """A file of this folder: the page without its content, its style, its scripts."""
    return (HERE / name).read_text(encoding="utf-8")


def assets_digest() -> str:
    """Of all of them: what Snakemake sees of an edit there."""
    return hashlib.sha256("\n".join(map(asset, ASSETS)).encode()).hexdigest()[:32]
