"""The report: one HTML page with all results, which needs neither a server nor a network."""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = ("table.js", "chart.js", "report.js")
ASSETS = ("page.html", "style.css", *SCRIPTS)


def read_asset(name: str) -> str:
    """Read the template, the style sheet or a script."""
    return (HERE / name).read_text(encoding="utf-8")


def assets_digest() -> str:
    """Return a digest of all assets, by which Snakemake notices edits."""
    return hashlib.sha256("\n".join(map(read_asset, ASSETS)).encode()).hexdigest()[:32]
