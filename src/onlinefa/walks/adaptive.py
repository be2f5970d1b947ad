"""Langevin walks that learn their preconditioner by online factor analysis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from onlinefa.estimators.recursive_em import RecursiveEM
from onlinefa.gaussian import Array
from onlinefa.walks.descent import descend
from onlinefa.walks.gradient_moment import GradientAverages, GradientMoment
from onlinefa.walks.langevin import Langevin
from onlinefa.walks.preconditioner import Preconditioner
from onlinefa.walks.targets import Target

__all__ = ["AdaptiveLangevin"]

PreconditionerKind = Literal["factors", "diagonal", "none"]
Noise = Literal["corrected", "added", "none"]

# With added noise, a step h makes the variance in a direction too large by a share of about
# h w / 2, where w is the second moment of the whitened gradient there. The largest share is a
# twentieth.
_STEP_WITH_ADDED_NOISE = 0.1
# With corrected noise, every step below 2 over the largest w has the right law. A larger step
# decorrelates the weights sooner: the number of independent draws grows in proportion to it. The
# price is that a relative error of w changes the variance by this constant over 2 times as much.
# On tables that are not part of chapter 6 (airfoil and winequality_red), distances from the
# posterior fall up to 1.6 and hardly change beyond.
_STEP_WITH_CORRECTED_NOISE = 1.6
# The first eighth of a window only measures the second moment of gradients. It is measured again
# after a quarter and after a half, because its error changes the stationary law.
_TUNING_SHARE = 8
_SHARES = (4, 2, 1)


class AdaptiveLangevin(Langevin):
    """Langevin dynamics whose preconditioner and step are learned along the walk.

    The walk begins with stochastic gradient descent and continues in windows, each as long as
    everything before it. The first window is SGLD without a preconditioner. In every window, two
    factor analyses are fitted online, to the weights and to their gradients; they determine the
    preconditioner, step and noise of the next window. With corrected noise, the first eighth of a
    window then measures the second moment of gradients, and its weights are not observed. After a
    quarter and after a half of the window, step and noise are computed again from all of its
    gradients so far. No window is stored: memory is that of a few blocks of rows and of D (K + 1)
    numbers for each factor analysis.

    Parameters
    ----------
    target : Target
        The energy.
    start : ndarray of shape (D,)
        Initial weights.
    warm_up : int
        Number of gradients for the descent, at least 100. The first window has as many.
    n_components : int, default=1
        Number of factors K of the two factor analyses, smaller than D.
    preconditioner_kind : {"factors", "diagonal", "none"}, default="factors"
        "factors" combines both factor analyses (`Preconditioner.two_sided`); "diagonal" is one over
        the standard deviation of each gradient, as in RMSprop (preconditioned SGLD, Li et al.,
        2016).
    noise : {"corrected", "added", "none"}, default="corrected"
        "corrected" takes the noise of batches into account: the posterior of a Gaussian target is
        stationary, as far as the second moment of gradients is known. "added" is the noise of
        SGLD. "none" is constant SGD (Mandt, Hoffman and Blei, 2017) with the step that minimises
        the KL divergence of its law from the posterior, 2 D over the trace of the covariance of
        gradients, unless that is unstable; it has no preconditioner.
    control_variate : bool, default=False
        Whether gradients have a control variate, whose anchor is the end of the descent.
    batch_size : int, default=32
        Number of rows of a batch, drawn with replacement.
    random_state : int, numpy.random.Generator or None, default=None
        Source of batches and of noise.

    Attributes
    ----------
    windows : int
        Number of windows so far.
    anchor : ndarray of shape (D,) or None
        Anchor of the control variate.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinefa import RecursiveEM
    >>> from onlinefa.walks import AdaptiveLangevin, LeastSquares
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 3))
    >>> target = LeastSquares(X, X @ [1.0, 2.0, 3.0] + random.normal(size=200), 1.0, 1.0)
    >>> walk = AdaptiveLangevin(target, np.zeros(3), warm_up=500, random_state=0)
    >>> for _ in range(5):
    ...     model = RecursiveEM(n_components=1)
    ...     for rows in walk.next_window():
    ...         _ = model.partial_fit(rows)
    >>> posterior = walk.correct_mean(model.gaussian())
    >>> exact = np.linalg.inv(X.T @ X + np.eye(3))
    >>> bool(np.abs(posterior.variances / np.diag(exact) - 1).max() < 0.3)
    True
    """

    def __init__(
        self,
        target: Target,
        start: Array,
        *,
        warm_up: int,
        n_components: int = 1,
        preconditioner_kind: PreconditionerKind = "factors",
        noise: Noise = "corrected",
        control_variate: bool = False,
        batch_size: int = 32,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        _check_word("preconditioner_kind", preconditioner_kind, get_args(PreconditionerKind))
        _check_word("noise", noise, get_args(Noise))
        random = np.random.default_rng(random_state)
        descent = descend(target, start, warm_up, batch_size=batch_size, random=random)
        self.anchor: Array | None = None
        spent = descent.gradients_spent
        if control_variate:
            self.anchor = descent.theta
            target = target.with_control_variate(descent.theta)
            spent += -(-target.n_rows // batch_size)
        if noise == "none":
            step = 2 * target.dimension / descent.noise_trace
        else:
            # In the posterior, the second moment of gradients is the curvature plus the covariance
            # of their noise. With a control variate, this step is smaller than necessary.
            step = _STEP_WITH_ADDED_NOISE / (descent.curvature + descent.largest_noise)
        super().__init__(
            target, descent.theta, step=step, batch_size=batch_size, random_state=random
        )
        self.gradients_spent += spent
        self.halvings += descent.halvings
        self.warm_up = warm_up
        self.n_components = n_components
        self.preconditioner_kind = preconditioner_kind
        self.noise = noise
        self.windows = 0
        self._renew_learners()

    # -- windows -------------------------------------------------------------------------------

    def next_window(self) -> Iterator[Array]:
        """Adapt the walk, and yield the weights of the next window, block by block.

        An estimator of the posterior is fitted to the rows of one window. Window number k ends when
        ``warm_up * 2**k`` gradients are spent.

        Yields
        ------
        rows : ndarray of shape (n, D)
            Weights after each of n steps.
        """
        if self.windows > 0 and self.noise != "none":
            self._adapt()
        self.windows += 1
        spent, end = self.gradients_spent, self.warm_up * 2**self.windows
        halvings = self.halvings
        averages = None
        if self.moment is not None:
            averages = GradientAverages(self.preconditioner, self._gradients.gaussian())
            tuning = self._steps_until(spent + (end - spent) // _TUNING_SHARE)
            for _, gradients in self._iterate(tuning):
                averages.absorb(gradients)
        self._renew_learners()
        self.forget_gradients()
        for share in _SHARES:
            if averages is not None:
                self._renew_noise(averages.moment(), keep_step=self.halvings > halvings)
            steps = self._steps_until(spent + (end - spent) // share)
            for states, gradients in self._iterate(steps):
                if averages is not None:
                    averages.absorb(gradients)
                self._weights.partial_fit(states)
                self._gradients.partial_fit(gradients)
                yield states

    def _steps_until(self, gradients: int) -> int:
        return max((gradients - self.gradients_spent) // self.gradients_per_step, 1)

    def _renew_learners(self) -> None:
        self._weights = RecursiveEM(self.n_components)
        self._gradients = RecursiveEM(self.n_components)

    # -- adaptation ----------------------------------------------------------------------------

    def _adapt(self) -> None:
        """Choose preconditioner, step and noise from the factor analyses of the last window."""
        weights, gradients = self._weights.gaussian(), self._gradients.gaussian()
        if self.preconditioner_kind == "factors":
            self.preconditioner = Preconditioner.two_sided(weights, gradients)
        elif self.preconditioner_kind == "diagonal":
            self.preconditioner = Preconditioner.diagonal(1 / np.sqrt(gradients.variances))
        moment = GradientMoment.of_gaussian(self.preconditioner, gradients)
        if self.noise == "corrected":
            self.moment, self.step = moment, _STEP_WITH_CORRECTED_NOISE / moment.largest
        else:
            self.step = _STEP_WITH_ADDED_NOISE / moment.largest

    def _renew_noise(self, moment: GradientMoment, *, keep_step: bool) -> None:
        """Use another second moment of gradients; keep the step if it was halved in this window."""
        self.moment = moment
        step = _STEP_WITH_CORRECTED_NOISE / moment.largest
        self.step = min(step, self.step) if keep_step else step

    def color(self, z: Array) -> Array:
        """Return the noise of steps, given standard normal vectors of shape (steps, D)."""
        return np.zeros_like(z) if self.noise == "none" else super().color(z)


def _check_word(name: str, word: str, allowed: tuple[str, ...]) -> None:
    if word not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {word!r}")
