"""What every estimator offers, in scikit-learn's conventions and without importing it.

An algorithm is a state that absorbs rows and can be asked for the Gaussian it has learned.
A new one subclasses `FactorEstimator` and says how its state starts; everything else (checks of the
input, `fit`, `partial_fit`, scores, samples) is written once, here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike

from onlinefa.constraints import ARRAY_LIKE, NOTHING, SEED, Constraints, whole
from onlinefa.gaussian import Array, LowRankGaussian, NotFinite
from onlinefa.parameters import Parametrised
from onlinefa.rows import checked_rows


class FitDiverged(ArithmeticError):
    """A fit has left the finite numbers. There is no result; `fit` starts anew."""


class State(Protocol):
    """What an algorithm has learned so far."""

    count: int
    """Observations absorbed."""

    def absorb(self, X: Array) -> None:
        """Learn from checked rows, in order; raise FitDiverged when that is no longer possible."""

    def estimate(self) -> LowRankGaussian:
        """The Gaussian learned so far; later rows do not change it."""


class FactorEstimator(Parametrised):
    """Base of all estimators of N(mean, F F' + diag(psi)).

    Attributes
    ----------
    mean_ : array of shape (D,)
    components_ : array of shape (K, D), the factors transposed
    noise_variance_ : array of shape (D,)
    n_samples_seen_ : int
    n_features_in_ : int, the D of the data
    """

    online: ClassVar[bool] = True
    """Whether an estimate is at hand after every row; a batch algorithm computes it when asked."""

    single_precision: ClassVar[bool] = False
    """Whether rows of float32 are learned from as such, in half the memory."""

    n_features_in_: int

    # Of those who have initial factors.
    init_factors: Array | None
    random_state: int | None

    constraints: ClassVar[Constraints] = {
        "n_components": [whole(1)],
        "warm_up": [whole(0)],
        "init_factors": [ARRAY_LIKE, NOTHING],
        "random_state": SEED,
    }

    @abstractmethod
    def _start(self, D: int) -> State:
        """The state before the first of D-dimensional rows. Parameters are valid by then."""

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: None = None) -> Self:
        """Forget what was learned and learn from X, of shape (n, D)."""
        with self._unchanged_on_bad_input():
            rows = self._checked(X, reset=True)
            self._state: State = self._start(rows.shape[1])
        return self._absorb(rows)

    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Learn from further rows: one, a block, or all of them; the result is the same."""
        first = not hasattr(self, "_state")
        with self._unchanged_on_bad_input():
            rows = self._checked(X, reset=first)
            if first:
                self._state = self._start(rows.shape[1])
        return self._absorb(rows)

    def _checked(self, X: Any, reset: bool) -> Array:
        self.check_parameters()
        rows = checked_rows(self, X, self._dtypes(reset), reset=reset, for_kernels=True)
        self._dtype = rows.dtype
        K = getattr(self, "n_components", 0)
        if isinstance(K, Integral) and rows.shape[1] <= K:
            raise ValueError(
                f"n_components={K} must be smaller than the number of columns, "
                f"n_features={rows.shape[1]}"
            )
        return rows

    def _dtypes(self, reset: bool) -> list[DTypeLike]:
        """What rows are converted to: for the first ones what they are if possible, for all others
        what the first ones were."""
        if not reset:
            return [self._dtype]
        return [np.float64, np.float32] if self.single_precision else [np.float64]

    def _absorb(self, rows: Array) -> Self:
        # The last estimate is kept in a list, not as an attribute of its own: asking for a
        # result must not change the estimator's attributes.
        self._last_estimate: list[LowRankGaussian] = []
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
    def _unchanged_on_bad_input(self) -> Iterator[None]:
        before = self.__dict__.copy()
        try:
            yield
        except Exception:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    # -- for scikit-learn ----------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type="density_estimator", target_tags=TargetTags(required=False))

    def _repr_html_(self) -> str:
        """For notebooks."""
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    # -- results -------------------------------------------------------------------------------

    def gaussian(self) -> LowRankGaussian:
        """What has been learned, as a value that stays as it is when learning goes on."""
        self._check_fitted()
        if not self._last_estimate:
            try:
                self._last_estimate.append(self._state.estimate())
            except (NotFinite, np.linalg.LinAlgError) as error:
                raise self._no_finite_estimate(error) from error
        return self._last_estimate[0]

    @property
    def mean_(self) -> Array:
        return self.gaussian().mean

    @property
    def components_(self) -> Array:
        return self.gaussian().factors.T

    @property
    def noise_variance_(self) -> Array:
        return self.gaussian().noise

    @property
    def n_samples_seen_(self) -> int:
        self._check_fitted()
        return self._state.count

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )

    def get_covariance(self) -> Array:
        """The dense D x D covariance."""
        return self.gaussian().covariance()

    def score_samples(self, X: Any) -> Array:
        """Log density of each row."""
        gaussian = self.gaussian()
        return gaussian.log_prob(
            checked_rows(self, X, [np.float64], reset=False, for_kernels=False)
        )

    def score(self, X: Any, y: None = None) -> float:
        """Mean log density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None
    ) -> Array:
        """Draw rows from what has been learned."""
        return self.gaussian().sample(n_samples, random_state)

    # -- for the algorithms --------------------------------------------------------------------

    def _initial_factors(self, D: int, K: int) -> Array:
        """Section 4.3: `init_factors`, or the Q of a QR decomposition of D x K normals."""
        if self.init_factors is None:
            random = _random_numbers(self.random_state)
            return orthonormal_factors(random.standard_normal((D, K))).astype(self._dtype)
        factors = np.array(self.init_factors, dtype=self._dtype)
        if factors.shape != (D, K):
            raise ValueError(f"init_factors has shape {factors.shape}, expected {(D, K)}")
        if not np.isfinite(factors).all():
            raise ValueError("init_factors has NaN or infinite entries")
        return factors


class _Diverged:
    """The state after a divergence, from which no further row leads back."""

    def __init__(self, count: int, message: str) -> None:
        self.count = count
        self.message = message

    def absorb(self, X: Array) -> None:
        raise FitDiverged(self.message)

    def estimate(self) -> LowRankGaussian:
        raise FitDiverged(self.message)


def _random_numbers(seed: int | np.random.RandomState | None) -> np.random.RandomState:
    """What scikit-learn makes of a `random_state`: without one, the generator that all share."""
    if isinstance(seed, np.random.RandomState):
        return seed
    return np.random.mtrand._rand if seed is None else np.random.RandomState(seed)


def orthonormal_factors(normals: Array) -> Array:
    """Section 4.3: the orthonormal Q of the reduced QR decomposition."""
    return np.linalg.qr(normals)[0]
