"""LowRankGaussian against dense D x D computations that share no code with it."""

from dataclasses import FrozenInstanceError
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigvals
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_limits

from onlinefa import LowRankGaussian, NoDensity
from onlinefa._wasserstein import covariance_wasserstein_dense, covariance_wasserstein_quadrature

property_test = settings(derandomize=True, deadline=None, max_examples=60)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Use one thread: several threads slow down computations with matrices this small."""
    with threadpool_limits(limits=1):
        yield


# -- distributions to test with ------------------------------------------------------------------


class Case(NamedTuple):
    """Parameters of a pair of distributions, with a short representation for failure messages."""

    D: int
    K_one: int
    K_two: int
    scale: float
    seed: int

    def pair(self) -> tuple[LowRankGaussian, LowRankGaussian]:
        rng = np.random.default_rng(self.seed)
        return (
            random_gaussian(self.D, self.K_one, rng, self.scale),
            random_gaussian(self.D, self.K_two, rng, self.scale),
        )

    def close_pair(self, gap: float) -> tuple[LowRankGaussian, LowRankGaussian]:
        one, _ = self.pair()
        return one, perturbed(one, gap, np.random.default_rng(self.seed + 1))


def ranks(D):
    return st.one_of(st.just(1), st.just(0), st.integers(1, D - 1))


@st.composite
def cases(draw):
    D = draw(st.integers(2, 40))
    scale = 10 ** draw(st.floats(-6, 6))
    return Case(D, draw(ranks(D)), draw(ranks(D)), scale, draw(st.integers(0, 2**32 - 1)))


multiples = st.floats(-6, 6).map(lambda exponent: 10**exponent)
gaps = st.floats(-9, -1).map(lambda exponent: 10**exponent)


def random_gaussian(D, K, rng, scale=1.0):
    mean = scale * rng.normal(size=D)
    factors = scale * rng.normal(size=(D, K))
    return LowRankGaussian(mean, factors, scale**2 * 10 ** rng.uniform(-1, 1, D))


def wide_spectrum(D, K, rng, scale=1.0):
    """Factors whose lengths span two orders of magnitude, as those of trained networks do."""
    g = random_gaussian(D, K, rng, scale)
    strengths = np.geomspace(1, 100, K) if K else np.empty(0)
    return LowRankGaussian(g.mean, g.factors * strengths, g.noise)


def perturbed(g, gap, rng):
    """The same distribution with every number changed by a relative amount of about `gap`."""
    return LowRankGaussian(
        g.mean * (1 + gap * rng.normal(size=g.dimension)),
        g.factors * (1 + gap * rng.normal(size=g.factors.shape)),
        g.noise * np.exp(gap * rng.normal(size=g.dimension)),
    )


def scaled(g, factor):
    """The distribution of `factor` times the variable."""
    return LowRankGaussian(factor * g.mean, factor * g.factors, factor**2 * g.noise)


def rotated(g, rng):
    """The same distribution from other factors."""
    Q, _ = np.linalg.qr(rng.normal(size=(g.rank, g.rank)))
    return LowRankGaussian(g.mean, g.factors @ Q, g.noise)


def without_noise(g, columns):
    noise = g.noise.copy()
    noise[columns] = 0
    return LowRankGaussian(g.mean, g.factors, noise)


def centred(g):
    return LowRankGaussian(np.zeros(g.dimension), g.factors, g.noise)


def total_variance(*gaussians):
    return sum(float(np.trace(dense(g))) for g in gaussians)


# -- dense computations --------------------------------------------------------------------------


def low_rank_part(g):
    return np.einsum("ik,jk->ij", g.factors, g.factors)


def dense(g):
    return low_rank_part(g) + np.diag(g.noise)


def without_diagonal(S):
    return S - np.diag(np.diag(S))


def dense_kl(one, two):
    S_one, S_two = dense(one), dense(two)
    difference = two.mean - one.mean
    return 0.5 * (
        np.trace(np.linalg.solve(S_two, S_one))
        - one.dimension
        + np.linalg.slogdet(S_two)[1]
        - np.linalg.slogdet(S_one)[1]
        + difference @ np.linalg.solve(S_two, difference)
    )


def dense_squared_wasserstein(one, two):
    """The textbook formula; the eigenvalues of S1 S2 are those of S1^1/2 S2 S1^1/2."""
    cross = np.sum(np.sqrt(np.clip(eigvals(dense(one) @ dense(two)).real, 0, None)))
    return np.sum((one.mean - two.mean) ** 2) + total_variance(one, two) - 2 * cross


def nuclear_squared_wasserstein(one, two):
    """Compute the same from the nuclear norm of G1' G2, where G G' is the covariance.

    This is faster, and avoids square roots of eigenvalues: rounding turns the root of a zero
    eigenvalue into 1e-8.
    """
    G_one, G_two = (np.hstack([g.factors, np.diag(np.sqrt(g.noise))]) for g in (one, two))
    cross = np.linalg.norm(G_one.T @ G_two, ord="nuc")
    return np.sum((one.mean - two.mean) ** 2) + total_variance(one, two) - 2 * cross


def infinitesimal_wasserstein(one, two):
    """The distance of two close covariances: sum_ij difference_ij^2 / (2 (l_i + l_j)) in the basis
    of the eigenvectors of the covariance between them, to second order in the difference."""
    S_one, S_two = dense(one), dense(two)
    eigenvalues, vectors = np.linalg.eigh((S_one + S_two) / 2)
    difference = vectors.T @ (S_one - S_two) @ vectors
    squared = np.sum(difference**2 / (2 * np.add.outer(eigenvalues, eigenvalues)))
    return np.sqrt(np.sum((one.mean - two.mean) ** 2) + squared)


# -- an example by hand --------------------------------------------------------------------------


@pytest.fixture
def by_hand():
    """Covariance [[2, 1], [1, 2]] with eigenvalues 3 and 1."""
    return LowRankGaussian([0, 0], [[1], [1]], [1, 1])


@pytest.fixture
def standard():
    return LowRankGaussian([0, 0], np.zeros((2, 0)), [1, 1])


def test_shape_by_hand(by_hand, standard):
    assert (by_hand.dimension, by_hand.rank) == (2, 1)
    assert (standard.dimension, standard.rank) == (2, 0)


def test_covariance_by_hand(by_hand):
    assert by_hand.covariance().tolist() == [[2, 1], [1, 2]]
    assert by_hand.variances.tolist() == [2, 2]


def test_density_by_hand(by_hand):
    assert by_hand.log_determinant == pytest.approx(np.log(3), rel=1e-14)
    # (1, 1) is the eigenvector of 3, (1, -1) that of 1; both have squared length 2.
    squares = np.array([2 / 3, 2])
    expected = -0.5 * (2 * np.log(2 * np.pi) + np.log(3) + squares)
    assert by_hand.log_prob([[1, 1], [1, -1]]) == pytest.approx(expected, rel=1e-14)


def test_distances_by_hand(by_hand, standard):
    assert by_hand.relative_frobenius(standard) == pytest.approx(2 / np.sqrt(10), rel=1e-14)
    assert by_hand.relative_frobenius(standard, off_diagonal=True) == pytest.approx(1, rel=1e-14)
    assert by_hand.kl(standard) == pytest.approx((4 - 2 - np.log(3)) / 2, rel=1e-14)
    assert standard.kl(by_hand) == pytest.approx((4 / 3 - 2 + np.log(3)) / 2, rel=1e-14)
    assert by_hand.wasserstein2(standard) == pytest.approx(np.sqrt(3) - 1, rel=1e-14)


def test_shifted_mean_by_hand(by_hand):
    shifted = LowRankGaussian([3, 3], by_hand.factors, by_hand.noise)
    assert shifted.kl(by_hand) == pytest.approx(0.5 * 18 / 3, rel=1e-14)
    assert shifted.wasserstein2(by_hand) == pytest.approx(np.sqrt(18), rel=1e-14)
    assert shifted.relative_mean_distance(by_hand) == 1


def test_angle_by_hand(by_hand):
    axis = LowRankGaussian([0, 0], [[5], [0]], [1, 1])
    assert by_hand.principal_angles(axis) == pytest.approx([np.pi / 4], rel=1e-14)


# -- covariance and density ----------------------------------------------------------------------


@property_test
@given(cases())
def test_covariance_is_low_rank_plus_diagonal(case):
    g, _ = case.pair()
    # Entries of either sign cancel in the sum over K, hence the term of the largest entry.
    tolerance = 1e-13 * np.max(dense(g))
    assert np.allclose(g.covariance(), dense(g), rtol=1e-12, atol=tolerance)
    assert np.allclose(g.variances, np.diag(dense(g)), rtol=1e-12, atol=0)


@property_test
@given(cases())
def test_log_determinant(case):
    g, _ = case.pair()
    # The D logarithms of variances cancel in the sum when the scale is about 1.
    expected = np.linalg.slogdet(dense(g))[1]
    assert g.log_determinant == pytest.approx(expected, rel=1e-11, abs=1e-11 * case.D)


@property_test
@given(cases())
def test_log_prob(case):
    one, two = case.pair()
    X = np.vstack([one.sample(3, case.seed), two.sample(3, case.seed), one.mean])
    expected = multivariate_normal(one.mean, dense(one)).logpdf(X)
    assert np.allclose(one.log_prob(X), expected, rtol=1e-10, atol=1e-10 * case.D)


@property_test
@given(cases())
def test_precision(case):
    one, _ = case.pair()
    # Rounding is that of the whitened covariance, in units of the noise.
    root = np.sqrt(one.noise)
    whitened = dense(one) / np.outer(root, root)
    product = one.precision() * np.outer(root, root) @ whitened
    np.testing.assert_allclose(product, np.eye(one.dimension), atol=1e-13 * np.trace(whitened))


@property_test
@given(cases())
def test_latent_means_are_a_regression_on_the_rows(case):
    one, _ = case.pair()
    rows = one.sample(5, case.seed)
    expected = np.linalg.solve(dense(one), (rows - one.mean).T).T @ one.factors
    found = one.latent_means(rows)
    assert found.shape == (5, one.rank)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_latent_means_ignore_constant_columns(by_hand):
    rows = by_hand.sample(4, 0)
    held = LowRankGaussian(
        np.append(by_hand.mean, 3.0),
        np.vstack([by_hand.factors, np.zeros(by_hand.rank)]),
        np.append(by_hand.noise, 0.0),
    )
    found = held.latent_means(np.column_stack([rows, np.full(4, 3.0)]))
    np.testing.assert_allclose(found, by_hand.latent_means(rows), rtol=1e-12)


def test_latent_means_and_precision_need_noise(by_hand):
    silent = LowRankGaussian(by_hand.mean, by_hand.factors, np.zeros(by_hand.dimension))
    for ask in (silent.precision, lambda: silent.latent_means(by_hand.sample(2, 0))):
        with pytest.raises(NoDensity, match="noise is zero in column 0"):
            ask()


def test_log_prob_of_no_rows(by_hand):
    assert by_hand.log_prob(np.empty((0, 2))).shape == (0,)


# -- Frobenius norm and means --------------------------------------------------------------------


def assert_relative_frobenius(one, two, off_diagonal):
    """Compare with the dense formula, within the rounding error of either computation.

    The norm off the diagonal is the difference of the squares of a matrix and of its diagonal.

    Either square has a relative rounding error of some 1e-16 times the number of terms in a row,
    1e-14 say, of the low-rank part. Under the root this is 1e-7 where nothing is left, and less
    than 1e-9 where a tenth of the low-rank part is left.
    """
    select = without_diagonal if off_diagonal else np.asarray
    square = np.sum(select(dense(one) - dense(two)) ** 2)
    square_error = 1e-14 * np.sum((low_rank_part(one) - low_rank_part(two)) ** 2)
    norm = np.sum(select(dense(one)) ** 2)
    norm_error = 1e-14 * np.sum(low_rank_part(one) ** 2)
    assert norm > norm_error
    least = np.sqrt(max(square - square_error, 0) / (norm + norm_error))
    most = np.sqrt((square + square_error) / (norm - norm_error))
    # The dense formula cannot distinguish covariances that agree in fifteen digits.
    margin = 1e-12 * most + 1e-13 * np.sqrt(np.sum(dense(one) ** 2) / norm)
    assert least - margin <= one.relative_frobenius(two, off_diagonal=off_diagonal) <= most + margin


@property_test
@given(cases())
def test_relative_frobenius(case):
    one, two = case.pair()
    assert_relative_frobenius(one, two, off_diagonal=False)


@property_test
@given(cases())
def test_relative_frobenius_off_the_diagonal(case):
    one, two = case.pair()
    if one.rank:
        assert_relative_frobenius(one, two, off_diagonal=True)
    else:
        expected = np.inf if two.rank else 0
        assert one.relative_frobenius(two, off_diagonal=True) == expected


@property_test
@given(cases(), gaps, st.booleans())
def test_relative_frobenius_of_a_close_pair(case, gap, off_diagonal):
    one, two = case.close_pair(gap)
    if one.rank or not off_diagonal:
        assert_relative_frobenius(one, two, off_diagonal)


@pytest.mark.parametrize("off_diagonal", [False, True])
def test_relative_frobenius_is_accurate_for_ordinary_pairs(off_diagonal):
    """Compare directly, for pairs in which no terms cancel."""
    rng = np.random.default_rng(0)
    one, two = random_gaussian(30, 4, rng), random_gaussian(30, 7, rng)
    select = without_diagonal if off_diagonal else np.asarray
    S_one, S_two = select(dense(one)), select(dense(two))
    expected = np.linalg.norm(S_one - S_two) / np.linalg.norm(S_one)
    value = one.relative_frobenius(two, off_diagonal=off_diagonal)
    assert value == pytest.approx(expected, rel=1e-13)


@property_test
@given(cases(), st.booleans())
def test_relative_frobenius_of_the_same_distribution(case, off_diagonal):
    one, _ = case.pair()
    same = rotated(one, np.random.default_rng(case.seed))
    assert one.relative_frobenius(one, off_diagonal=off_diagonal) < 1e-7
    assert one.relative_frobenius(same, off_diagonal=off_diagonal) < 1e-7


@property_test
@given(cases(), multiples, st.booleans())
def test_relative_frobenius_does_not_depend_on_the_scale(case, factor, off_diagonal):
    one, two = case.pair()
    before = one.relative_frobenius(two, off_diagonal=off_diagonal)
    after = scaled(one, factor).relative_frobenius(scaled(two, factor), off_diagonal=off_diagonal)
    assert after == pytest.approx(before, rel=1e-9)


def test_relative_frobenius_where_noise_replaces_factors():
    """Orthonormal factors in all D directions are noise: the low-rank parts differ, the
    covariances do not."""
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))
    one = LowRankGaussian(np.zeros(6), Q, np.ones(6))
    two = LowRankGaussian(np.zeros(6), np.zeros((6, 0)), 2 * np.ones(6))
    assert one.relative_frobenius(two) < 1e-7
    assert two.relative_frobenius(one) < 1e-7


@property_test
@given(cases())
def test_relative_mean_distance(case):
    one, two = case.pair()
    expected = np.sqrt(np.sum((one.mean - two.mean) ** 2) / np.sum(one.mean**2))
    assert one.relative_mean_distance(two) == pytest.approx(expected, rel=1e-12)
    assert one.relative_mean_distance(one) == 0


def test_relative_mean_distance_from_zero(by_hand):
    shifted = LowRankGaussian([0, 1], by_hand.factors, by_hand.noise)
    assert by_hand.relative_mean_distance(shifted) == np.inf
    assert by_hand.relative_mean_distance(by_hand) == 0


# -- Kullback-Leibler divergence -----------------------------------------------------------------


@property_test
@given(cases())
def test_kl(case):
    one, two = case.pair()
    for truth, estimate in ((one, two), (two, one)):
        # Trace and log determinants have D terms of about 1, which the subtraction of D cancels.
        expected = dense_kl(truth, estimate)
        assert truth.kl(estimate) == pytest.approx(expected, rel=1e-10, abs=1e-11 * case.D)


@property_test
@given(cases(), gaps)
def test_kl_of_a_close_pair(case, gap):
    one, two = case.close_pair(gap)
    assert one.kl(two) >= 0
    assert one.kl(two) == pytest.approx(dense_kl(one, two), rel=1e-10, abs=1e-11 * case.D)


@property_test
@given(cases())
def test_kl_of_the_same_distribution(case):
    one, _ = case.pair()
    same = rotated(one, np.random.default_rng(case.seed))
    assert 0 <= one.kl(one) < 1e-13 * case.D
    assert 0 <= one.kl(same) < 1e-12 * case.D


@property_test
@given(cases(), multiples)
def test_kl_does_not_depend_on_the_scale(case, factor):
    one, two = case.pair()
    expected = one.kl(two)
    assert scaled(one, factor).kl(scaled(two, factor)) == pytest.approx(expected, rel=1e-10)


def forty_digit_kl(mp, one, two):
    """The dense formula in arithmetic of forty digits."""
    with mp.workdps(40):
        S_one, S_two = (
            mp.matrix(g.factors.tolist()) * mp.matrix(g.factors.tolist()).T
            + mp.diag([mp.mpf(entry) for entry in g.noise.tolist()])
            for g in (one, two)
        )
        difference = mp.matrix(one.mean.tolist()) - mp.matrix(two.mean.tolist())
        inverse = S_two**-1
        product = inverse * S_one
        trace = mp.fsum(product[i, i] for i in range(one.dimension))
        log_ratio = mp.log(mp.det(S_two)) - mp.log(mp.det(S_one))
        shift = (difference.T * inverse * difference)[0]
        return float((trace - one.dimension + log_ratio + shift) / 2)


def little_noise(ratio, D=7, K=2):
    """Factors of size 1 and noise with variances of about 1 / ratio."""
    rng = np.random.default_rng(0)
    g = random_gaussian(D, K, rng)
    return LowRankGaussian(g.mean, g.factors, g.noise / ratio), rng


@pytest.mark.parametrize("ratio", [1e8, 1e12, 1e16])
def test_kl_with_little_noise(ratio):
    """The same span, so that the divergence is about 1, of terms which differ by `ratio`: the
    difference in the Woodbury formula would leave 16 - log10(ratio) digits."""
    mp = pytest.importorskip("mpmath").mp
    one, _ = little_noise(ratio)
    two = LowRankGaussian(
        one.mean + one.factors @ [0.5, -0.2],
        one.factors @ np.array([[2.0, 1.0], [0.0, 0.5]]),
        1.3 * one.noise,
    )
    assert one.kl(two) == pytest.approx(forty_digit_kl(mp, one, two), rel=1e-12)
    assert two.kl(one) == pytest.approx(forty_digit_kl(mp, two, one), rel=1e-12)
    assert 0 <= one.kl(one) < 1e-13


def test_kl_of_other_factors_with_little_noise():
    mp = pytest.importorskip("mpmath").mp
    one, rng = little_noise(1e8)
    two = LowRankGaussian(rng.normal(size=7), rng.normal(size=(7, 2)), 2 * one.noise)
    assert one.kl(two) == pytest.approx(forty_digit_kl(mp, one, two), rel=1e-12)
    assert two.kl(one) == pytest.approx(forty_digit_kl(mp, two, one), rel=1e-12)


# -- 2-Wasserstein distance ----------------------------------------------------------------------


@property_test
@given(cases())
def test_wasserstein(case):
    one, two = case.pair()
    # The textbook formula subtracts sums that are as large as the variances.
    tolerance = 1e-12 * total_variance(one, two)
    expected = dense_squared_wasserstein(one, two)
    assert one.wasserstein2(two) ** 2 == pytest.approx(expected, rel=1e-12, abs=tolerance)


@property_test
@given(cases())
def test_wasserstein_of_a_nearly_identical_pair(case):
    one, two = case.close_pair(1e-6)
    assert one.wasserstein2(two) == pytest.approx(infinitesimal_wasserstein(one, two), rel=1e-6)


@property_test
@given(cases())
def test_wasserstein_is_symmetric(case):
    one, two = case.pair()
    assert one.wasserstein2(two) == pytest.approx(two.wasserstein2(one), rel=1e-11)


@property_test
@given(cases(), multiples)
def test_wasserstein_has_the_scale_of_the_data(case, factor):
    one, two = case.pair()
    expected = factor * one.wasserstein2(two)
    assert scaled(one, factor).wasserstein2(scaled(two, factor)) == pytest.approx(
        expected, rel=1e-11
    )


def assert_no_wasserstein_distance_to_itself(g, rng):
    limit = 1e-7 * np.sqrt(total_variance(g))
    assert g.wasserstein2(g) <= limit
    assert g.wasserstein2(rotated(g, rng)) <= limit


@property_test
@given(cases())
def test_wasserstein_of_the_same_distribution(case):
    rng = np.random.default_rng(case.seed)
    one, _ = case.pair()
    assert_no_wasserstein_distance_to_itself(one, rng)
    some_columns = rng.random(case.D) < 0.5
    assert_no_wasserstein_distance_to_itself(without_noise(one, some_columns), rng)


@property_test
@given(cases())
def test_wasserstein_of_the_same_distribution_without_any_noise(case):
    one, _ = case.pair()
    noiseless = without_noise(one, slice(None))
    assert_no_wasserstein_distance_to_itself(noiseless, np.random.default_rng(case.seed))


@property_test
@given(cases(), st.booleans())
def test_wasserstein_with_zero_noise(case, both):
    one, two = case.pair()
    some_columns = np.random.default_rng(case.seed).random(case.D) < 0.5
    one = without_noise(one, some_columns)
    if both:
        two = without_noise(two, some_columns)
    # An eigenvalue of zero is computed as 1e-16 of the largest, and its root as 1e-8.
    tolerance = 1e-7 * total_variance(one, two)
    expected = nuclear_squared_wasserstein(one, two)
    assert one.wasserstein2(two) ** 2 == pytest.approx(expected, rel=1e-12, abs=tolerance)
    assert two.wasserstein2(one) ** 2 == pytest.approx(expected, rel=1e-12, abs=tolerance)


@property_test
@given(cases(), st.floats(0, 10), st.floats(0, 10))
def test_wasserstein_in_one_dimension(case, deviation_one, deviation_two):
    means = case.scale * np.random.default_rng(case.seed).normal(size=2)
    deviations = case.scale * np.array([deviation_one, deviation_two])
    one, two = (
        LowRankGaussian([mean], np.zeros((1, 0)), [deviation**2])
        for mean, deviation in zip(means, deviations, strict=True)
    )
    expected = np.hypot(means[0] - means[1], deviations[0] - deviations[1])
    assert one.wasserstein2(two) == pytest.approx(expected, rel=1e-12)


# Either side of the D from which on the quadrature is preferred, and well beyond it.
@pytest.mark.parametrize("D", [100, 101, 150, 300])
@pytest.mark.parametrize("K_one, K_two", [(0, 0), (0, 4), (4, 0), (1, 1), (3, 8), (8, 3)])
def test_wasserstein_by_quadrature(D, K_one, K_two):
    rng = np.random.default_rng(D + 10 * K_one + K_two)
    one, two = wide_spectrum(D, K_one, rng), wide_spectrum(D, K_two, rng)
    by_quadrature = covariance_wasserstein_quadrature(one, two)
    tolerance = 1e-12 * total_variance(one, two)
    assert by_quadrature == pytest.approx(covariance_wasserstein_dense(one, two), abs=tolerance)
    expected = nuclear_squared_wasserstein(centred(one), centred(two))
    assert by_quadrature == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("K_one, K_two", [(0, 0), (0, 3), (1, 1), (2, 5)])
def test_wasserstein_of_many_variables(K_one, K_two, scale):
    rng = np.random.default_rng(10 * K_one + K_two)
    one, two = wide_spectrum(150, K_one, rng, scale), wide_spectrum(150, K_two, rng, scale)
    expected = np.sqrt(nuclear_squared_wasserstein(one, two))
    assert one.wasserstein2(two) == pytest.approx(expected, rel=1e-11)
    assert two.wasserstein2(one) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("K", [0, 1, 5])
def test_wasserstein_of_many_variables_nearly_identical(K):
    rng = np.random.default_rng(K)
    one = wide_spectrum(150, K, rng)
    two = centred(perturbed(one, 1e-6, rng))
    expected = infinitesimal_wasserstein(centred(one), two)
    assert centred(one).wasserstein2(two) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 2e-4, 1e-4, 5e-5, 1e-6])
@pytest.mark.parametrize("K", [0, 1, 5])
def test_wasserstein_of_a_multiple(K, gap):
    """The distance to 1 + gap times the variable is gap times the root of the total variance.

    The gaps are on either side of where the dense method takes over from the quadrature, which
    is to leave no fewer than seven digits of the square.
    """
    one = centred(wide_spectrum(150, K, np.random.default_rng(K)))
    factor = 1 + gap
    expected = (factor - 1) * np.sqrt(total_variance(one))
    assert one.wasserstein2(scaled(one, factor)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("K", [0, 1, 5])
def test_wasserstein_of_many_variables_identical(K):
    rng = np.random.default_rng(K)
    one = wide_spectrum(150, K, rng)
    assert_no_wasserstein_distance_to_itself(one, rng)
    assert_no_wasserstein_distance_to_itself(without_noise(one, slice(0, 50)), rng)


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("noise", [1e-4, 1e-8, 1e-14])
def test_wasserstein_with_one_nearly_noiseless_column(noise, K):
    """A Heywood case: the factors explain one of the variables completely."""
    rng = np.random.default_rng(2)
    entries = np.ones(150)
    entries[0] = noise
    one, two = (
        LowRankGaussian(np.zeros(150), rng.normal(size=(150, K)), entries) for _ in range(2)
    )
    expected = np.sqrt(nuclear_squared_wasserstein(one, two))
    assert one.wasserstein2(two) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("D", [20, 150])
def test_wasserstein_to_a_point(D):
    """All mass has to move to one point, which takes the root of the total variance."""
    rng = np.random.default_rng(D)
    one = random_gaussian(D, 2, rng)
    point = LowRankGaussian(one.mean, np.zeros((D, 0)), np.zeros(D))
    expected = np.sqrt(total_variance(one))
    assert point.wasserstein2(one) == pytest.approx(expected, rel=1e-12)
    assert one.wasserstein2(point) == pytest.approx(expected, rel=1e-12)


# -- principal angles ----------------------------------------------------------------------------


@property_test
@given(cases())
def test_principal_angles(case):
    one, two = case.pair()
    angles = one.principal_angles(two)
    Q_one, Q_two = (np.linalg.qr(g.factors).Q for g in (one, two))
    cosines = np.linalg.svd(Q_one.T @ Q_two, compute_uv=False)
    assert angles.shape == (min(case.K_one, case.K_two),)
    # scipy takes some of the small angles from their cosines, which leaves an error of 1e-8.
    assert (np.diff(angles) <= 1e-7).all()
    assert np.allclose(np.cos(angles), cosines[::-1], rtol=0, atol=1e-11)


def test_small_principal_angles():
    """These angles are too small to be computed from their cosines."""
    angle = 1e-9
    one = LowRankGaussian(np.zeros(4), np.eye(4)[:, :2], np.ones(4))
    tilted = np.eye(4)[:, :2]
    tilted[:, 1] = [0, np.cos(angle), np.sin(angle), 0]
    two = LowRankGaussian(np.zeros(4), tilted, np.ones(4))
    assert one.principal_angles(two) == pytest.approx([angle, 0], rel=1e-6, abs=1e-15)


def test_no_principal_angles_of_rank_zero(by_hand, standard):
    assert by_hand.principal_angles(standard).shape == (0,)
    assert standard.principal_angles(by_hand).shape == (0,)
    assert standard.principal_angles(standard).shape == (0,)


# -- samples -------------------------------------------------------------------------------------


def test_moments_of_a_sample():
    n = 200_000
    g = LowRankGaussian([1, -2, 0.5], [[1], [-0.5], [2]], [0.5, 1, 0.1])
    sample = g.sample(n, random_state=0)
    S = dense(g)
    # Five standard errors; those of the covariance are from Isserlis' theorem.
    mean_error = np.sqrt(np.diag(S) / n)
    covariance_error = np.sqrt((S**2 + np.outer(np.diag(S), np.diag(S))) / n)
    assert (np.abs(sample.mean(axis=0) - g.mean) < 5 * mean_error).all()
    assert (np.abs(np.cov(sample, rowvar=False) - S) < 5 * covariance_error).all()


@property_test
@given(cases())
def test_same_seed_same_sample(case):
    one, _ = case.pair()
    sample = one.sample(4, case.seed)
    assert sample.shape == (4, case.D)
    assert np.array_equal(sample, one.sample(4, case.seed))
    assert np.array_equal(sample, one.sample(4, np.random.default_rng(case.seed)))
    assert not np.array_equal(sample, one.sample(4, case.seed + 1))


# A product with a single row is not computed by the routine for products of matrices, and may be
# rounded differently.
numbers_of_rows = st.one_of(st.just(1), st.integers(0, 70))


@property_test
@given(cases(), numbers_of_rows, numbers_of_rows)
def test_sample_does_not_depend_on_chunks(case, first, second):
    one, _ = case.pair()
    whole = one.sample(first + second, case.seed)
    generator = np.random.default_rng(case.seed)
    chunks = [one.sample(first, generator), one.sample(second, generator)]
    tolerance = 1e-12 * np.abs(whole).max(initial=0)
    np.testing.assert_allclose(np.vstack(chunks), whole, rtol=1e-12, atol=tolerance)


@property_test
@given(cases())
def test_sample_without_noise_lies_in_the_span(case):
    one, _ = case.pair()
    noiseless = without_noise(one, slice(None))
    deviations = noiseless.sample(5, case.seed) - one.mean
    Q = np.linalg.qr(one.factors).Q
    outside = deviations - deviations @ Q @ Q.T
    assert np.max(np.abs(outside)) < 1e-12 * case.scale * case.D


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["mean", "factors", "noise"])
def test_entries_must_be_finite(name, bad):
    arguments = {"mean": np.zeros(3), "factors": np.ones((3, 2)), "noise": np.ones(3)}
    arguments[name].flat[1] = bad
    with pytest.raises(ValueError, match=f"{name} has NaN or infinite entries"):
        LowRankGaussian(**arguments)


@pytest.mark.parametrize(
    "mean, factors",
    [(np.zeros((3, 1)), np.ones((3, 1))), (0.0, np.ones((1, 1))), (np.zeros(3), np.ones(3))],
)
def test_numbers_of_dimensions_are_checked(mean, factors):
    with pytest.raises(ValueError, match="mean must have one dimension and factors two"):
        LowRankGaussian(mean, factors, np.ones(3))


@pytest.mark.parametrize(
    "factors, noise",
    [
        (np.ones((2, 1)), np.ones(3)),
        (np.ones((1, 3)), np.ones(3)),
        (np.ones((3, 1)), np.ones(2)),
        (np.ones((3, 1)), np.ones((3, 1))),
        (np.ones((3, 1)), 1.0),
    ],
)
def test_shapes_must_agree(factors, noise):
    with pytest.raises(ValueError, match=r"shapes do not agree: mean \(3,\), factors .* noise"):
        LowRankGaussian(np.zeros(3), factors, noise)


def test_noise_must_not_be_negative():
    with pytest.raises(ValueError, match="noise has negative entries"):
        LowRankGaussian(np.zeros(2), np.ones((2, 1)), [1, -1e-300])


@pytest.mark.parametrize(
    "method", ["relative_frobenius", "relative_mean_distance", "kl", "wasserstein2"]
)
def test_dimensions_must_agree(by_hand, method):
    other = LowRankGaussian(np.zeros(3), np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="dimensions differ: 2 and 3"):
        getattr(by_hand, method)(other)


def test_dimensions_of_principal_angles_must_agree(standard):
    other = LowRankGaussian(np.zeros(3), np.zeros((3, 0)), np.ones(3))
    with pytest.raises(ValueError, match="dimensions differ: 2 and 3"):
        standard.principal_angles(other)


@pytest.mark.parametrize("shape", [(4, 3), (4, 1), (2,), (1, 4, 2)])
def test_log_prob_checks_the_columns(by_hand, shape):
    with pytest.raises(ValueError, match=r"X has shape \(.*\), expected \(n, 2\)"):
        by_hand.log_prob(np.zeros(shape))


def test_no_density_with_zero_noise(by_hand):
    flat = LowRankGaussian([0, 0], [[1], [1]], [1, 0])
    message = "noise is zero in column 1: the distribution has no density"
    with pytest.raises(ValueError, match=message):
        flat.log_prob([[0, 0]])
    with pytest.raises(ValueError, match=message):
        _ = flat.log_determinant
    with pytest.raises(ValueError, match=message):
        flat.kl(by_hand)
    with pytest.raises(ValueError, match=message):
        by_hand.kl(flat)


# -- immutability --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mean", "factors", "noise"])
def test_entries_cannot_be_written(by_hand, name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(by_hand, name)[0] = 5
    with pytest.raises(FrozenInstanceError):
        setattr(by_hand, name, np.ones(2))


def test_arguments_are_copied():
    arguments = {"mean": np.zeros(3), "factors": np.ones((3, 2)), "noise": np.ones(3)}
    g = LowRankGaussian(**arguments)
    for name, value in arguments.items():
        before = value.copy()
        value += 7
        assert np.array_equal(getattr(g, name), before)


def test_methods_return_new_arrays(by_hand):
    by_hand.covariance()[:] = 0
    by_hand.variances[:] = 0
    assert by_hand.covariance().tolist() == [[2, 1], [1, 2]]
    assert by_hand.variances.tolist() == [2, 2]
