"""Tables: each reads one summary, or the datasets, and fits nothing."""

FORMATS = ("csv", "md", "tex")

_DISTANCES = (
    "relative_frobenius",
    "relative_frobenius_off_diagonal",
    "relative_mean_distance",
    "wasserstein2",
    "kl_truth_estimate",
    "kl_estimate_truth",
)

# The metrics of each experiment that have a table.
METRICS = {
    "synthetic": (
        *_DISTANCES,
        "largest_principal_angle",
        "held_out_log_likelihood",
        "wasserstein2_per_dimension",
    ),
    "linear": _DISTANCES,
    "plane": _DISTANCES,
}
