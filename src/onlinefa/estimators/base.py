"""Base class of all estimators.

An algorithm is a state that absorbs rows and returns the Gaussian that it has learned. A new
algorithm subclasses `FactorEstimator` and implements `_start`, which creates the state. The base
class provides everything else: validation, `fit`, `partial_fit`, `transform`, scores and samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from onlinefa._arrays import ArrayKind, is_finite, is_torch_array, to_numpy
from onlinefa.estimators._constraints import Constraints
from onlinefa.gaussian import Array, LowRankGaussian, NotFinite

__all__ = ["FactorEstimator", "FitDiverged", "State"]


class FitDiverged(ArithmeticError):
    """Exception for a fit whose parameters are no longer finite.

    The estimator has no result until `fit` starts a new fit.
    """


class State(Protocol):
    """State of an algorithm: what it has learned so far.

    Attributes
    ----------
    count : int
        Number of rows absorbed.
    """

    count: int

    def absorb(self, X: Array) -> None:
        """Learn from validated rows, in order; raise FitDiverged when that is not possible."""

    def estimate(self) -> LowRankGaussian:
        """Return the Gaussian learned so far, which later rows do not change."""


class FactorEstimator(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator, ABC
):
    """Base class for estimators of N(mean, F F' + diag(psi)).

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Estimated mean.
    components_ : ndarray of shape (n_components, n_features)
        Estimated factors F, transposed.
    noise_variance_ : ndarray of shape (n_features,)
        Estimated variances psi of the noise.
    n_samples_seen_ : int
        Number of rows that the estimate is based on.
    n_features_in_ : int
        Number of columns of the rows.
    """

    online: ClassVar[bool] = True
    """Whether an estimate is available after every row without further computation.

    A batch algorithm computes its estimate when a result is read.
    """

    single_precision: ClassVar[bool] = False
    """Whether rows of float32 are processed as float32, which needs half of the memory."""

    accepts_tensors: ClassVar[bool] = False
    """Whether tensors of PyTorch are processed as such, on their device.

    All results are tensors then. Other estimators convert tensors to arrays.
    """

    _parameter_constraints: ClassVar[Constraints] = {}

    n_features_in_: int
    _kind: ArrayKind
    _state: State
    # The last estimate is the only entry of a list, because reading a result must not change the
    # attributes of an estimator.
    _last_estimate: list[LowRankGaussian]

    @abstractmethod
    def _start(self, D: int) -> State:
        """Create the state before the first of D-dimensional rows of the kind `self._kind`.

        It is called after the parameters have been validated.
        """

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from rows, and forget everything that was learned before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        FitDiverged
            If the parameters are no longer finite.
        """
        with self._unchanged_on_error():
            self._validate_params()
            rows = self._validate_first_rows(X)
            D, K = rows.shape[1], getattr(self, "n_components", 0)
            if isinstance(K, Integral) and int(K) >= D:
                raise ValueError(
                    f"n_components={K} must be smaller than the number of columns, n_features={D}"
                )
            self._kind = ArrayKind.of(rows)
            self._state = self._start(D)
        return self._absorb(rows)

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from further rows: one, a block or all of them.

        The result does not depend on how the rows are divided among calls. Rows are converted to
        the data type of the first ones. Parameters are validated by the first call only.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        FitDiverged
            If the parameters are no longer finite, after these rows or earlier ones.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X)
        return self._absorb(self._validate_further_rows(X))

    def _validate_first_rows(self, X: ArrayLike) -> Array:
        if self.accepts_tensors and is_torch_array(X):
            self.__dict__.pop("feature_names_in_", None)
            is_single = self.single_precision and str(X.dtype) == "torch.float32"
            rows = self._validate_tensor(X.detach() if is_single else X.detach().double())
            self.n_features_in_ = rows.shape[1]
            return rows
        dtypes: list[DTypeLike] = [np.float64]
        if self.single_precision:
            dtypes.append(np.float32)
        return self._validate_rows(X, dtypes, reset=True)

    def _validate_further_rows(self, X: ArrayLike) -> Array:
        if self._kind.is_torch:
            return self._validate_further_tensor(X)
        if self._is_valid(X):
            return X
        return self._validate_rows(X, [self._kind.dtype], reset=False)

    def _validate_further_tensor(self, X: Any) -> Any:
        """Check rows, and convert them to the type and device of the first ones."""
        kind = self._kind
        if is_torch_array(X):
            X = X.detach().to(device=kind.device, dtype=kind.dtype)
        else:
            X = kind.make(np.array(X, dtype=kind.dtype_name))
        rows = self._validate_tensor(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} columns, expected {self.n_features_in_}")
        return rows

    def _validate_tensor(self, rows: Any) -> Any:
        if rows.ndim != 2 or 0 in rows.shape:
            raise ValueError(f"X has shape {tuple(rows.shape)}, expected rows and columns")
        if not is_finite(rows):
            raise ValueError("X contains NaN or infinity")
        return rows

    def _validate_rows(self, X: ArrayLike, dtypes: list[DTypeLike], *, reset: bool) -> Array:
        """Convert rows to one of the types, in the memory layout that kernels are compiled for.

        numba would compile the kernels again for arrays that are read-only or not in C order.
        """
        if is_torch_array(X):
            X = to_numpy(X)
        rows: Array = validate_data(
            self, X, dtype=dtypes, order="C", force_writeable=True, reset=reset
        )
        return rows

    def _is_valid(self, X: ArrayLike) -> TypeGuard[Array]:
        """Return whether `_validate_rows` would return further rows as they are.

        It is a shortcut for loops that pass one row at a time: scikit-learn takes several times as
        long to validate a row of 100 columns as online EM takes to learn from it.
        """
        if type(X) is not np.ndarray or X.dtype != self._kind.dtype or not X.flags.carray:
            return False
        if X.ndim != 2 or X.shape[1] != self.n_features_in_ or not len(X):
            return False
        if hasattr(self, "feature_names_in_"):  # scikit-learn warns that the names are missing
            return False
        return is_finite(X)

    def _absorb(self, rows: Array) -> Self:
        self._last_estimate = []
        try:
            try:
                self._state.absorb(rows)
            except (NotFinite, np.linalg.LinAlgError) as error:
                raise self._no_finite_estimate(error) from error
        except FitDiverged as divergence:
            self._state = _Diverged(self._state.count, str(divergence))
            raise
        return self

    def _no_finite_estimate(self, error: Exception) -> FitDiverged:
        return FitDiverged(
            f"{type(self).__name__} has no finite estimate after {self._state.count} "
            f"observations: {error}"
        )

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Restore all attributes if the block raises an exception."""
        before = self.__dict__.copy()
        try:
            yield
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the estimator has learned from any rows."""
        return hasattr(self, "_state")

    # -- results -------------------------------------------------------------------------------

    def gaussian(self) -> LowRankGaussian:
        """Return the estimate.

        Returns
        -------
        gaussian : LowRankGaussian
            The distribution learned so far, which later rows do not change.

        Raises
        ------
        FitDiverged
            If there is no finite estimate.
        """
        check_is_fitted(self)
        if not self._last_estimate:
            try:
                self._last_estimate.append(self._state.estimate())
            except (NotFinite, np.linalg.LinAlgError) as error:
                raise self._no_finite_estimate(error) from error
        return self._last_estimate[0]

    @property
    def mean_(self) -> Array:
        """Estimated mean, of shape (n_features,)."""
        return self.gaussian().mean

    @property
    def components_(self) -> Array:
        """Estimated factors, transposed, of shape (n_components, n_features)."""
        return self.gaussian().factors.T

    @property
    def noise_variance_(self) -> Array:
        """Estimated variances of the noise, of shape (n_features,)."""
        return self.gaussian().noise

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows that the estimate is based on."""
        check_is_fitted(self)
        return self._state.count

    @property
    def _n_features_out(self) -> int:
        """Number of columns that `transform` returns."""
        return self.gaussian().rank

    def get_covariance(self) -> Array:
        """Compute the covariance of the estimate.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            The dense covariance.
        """
        return self.gaussian().covariance()

    def get_precision(self) -> Array:
        """Compute the inverse of the covariance of the estimate.

        Returns
        -------
        precision : ndarray of shape (n_features, n_features)
            The dense precision matrix.

        Raises
        ------
        NoDensity
            If the noise of some column is zero.
        """
        return self.gaussian().precision()

    def transform(self, X: ArrayLike) -> Array:
        """Compute the posterior means of the latent variables.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_components)
            Mean of the latent variables given each row.

        Raises
        ------
        NoDensity
            If some column has factors but no noise.
        """
        gaussian = self.gaussian()
        return gaussian.latent_means(self._validate_queries(X))

    def score_samples(self, X: ArrayLike) -> Array:
        """Compute the log density of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_densities : ndarray of shape (n_samples,)
            Log density of each row.

        Raises
        ------
        NoDensity
            If the noise of some column is zero.
        """
        gaussian = self.gaussian()
        return gaussian.log_prob(self._validate_queries(X))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Compute the mean log density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        score : float
            Mean log density.
        """
        return float(self.score_samples(X).mean())

    def _validate_queries(self, X: ArrayLike) -> Array:
        if self._kind.is_torch:
            tensor: Array = self._validate_further_tensor(X)
            return tensor
        rows: Array = validate_data(self, X, dtype=[np.float64], reset=False)
        return rows

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Draw rows from the estimate.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, numpy.random.Generator or None, default=None
            Seed, or the generator to draw from; for tensors, also a torch.Generator.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            The rows.
        """
        return self.gaussian().sample(n_samples, random_state)


class _Diverged:
    """The state after a divergence; no further row can be absorbed."""

    def __init__(self, count: int, message: str) -> None:
        self.count = count
        self.message = message

    def absorb(self, X: Array) -> None:
        raise FitDiverged(self.message)

    def estimate(self) -> LowRankGaussian:
        raise FitDiverged(self.message)
