"""What chapter 5's experiments are told: synthetic factor models, in other units, replaced."""

from __future__ import annotations

from itertools import pairwise

from pydantic import Field, ValidationInfo, field_validator

from onlinefa.config.base import Count, Experiment, Positive, check_below


class Synthetic(Experiment):
    """Chapter 5: synthetic factor models."""

    D: list[Count] = Field(description="observation dimensions")
    K: list[Count] = Field(description="latent dimensions, each below each D")
    spectrum: list[tuple[Count, Count]] = Field(
        description="ranges [low, high] of s^2 in Algorithm 3"
    )
    T: list[Count] = Field(description="sample sizes at which a fit is measured, increasing")

    def dimensions(self) -> list[int]:
        return self.D

    @field_validator("K")
    @classmethod
    def _below_every_dimension(cls, K: list[int], info: ValidationInfo) -> list[int]:
        return check_below(K, {f"D has {D}": D for D in info.data.get("D", [])})

    @field_validator("spectrum")
    @classmethod
    def _low_below_high(cls, spectrum: list[tuple[int, int]]) -> list[tuple[int, int]]:
        for low, high in spectrum:
            if low >= high:
                raise ValueError(f"[{low}, {high}] must have its low below its high")
        return spectrum

    @field_validator("T")
    @classmethod
    def _increasing(cls, T: list[int]) -> list[int]:
        for before, after in pairwise(T):
            if after <= before:
                raise ValueError(f"must be increasing, and {after} follows {before}")
        return T


class Scale(Synthetic):
    """Chapter 5 in other units."""

    scales: list[Positive] = Field(description="numbers that all observations are multiplied by")


class Change(Synthetic):
    """Chapter 5 with a model that is replaced on the way."""

    change_at: Count = Field(description="observations of the first model, fewer than the last T")

    @field_validator("change_at")
    @classmethod
    def _on_the_way(cls, change_at: int, info: ValidationInfo) -> int:
        T = info.data.get("T")
        if T and change_at >= T[-1]:
            raise ValueError(f"{change_at} must be below the last T, {T[-1]}")
        return change_at
