"""Benchmarks of speed and memory, each measured next to its alternatives in the same run."""
