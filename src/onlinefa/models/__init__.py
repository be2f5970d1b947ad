"""Models whose truth is known, for estimators to be compared with."""
