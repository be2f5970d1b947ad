"""Posteriors over a network's functions, one file for each.

Most of them are alternatives to a Gaussian that is fitted to the walk of SGD; the others are
references with which all are compared. Their registry is `onlinefa_benchmark.algorithms`.
"""
