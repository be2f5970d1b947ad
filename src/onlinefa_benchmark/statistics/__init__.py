"""Statistics: pure functions of arrays and data frames, independent of experiments."""
