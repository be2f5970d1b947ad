"""Adapters, one file a package.

A file defines ``PACKAGE``, the name of the distribution, ``VARIANTS``, options by the label of
their row, and ``draw_weights(rows, K, draws, **options)``. This function gives the walk to the
package by its public interface and returns draws of the weights, of shape (draws, D).
"""
