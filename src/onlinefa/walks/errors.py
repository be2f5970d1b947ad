"""Exceptions of walks."""

from __future__ import annotations

__all__ = ["WalkDiverged"]


class WalkDiverged(ArithmeticError):
    """Exception for a walk whose weights grow without bound."""
