"""Analysis of results: summaries and comparisons over seeds, failures, numbers of seeds."""
