"""Numbers of seeds, and how captions name them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd


def count_seeds(
    rows: pd.DataFrame, setting: Sequence[str], column: str = "seeds"
) -> tuple[int, int]:
    """Return the smallest and the largest number of seeds of a setting.

    A setting has as many seeds as its algorithm with the most; tables mark algorithms that are
    limited to fewer.

    Parameters
    ----------
    rows : DataFrame
        Rows with the columns of `setting` and a number of seeds.
    setting : sequence of str
        Columns that make up a setting.
    column : str, default="seeds"
        Column with the number of seeds.
    """
    numbers = rows.groupby(list(setting), dropna=False)[column].max()
    numbers = numbers[numbers > 0]
    return (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)


def format_range(least: int, most: int) -> str:
    """Return ``"5"`` or ``"3 to 5"``."""
    return str(most) if least == most else f"{least} to {most}"


def describe_seeds(
    rows: pd.DataFrame,
    setting: Sequence[str],
    what: str = "mean and standard error",
    column: str = "seeds",
) -> str:
    """Return what a value and its error bar are, such as ``"mean over 5 seeds"``."""
    least, most = count_seeds(rows, setting, column)
    return f"{what} over {format_range(least, most)} seeds" if most > 1 else "one seed"
