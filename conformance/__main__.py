"""Draw from SWAG with every package and write docs/conformance.md: `make conformance`."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from conformance.comparison import compare
from conformance.page import render
from conformance.walk import LAYERS, WALKS
from onlinefa_benchmark.torchvision_operators import declare_missing_operators

DRAWS = 20_000
DOCS = Path(__file__).parents[1] / "docs"
ADAPTERS = ("ours", "swa_gaussian", "torch_uncertainty", "lightning_uq_box")


def measure(name: str) -> list[dict[str, Any]]:
    """Compare every variant of a package with the paper, for every walk."""
    adapter, rows = import_module(f"conformance.adapters.{name}"), []
    for label, options in adapter.VARIANTS.items():
        for walk in WALKS:
            weights = walk.generate()
            draws = adapter.draw_weights(weights, walk.columns, DRAWS, **options)
            estimates = compare(draws, weights, walk.columns)
            print(adapter.PACKAGE, label, walk, estimates, flush=True)
            rows.append(
                {"package": adapter.PACKAGE, "version": version(adapter.PACKAGE), "options": label}
                | asdict(walk)
                | {key: asdict(estimate) for key, estimate in estimates.items()}
            )
    return rows


def main() -> None:
    """Measure all packages; write the results and the page."""
    declare_missing_operators()
    results = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "draws": DRAWS,
        "weights": sum(LAYERS),
        "rows": [row for name in ADAPTERS for row in measure(name)],
    }
    (DOCS / "conformance" / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    (DOCS / "conformance.md").write_text(render(results))


if __name__ == "__main__":
    main()
