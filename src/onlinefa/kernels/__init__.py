"""Compiled inner loops, one observation at a time. Imported late: numba takes half a second."""
