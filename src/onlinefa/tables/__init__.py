"""Tables: each reads one summary, or the datasets, and fits nothing."""

from onlinefa.metrics import DISTANCES

FORMATS = ("csv", "md", "tex")

# The metrics of each experiment that have a table.
METRICS = {
    "synthetic": (
        *DISTANCES,
        "largest_principal_angle",
        "held_out_log_likelihood",
        "wasserstein2_per_dimension",
    ),
    "linear": DISTANCES,
    "plane": DISTANCES,
}
