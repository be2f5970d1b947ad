"""Tables: each reads one summary or comparison, or the datasets, and fits nothing."""

from onlinefa.metrics import DISTANCES

FORMATS = ("csv", "md", "tex", "html")

_SYNTHETIC = (
    *DISTANCES,
    "largest_principal_angle",
    "held_out_log_likelihood",
    "wasserstein2_per_dimension",
)

# The metrics of each experiment that have a table.
METRICS = {
    "synthetic": _SYNTHETIC,
    "eigenvalues": _SYNTHETIC,
    "components": (*_SYNTHETIC, "components_off", "components_right"),
    "scale": _SYNTHETIC,
    "change": DISTANCES,
    "linear": DISTANCES,
    "plane": DISTANCES,
    "network": (
        "test_nll", "test_rmse", "test_crps", "coverage_50", "coverage_90", "coverage_95",
    ),
    "digits": ("class_nll", "accuracy", "calibration_error", "rotated_auroc"),
    "gp": ("function_wasserstein2", "mean_error", "sd_ratio", "test_log_likelihood", "test_rmse"),
}  # fmt: skip

# The metrics by which algorithms are compared, if not by all that have a table: each is a family of
# tests of its own.
_MAIN = {
    **dict.fromkeys(["synthetic", "eigenvalues", "components", "scale"],
                    ("relative_frobenius", "held_out_log_likelihood")),
    **dict.fromkeys(["change", "linear", "plane"], ("relative_frobenius", "wasserstein2")),
    "gp": ("function_wasserstein2", "test_log_likelihood"),
    "network": ("test_nll", "test_rmse", "test_crps"),
    "digits": ("class_nll", "accuracy"),
}  # fmt: skip


def compared_metrics(experiment: str) -> tuple[str, ...]:
    """The metrics of an experiment's comparison that have a table."""
    return _MAIN.get(experiment, METRICS[experiment])
