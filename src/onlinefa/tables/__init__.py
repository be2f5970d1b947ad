"""Tables: each reads one summary, or the datasets, and fits nothing."""

from onlinefa.metrics import DISTANCES

FORMATS = ("csv", "md", "tex")

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
