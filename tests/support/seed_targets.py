"""A configuration with `more_seeds`, and summaries of it that are made by hand."""

from __future__ import annotations

from support.result_rows import make_rows, summary_of

from onlinefa_benchmark.config.validation import validate

RULE = {"metric": "relative_frobenius", "error": 0.5, "most": 40}
SMALL = {
    "root_seed": 0,
    "seeds_per_job": 3,
    "synthetic": {
        "algorithms": ["online_em", "online_sga", "diagonal"],
        "D": [12],
        "K": [2],
        "spectrum": [[1, 10], [1, 100]],
        "T": [20, 150],
        "seeds": 4,
        "more_seeds": RULE,
    },
}
NARROW, WIDE = "D~12/K~2/spectrum~1-10", "D~12/K~2/spectrum~1-100"
ALTERNATING = [1, 3, 1, 3]  # standard deviation 2 / sqrt(3), standard error 1 / sqrt(3)
CONSTANT = [2.0, 2.0, 2.0, 2.0]


def small(**changes):
    """Return the checked configuration, with some changes."""
    return validate(SMALL | {"synthetic": SMALL["synthetic"] | changes})


def summary_with(values):
    """Summarise online EM with these values in the wide spectrum, and constants elsewhere."""
    frames = [
        make_rows(algorithm, CONSTANT, spectrum=spectrum, D=12, step=150)
        for algorithm in SMALL["synthetic"]["algorithms"]
        for spectrum in ("1-10", "1-100")
        if (algorithm, spectrum) != ("online_em", "1-100")
    ]
    return summary_of(*frames, make_rows("online_em", values, spectrum="1-100", D=12, step=150))
