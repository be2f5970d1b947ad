"""Posteriors of deep networks: one file for each algorithm, found by its name.

Estimators of the library need no file: they are fitted to the walk of SGD.
"""
