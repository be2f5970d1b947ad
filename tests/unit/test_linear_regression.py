"""Bayesian linear regression, the walk of SGD over it, and the law that the walk settles into.

What the walk does is known exactly in two cases, both in `exact_law`: when every epoch there can
be is listed, and, with replacement, from the moments of a single row. Everything else is compared
with these, with dense matrices, or with a long walk.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_continuous_lyapunov, solve_discrete_lyapunov
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct
from sklearn.linear_model import BayesianRidge, Ridge

from onlinefa.gaussian import LowRankGaussian, NoDensity
from onlinefa.kernels.sgd import descend
from onlinefa.models.linear_regression import LinearRegression
from onlinefa.models.sgd_walk import (
    WALKS,
    Descent,
    NoStationaryLaw,
    WalkDiverged,
    Walker,
    critical_rate,
    initial_weights,
    stationary_law,
)


def table(N, columns, seed=0):
    """Inputs and targets; the inputs are skew, so that third moments do not vanish."""
    random = np.random.default_rng(seed)
    inputs = random.standard_normal((N, columns)) @ random.standard_normal((columns, columns))
    inputs = inputs + 0.3 * inputs**2 + 5
    y = inputs @ random.standard_normal(columns) + random.standard_normal(N) + 2
    return inputs, y


def regression_of(N, columns, seed=0):
    return LinearRegression.of_table(*table(N, columns, seed))


@pytest.fixture(scope="module")
def regression():
    return regression_of(40, 3)


def relative(actual, expected):
    """Frobenius norm of a difference, as a share of what was expected."""
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


# -- the posterior -----------------------------------------------------------------------------


def test_the_posterior_mean_is_ridge_regression(regression):
    strength = regression.alpha / regression.beta
    ridge = Ridge(alpha=strength, fit_intercept=False).fit(regression.X, regression.y)
    np.testing.assert_allclose(regression.posterior.mean, ridge.coef_, rtol=1e-10)


def test_the_posterior_is_a_gaussian_process_with_a_linear_kernel(regression):
    X, y, alpha, beta = regression.X, regression.y, regression.alpha, regression.beta
    points = np.random.default_rng(1).standard_normal((6, regression.D)) * 3
    mean = points @ regression.posterior.mean
    variances = np.diag(points @ regression.posterior.covariance() @ points.T)

    # theta ~ N(0, I / alpha) gives f(x) the covariance x'x / alpha.
    seen = X @ X.T / alpha + np.eye(regression.N) / beta
    between = points @ X.T / alpha
    np.testing.assert_allclose(mean, between @ np.linalg.solve(seen, y), rtol=1e-9)
    explained = np.sum(between * np.linalg.solve(seen, between.T).T, axis=1)
    np.testing.assert_allclose(variances, np.sum(points**2, axis=1) / alpha - explained, rtol=1e-8)

    kernel = ConstantKernel(1 / alpha, "fixed") * DotProduct(0, "fixed")
    process = GaussianProcessRegressor(kernel, alpha=1 / beta, optimizer=None).fit(X, y)
    theirs, deviations = process.predict(points, return_std=True)
    np.testing.assert_allclose(mean, theirs, rtol=1e-8)
    np.testing.assert_allclose(variances, deviations**2, rtol=1e-6)


def test_the_posterior_is_that_of_bayesian_ridge(regression):
    theirs = BayesianRidge(fit_intercept=False).fit(regression.X, regression.y)
    ours = LinearRegression(
        regression.X, regression.y, alpha=theirs.lambda_, beta=theirs.alpha_
    ).posterior
    np.testing.assert_allclose(ours.mean, theirs.coef_, rtol=1e-8)
    np.testing.assert_allclose(ours.covariance(), theirs.sigma_, rtol=1e-8, atol=1e-12)


def test_the_posterior_solves_its_normal_equations(regression):
    X, y, alpha, beta = regression.X, regression.y, regression.alpha, regression.beta
    A = alpha * np.eye(regression.D) + beta * sum(np.outer(x, x) for x in X)
    posterior = regression.posterior
    np.testing.assert_allclose(A @ posterior.mean, beta * X.T @ y, rtol=1e-10)
    np.testing.assert_allclose(A @ posterior.covariance(), np.eye(regression.D), atol=1e-10)


# -- section 6.1's table -----------------------------------------------------------------------


def test_a_table_is_standardised_and_gets_a_constant_one():
    inputs, y = table(50, 3)
    model = LinearRegression.of_table(inputs, y)
    assert (model.N, model.D) == (50, 4)
    np.testing.assert_allclose(model.X[:, :3].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(model.X[:, :3].std(axis=0), 1)
    np.testing.assert_array_equal(model.X[:, 3], 1)
    # Standardising moves and stretches a column and does nothing else to it.
    for column in range(3):
        assert np.corrcoef(model.X[:, column], inputs[:, column])[0, 1] == pytest.approx(1)
    assert model.y is y
    assert model.beta == pytest.approx(1 / np.mean((y - y.mean()) ** 2))


@pytest.mark.parametrize("share", [0.01, 0.3])
def test_the_share_of_the_prior_is_the_weight_decay(share):
    # A standardised column has mean square one, and so has a column of ones: the diagonal of X'X is
    # N, its mean too. So alpha = share beta N, and decay = alpha / beta / N = share.
    model = LinearRegression.of_table(*table(50, 3), prior_share=share)
    np.testing.assert_allclose(np.diag(model.X.T @ model.X), 50)
    assert model.alpha == pytest.approx(share * model.beta * 50, rel=1e-12)
    assert model.decay == pytest.approx(share, rel=1e-12)


def test_a_column_that_does_not_vary_is_refused():
    inputs, y = table(50, 3)
    inputs[:, 1] = 4
    with pytest.raises(ValueError, match="column 1"):
        LinearRegression.of_table(inputs, y)


def test_a_column_that_does_not_vary_is_refused_whatever_its_value():
    inputs, y = table(50, 3)
    inputs[:, 1] = 0.1
    with pytest.raises(ValueError, match="column 1"):
        LinearRegression.of_table(inputs, y)


# -- the loss ----------------------------------------------------------------------------------


def differences(function, at, step=1e-3):
    """Gradient and Hessian by central differences, exact but for rounding if it is quadratic."""
    D = len(at)
    steps = step * np.eye(D)
    gradient = [(function(at + s) - function(at - s)) / (2 * step) for s in steps]
    hessian = [
        [function(at + s + t) - function(at + s - t) - function(at - s + t) + function(at - s - t)
         for t in steps] for s in steps
    ]  # fmt: skip
    return np.array(gradient), np.array(hessian) / (4 * step**2)


def test_the_minimum_of_the_loss_is_the_posterior_mean(regression):
    mean = regression.posterior.mean
    gradient, hessian = differences(regression.loss, mean)
    np.testing.assert_allclose(gradient, 0, atol=1e-9)
    np.testing.assert_allclose(hessian, regression.hessian(), atol=1e-7)
    assert np.linalg.eigvalsh(hessian).min() > 0


def test_the_loss_is_the_sum_of_6_4_over_the_table_divided_by_its_length(regression):
    theta = np.random.default_rng(2).standard_normal(regression.D)
    total = regression.alpha / regression.beta * theta @ theta
    for x, y in zip(regression.X, regression.y, strict=True):
        total += (y - theta @ x) ** 2
    assert regression.loss(theta) == pytest.approx(total / regression.N, rel=1e-12)


def test_the_hessian_is_the_precision_of_the_posterior_but_for_a_factor(regression):
    precision = np.linalg.inv(regression.posterior.covariance())
    expected = 2 * precision / (regression.N * regression.beta)
    np.testing.assert_allclose(regression.hessian(), expected, rtol=1e-9, atol=1e-10)


def test_a_mean_loss_with_the_decay_of_a_sum_has_another_minimum(regression):
    # mean squares + lambda |theta|^2 is the sum of squares + N lambda |theta|^2, over N: the
    # posterior mean under a prior that is N times as precise.
    X, y, N = regression.X, regression.y, regression.N
    strength = regression.alpha / regression.beta
    mistaken = np.linalg.solve(X.T @ X / N + strength * np.eye(regression.D), X.T @ y / N)
    too_precise = LinearRegression(X, y, regression.alpha * N, regression.beta)
    np.testing.assert_allclose(too_precise.posterior.mean, mistaken, rtol=1e-10)
    assert np.linalg.norm(mistaken) < 0.9 * np.linalg.norm(regression.posterior.mean)
    assert regression.loss(mistaken) > 1.1 * regression.loss(regression.posterior.mean)


# -- the walk ----------------------------------------------------------------------------------


def slow_walk(regression, rate, batches, theta):
    """A step per batch of row numbers, one row at a time."""
    steps = []
    for rows in batches:
        gradient = 2 * regression.decay * theta
        for n in rows:
            x, y = regression.X[n], regression.y[n]
            gradient = gradient - 2 * (y - x @ theta) * x / len(rows)
        theta = theta - rate * gradient
        steps.append(theta)
    return np.array(steps)


def drawn_batches(descent, epochs, seed):
    """The batches of the epochs of a walk with this seed: the same draws, followed by hand."""
    random, N, batch = np.random.default_rng(seed), descent.regression.N, descent.batch
    for _ in range(epochs):
        if descent.walk.startswith("reshuffled"):
            order = random.permutation(N)
        else:
            order = random.integers(N, size=-(-N // batch) * batch)
        yield [order[first : first + batch] for first in range(0, len(order), batch)]


# Batches of one; of a divisor of 40; with a ragged end; the whole table; more than the table.
@pytest.mark.parametrize("batch", [1, 8, 7, 40, 64])
@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_is_what_it_says(regression, walk, batch):
    descent = Descent(regression, 0.02, batch, walk)
    start = initial_weights(regression.D, np.random.default_rng(0))
    observed = Walker(descent, start, np.random.default_rng(3)).observe(6)
    epochs, theta = [], start
    for batches in drawn_batches(descent, 6, 3):
        epochs.append(slow_walk(regression, 0.02, batches, theta))
        theta = epochs[-1][-1]
    expected = (
        np.array([e.mean(axis=0) for e in epochs]) if "averaged" in walk else np.vstack(epochs)
    )
    assert len(observed) == (6 if "averaged" in walk else 6 * -(-40 // batch))
    np.testing.assert_allclose(observed, expected, rtol=1e-10, atol=1e-10)


def test_the_kernel_steps_through_batches_of_any_size(regression):
    sizes = np.array([3, 1, 20, 5])
    order = np.random.default_rng(4).integers(40, size=29)
    theta, iterates = np.ones(regression.D), np.empty((4, regression.D))
    descend(regression.X, regression.y, order, sizes, 0.03, regression.decay, theta, iterates)
    batches = np.split(order, np.cumsum(sizes)[:-1])
    expected = slow_walk(regression, 0.03, batches, np.ones(regression.D))
    np.testing.assert_allclose(iterates, expected, rtol=1e-10)
    np.testing.assert_array_equal(theta, iterates[-1])


def test_a_walk_is_stochastic_gradient_descent_as_in_torch(regression):
    import torch

    X, y = torch.tensor(regression.X), torch.tensor(regression.y)
    # torch adds weight_decay theta to the gradient; that of decay |theta|^2 is 2 decay theta.
    layer = torch.nn.Linear(regression.D, 1, bias=False, dtype=torch.float64)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.05, weight_decay=2 * regression.decay)
    mean_squared_error = torch.nn.MSELoss()
    descent = Descent(regression, 0.05, 7, "reshuffled")
    start = layer.weight.detach().numpy()[0].copy()
    observed = Walker(descent, start, np.random.default_rng(5)).observe(3)
    expected = []
    for batches in drawn_batches(descent, 3, 5):
        for rows in batches:
            optimiser.zero_grad()
            mean_squared_error(layer(X[rows])[:, 0], y[rows]).backward()
            optimiser.step()
            expected.append(layer.weight.detach().numpy()[0].copy())
    np.testing.assert_allclose(observed, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_goes_on_where_it_was(regression, walk):
    descent = Descent(regression, 0.02, 6, walk)
    start = np.zeros(regression.D)
    whole = Walker(descent, start, np.random.default_rng(6)).observe(5)
    walker = Walker(descent, start, np.random.default_rng(6))
    parts = np.vstack([walker.observe(2), walker.observe(3)])
    assert np.array_equal(whole, parts)
    assert np.array_equal(start, np.zeros(regression.D))  # which the walk does not move
    assert walker.epoch == 5


def test_the_steps_of_an_epoch():
    model = regression_of(10, 1)
    for walk, batch, sizes in [
        ("reshuffled", 4, [4, 4, 2]), ("reshuffled", 5, [5, 5]), ("reshuffled", 16, [10]),
        ("replacement", 4, [4, 4, 4]), ("replacement", 5, [5, 5]), ("replacement", 16, [16]),
    ]:  # fmt: skip
        assert Descent(model, 0.1, batch, walk).batch_sizes.tolist() == sizes
        assert Descent(model, 0.1, batch, f"{walk}_averaged").batch_sizes.tolist() == sizes


def visits(walk, epochs):
    """For every epoch, how often each row is visited, and which rows in which order.

    With the rows of an identity matrix, targets of one, no decay and a rate of a quarter, a visit
    halves the distance of the row's own weight to one, and leaves the others.
    """
    N = 12
    model = LinearRegression(np.eye(N), np.ones(N), alpha=0.0, beta=1.0)
    steps = Walker(Descent(model, 0.25, 1, walk), np.zeros(N), np.random.default_rng(7)).observe(
        epochs
    )
    times = np.vstack([np.zeros(N), np.round(-np.log2(1 - steps))])
    moves = np.diff(times, axis=0).reshape(epochs, N, N)
    assert (moves.sum(axis=2) == 1).all()
    return moves.sum(axis=1), moves.argmax(axis=2)


def test_a_reshuffled_epoch_visits_each_row_once_in_a_new_order():
    counts, orders = visits("reshuffled", 4)
    assert (counts == 1).all()
    assert len({tuple(order) for order in orders}) == 4


def test_an_epoch_with_replacement_does_not():
    counts, _ = visits("replacement", 4)
    assert (counts.sum(axis=1) == 12).all()
    assert (counts.max(axis=1) > 1).all()


@pytest.mark.parametrize("walk", WALKS)
def test_a_large_rate_is_said_to_diverge(regression, walk):
    start = np.zeros(regression.D)
    rate = 10 * 2 / np.linalg.eigvalsh(regression.hessian())[-1]
    walker = Walker(Descent(regression, rate, 10, walk), start, np.random.default_rng(0))
    with pytest.raises(WalkDiverged, match=f"learning rate {rate}"):
        walker.observe(200)
    small = Walker(Descent(regression, rate / 100, 10, walk), start, np.random.default_rng(0))
    assert np.isfinite(small.observe(200)).all()


def test_a_walk_that_leaves_the_numbers_within_an_epoch_is_noticed(regression):
    walker = Walker(
        Descent(regression, 1e200, 1, "reshuffled"), np.zeros(4), np.random.default_rng(0)
    )
    with pytest.raises(WalkDiverged, match="epoch 1,"):
        walker.observe(1)


def test_training_starts_uniformly():
    weights = initial_weights(25, np.random.default_rng(0))
    assert np.abs(weights).max() <= 0.2
    many = initial_weights(10_000, np.random.default_rng(1)) * 100
    # Uniform in +-1: the variance is 1/3, its standard error here sqrt(4 / 45 / 10000) = 0.003.
    assert np.var(many) == pytest.approx(1 / 3, abs=0.012)
    assert np.mean(many) == pytest.approx(0, abs=0.025)


# -- the law of the walk -----------------------------------------------------------------------


def row_steps(regression, rate):
    """What a step on each row alone does to (e, 1), with e = theta - mean: a matrix per row.

    A step on a batch is the mean of those of its rows, because the gradient is.
    """
    X, y, D = regression.X, regression.y, regression.D
    mean = regression.posterior.mean
    steps = np.zeros((regression.N, D + 1, D + 1))
    for n, (x, target) in enumerate(zip(X, y, strict=True)):
        steps[n, :D, :D] = np.eye(D) - rate * (
            2 * np.outer(x, x) + 2 * regression.decay * np.eye(D)
        )
        steps[n, :D, D] = -rate * (2 * (x @ mean - target) * x + 2 * regression.decay * mean)
        steps[n, D, D] = 1
    return steps


def fixed_moment(operator):
    """The Z with operator vec(Z) = vec(Z) that has a one at its end."""
    size = int(np.sqrt(len(operator)))
    B = operator - np.eye(len(operator))
    rest = np.linalg.solve(B[:-1, :-1], -B[:-1, -1])
    return np.append(rest, 1).reshape(size, size)


def mean_and_covariance(Z):
    mean = Z[:-1, -1]
    return mean, Z[:-1, :-1] - np.outer(mean, mean)


def exact_law(regression, rate, batch, epochs):
    """Mean and covariance of e, of a step and of an average, if all epochs are equally likely.

    An epoch is a row of row numbers. It takes z_0 = (e_0, 1) to P_1 z_0, P_2 z_0, ... and is
    independent of z_0, so that E[z_0 z_0'] = Z with vec Z = E[P_n kron P_n] vec Z.
    """
    steps, D = row_steps(regression, rate), regression.D
    P, taken = np.eye(D + 1), []
    for first in range(0, epochs.shape[1], batch):
        P = steps[epochs[:, first : first + batch]].mean(axis=1) @ P
        taken.append(P)
    operator = np.einsum("aij,akl->ikjl", P, P).reshape((D + 1) ** 2, -1) / len(P)
    Z = fixed_moment(operator)
    every_step = np.mean([np.mean(P @ Z @ P.swapaxes(1, 2), axis=0) for P in taken], axis=0)
    average = np.mean(taken, axis=0)
    averages = np.mean(average @ Z @ average.swapaxes(1, 2), axis=0)
    return *mean_and_covariance(every_step), *mean_and_covariance(averages)


def exact_moment_operator(regression, rate, batch):
    """E[P kron P] of a step P with replacement: the rows of a batch are independent."""
    steps = row_steps(regression, rate)
    same = np.mean([np.kron(P, P) for P in steps], axis=0)
    mean = steps.mean(axis=0)
    return (same + (batch - 1) * np.kron(mean, mean)) / batch


def all_epochs(N, batch, walk):
    if walk.startswith("reshuffled"):
        return np.array(list(permutations(range(N))))
    return np.array(list(product(range(N), repeat=-(-N // batch) * batch)))


def law_covariance(regression, rate, batch, walk):
    law = stationary_law(Descent(regression, rate, batch, walk))
    np.testing.assert_array_equal(law.mean, regression.posterior.mean)
    return law.covariance()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.8])
@pytest.mark.parametrize(("N", "batch"), [(4, 1), (4, 2), (5, 2), (3, 4)])
def test_the_law_with_replacement_is_exact(N, batch, share):
    model = regression_of(N, 1, seed=1)
    rate = share * critical_rate(model, batch)
    epochs = all_epochs(N, batch, "replacement")
    mean, every_step, mean_of_averages, averages = exact_law(model, rate, batch, epochs)
    np.testing.assert_allclose(mean, 0, atol=1e-9)
    np.testing.assert_allclose(mean_of_averages, 0, atol=1e-9)
    assert relative(law_covariance(model, rate, batch, "replacement"), every_step) < 1e-9
    assert relative(law_covariance(model, rate, batch, "replacement_averaged"), averages) < 1e-9


@pytest.mark.parametrize("batch", [1, 5, 16])
@pytest.mark.parametrize("share", [0.05, 0.8])
def test_the_law_with_replacement_solves_the_equation_of_second_moments(regression, batch, share):
    rate, D = share * critical_rate(regression, batch), regression.D
    Z = fixed_moment(exact_moment_operator(regression, rate, batch))
    mean, S = mean_and_covariance(Z)
    np.testing.assert_allclose(mean, 0, atol=1e-9)
    assert relative(law_covariance(regression, rate, batch, "replacement"), S) < 1e-9
    # Given e_j, the mean of e_i is A^(i - j) e_j, and so is their covariance A^(i - j) S.
    A, n = np.eye(D) - rate * regression.hessian(), -(-regression.N // batch)
    total = np.zeros((D, D))
    for i in range(n):
        for j in range(n):
            ahead = np.linalg.matrix_power(A, abs(i - j)) @ S
            total += (ahead if i >= j else ahead.T) / n**2
    assert relative(law_covariance(regression, rate, batch, "replacement_averaged"), total) < 1e-9


def noise_of_gradients(regression, S):
    """Covariance over the table of the gradients of single rows at mean + e, if Cov e = S."""
    H, mean = regression.hessian(), regression.posterior.mean
    noise = np.zeros_like(S)
    for x, y in zip(regression.X, regression.y, strict=True):
        gradient = 2 * (x @ mean - y) * x + 2 * regression.decay * mean
        of_row = 2 * np.outer(x, x) + 2 * regression.decay * np.eye(len(x)) - H
        noise += np.outer(gradient, gradient) + of_row @ S @ of_row
    return noise / regression.N


@pytest.mark.parametrize("batch", [1, 10])
def test_the_law_for_a_small_rate_solves_the_lyapunov_equation(regression, batch):
    H = regression.hessian()
    C = noise_of_gradients(regression, np.zeros_like(H)) / batch
    expected = solve_continuous_lyapunov(H, C)  # H S + S H = C, times the rate

    def error(rate):
        return relative(law_covariance(regression, rate, batch, "replacement") / rate, expected)

    assert error(1e-5) < 1e-3
    assert error(1e-6) == pytest.approx(error(1e-5) / 10, rel=0.01)  # of first order in the rate


def steady_walk(regression, rate, batch, walk, epochs, seed=0):
    """Mean and covariance, less the true mean, of a long walk that starts at the minimum."""
    mean = regression.posterior.mean
    walker = Walker(Descent(regression, rate, batch, walk), mean, np.random.default_rng(seed))
    walker.observe(500)
    rows = walker.observe(epochs) - mean
    return rows.mean(axis=0), np.cov(rows.T, bias=True)


def drift(regression, rate, batch):
    """How far from the minimum a reshuffled walk is on average, to first order in the rate.

    Over an epoch, e_n = e_0 - rate sum_k (H_k e_0 + g_k) + rate^2 sum_(j < k) H_k g_j + ..., and
    without replacement E[H_k g_j] = -G / (N - 1), where G is the mean over the table of H g.
    The mean stays as it is where n H e = -rate n (n - 1) / 2 G / (N - 1).
    """
    N, D, mean = regression.N, regression.D, regression.posterior.mean
    G = np.zeros(D)
    for x, y in zip(regression.X, regression.y, strict=True):
        gradient = 2 * (x @ mean - y) * x + 2 * regression.decay * mean
        G += (2 * np.outer(x, x) + 2 * regression.decay * np.eye(D)) @ gradient / N
    n = -(-N // batch)
    return -rate * (n - 1) / (2 * (N - 1)) * np.linalg.solve(regression.hessian(), G)


# A walk forgets over 1 / (rate h) steps, h > 0.4 here; these take 120,000 steps and more.
@pytest.mark.parametrize(
    ("walk", "rate", "batch", "tolerance"),
    [
        ("replacement", 0.1, 8, 0.03), ("replacement_averaged", 0.1, 8, 0.05),
        ("reshuffled", 0.005, 8, 0.03), ("reshuffled_averaged", 0.005, 8, 0.04),
        ("reshuffled", 0.02, 15, 0.05), ("reshuffled_averaged", 0.02, 15, 0.05),
    ],
)  # fmt: skip
def test_a_long_walk_has_the_law(regression, walk, rate, batch, tolerance):
    mean, covariance = steady_walk(regression, rate, batch, walk, 40_000)
    expected = law_covariance(regression, rate, batch, walk)
    assert relative(covariance, expected) < tolerance
    # A reshuffled walk is not quite at home at the minimum; the law leaves that out.
    if walk.startswith("reshuffled"):
        mean -= drift(regression, rate, batch)
    assert np.linalg.norm(mean) < 0.04 * np.sqrt(np.trace(expected))


def dense_law(regression, rate, batch, S):
    """Covariances of steps and averages of a reshuffled walk whose noise does not depend on e.

    The gradients in a random order have covariance C each and -C / (N - 1) with each other, so
    that all of them together are certain; batches are means of consecutive ones. The noise is
    that which the covariance S of the steps makes.
    """
    N, D = regression.N, regression.D
    firsts = range(0, N, batch)
    n = len(firsts)
    rows = (N * np.eye(N) - np.ones((N, N))) / (N - 1)
    means = block_diag(*[np.full((1, s), 1 / s) for s in (min(batch, N - f) for f in firsts)])
    noise = np.kron(means @ rows @ means.T, noise_of_gradients(regression, S))
    # (e_1, ..., e_n) = start e_0 + path (xi_1, ..., xi_n)
    A = np.eye(D) - rate * regression.hessian()
    powers = [np.linalg.matrix_power(A, k) for k in range(n + 1)]
    start = np.vstack(powers[1:])
    path = -rate * np.block(
        [[powers[k - i] if i <= k else np.zeros((D, D)) for i in range(n)] for k in range(n)]
    )
    added = path @ noise @ path.T
    S_0 = solve_discrete_lyapunov(powers[n], added[-D:, -D:])
    epoch = (start @ S_0 @ start.T + added).reshape(n, D, n, D)
    return np.einsum("kikj->ij", epoch) / n, epoch.mean(axis=(0, 2)), S_0


@pytest.mark.parametrize("batch", [1, 4, 8, 7, 13])
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.05])
def test_the_law_of_a_reshuffled_walk_is_that_of_its_noise(regression, rate, batch):
    S = law_covariance(regression, rate, batch, "reshuffled")
    every_step, averages, _ = dense_law(regression, rate, batch, S)
    assert relative(S, every_step) < 1e-8
    assert relative(law_covariance(regression, rate, batch, "reshuffled_averaged"), averages) < 1e-8


@pytest.mark.parametrize(("N", "columns", "batch"), [(6, 1, 1), (7, 2, 3), (6, 2, 2), (7, 1, 1)])
def test_the_law_of_a_reshuffled_walk_is_exact_in_the_limit_of_small_rates(N, columns, batch):
    model = regression_of(N, columns, seed=1)
    epochs = all_epochs(N, batch, "reshuffled")

    def errors(rate):
        _, every_step, _, averages = exact_law(model, rate, batch, epochs)
        return np.array([
            relative(law_covariance(model, rate, batch, "reshuffled"), every_step),
            relative(law_covariance(model, rate, batch, "reshuffled_averaged"), averages),
        ])  # fmt: skip

    rates = critical_rate(model, batch) * np.array([0.01, 0.001])
    large, small = map(errors, rates)
    assert (large < 0.02).all()
    assert (small < large / 8).all()  # of first order in the rate
    mean, *_ = exact_law(model, rates[1], batch, epochs)
    assert relative(drift(model, rates[1], batch), mean) < 0.01


def test_the_whole_table_at_once_is_without_noise(regression):
    law = stationary_law(Descent(regression, 0.05, regression.N, "reshuffled"))
    replacement = stationary_law(Descent(regression, 0.05, regression.N, "replacement"))
    assert np.sum(law.variances) < 1e-12 * np.sum(replacement.variances)


# -- averages ----------------------------------------------------------------------------------


def orthogonal_regression():
    """X'X = N I, so that the Hessian is h I with h = 2 (1 + decay)."""
    N, D = 400, 3
    random = np.random.default_rng(8)
    X = np.linalg.qr(random.standard_normal((N, D)))[0] * np.sqrt(N)
    y = X @ np.ones(D) + random.standard_normal(N)
    return LinearRegression(X, y, alpha=0.05 * N, beta=1.0)


def test_averages_with_replacement_tend_to_the_sandwich():
    # With a = 1 - rate h, S = rate^2 C / batch / (1 - a^2), and the mean of n consecutive steps has
    # S / n ((1 + a) / (1 - a) - 2 a (1 - a^n) / n / (1 - a)^2). Its first term is
    # C / (n batch h^2) = H^-1 C H^-1 / N: the rate has gone.
    model, batch, rate = orthogonal_regression(), 4, 0.05
    h, N, n = 2 * (1 + model.decay), model.N, model.N // batch
    np.testing.assert_allclose(model.hessian(), h * np.eye(model.D), atol=1e-12)
    a = 1 - rate * h
    S = law_covariance(model, rate, batch, "replacement")
    C = noise_of_gradients(model, S)
    np.testing.assert_allclose(S, rate**2 * C / batch / (1 - a**2), rtol=1e-9)
    averages = law_covariance(model, rate, batch, "replacement_averaged")
    sandwich = C / h**2 / N
    correction = 1 - 2 * a * (1 - a**n) / n / (1 - a**2)
    np.testing.assert_allclose(averages, correction * sandwich, rtol=1e-9)
    assert 0.88 < correction < 0.95
    # A longer epoch is the same table, many times: it comes as near as one likes.
    many = LinearRegression(np.tile(model.X, (30, 1)), np.tile(model.y, 30), model.alpha * 30, 1.0)
    averages = law_covariance(many, rate, batch, "replacement_averaged")
    np.testing.assert_allclose(averages, sandwich / 30, rtol=0.005)


def test_averages_of_a_reshuffled_walk_are_much_narrower():
    # Over an epoch whose noises sum to zero, e_n - e_0 = -rate H (e_0 + ... + e_(n - 1)), so that
    # the mean of e_1, ..., e_n is a (e_0 - e_n) / (n rate h), with e_n = a^n e_0 + noise of
    # covariance (1 - a^2n) S_0. Their difference has covariance 2 (1 - a^n) S_0.
    model, batch, rate = orthogonal_regression(), 4, 0.05
    h, n = 2 * (1 + model.decay), model.N // batch
    a = 1 - rate * h
    S = law_covariance(model, rate, batch, "reshuffled")
    _, _, S_0 = dense_law(model, rate, batch, S)
    averages = law_covariance(model, rate, batch, "reshuffled_averaged")
    expected = 2 * (1 - a**n) * (a / (n * rate * h)) ** 2 * S_0
    np.testing.assert_allclose(averages, expected, rtol=1e-7)
    # With S_0 about rate C / (2 batch h), that is 1 / (n rate h) of the sandwich: about a tenth.
    replacement = law_covariance(model, rate, batch, "replacement_averaged")
    assert np.trace(averages) < np.trace(replacement) / 8


# -- the critical rate -------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 4, 100])
def test_the_critical_rate_of_one_weight_is_known(batch):
    random = np.random.default_rng(9)
    x, y = random.standard_normal((2, 8))
    model = LinearRegression(x[:, None], y, alpha=0.3, beta=2.0)
    # E[(1 - rate (2 mean x^2 + 2 decay))^2] = 1 over batches, with h = 2 (E[x^2] + decay):
    # 1 - 2 rate h + rate^2 (h^2 + 4 Var[x^2] / batch) = 1.
    decay = 0.3 / 2.0 / 8
    h = 2 * (np.mean(x**2) + decay)
    expected = 2 * h / (h**2 + 4 * np.var(x**2) / batch)
    assert critical_rate(model, batch) == pytest.approx(expected, rel=1e-9)
    if batch == 1:
        of_rows = 1 - expected * (2 * x**2 + 2 * decay)
        assert np.mean(of_rows**2) == pytest.approx(1)


@pytest.mark.parametrize("batch", [1, 6])
def test_at_the_critical_rate_second_moments_are_neither_forgotten_nor_grown(regression, batch):
    rate, D = critical_rate(regression, batch), regression.D
    weights = [i * (D + 1) + j for i in range(D) for j in range(D)]

    def radius(rate):
        operator = exact_moment_operator(regression, rate, batch)[np.ix_(weights, weights)]
        return np.abs(np.linalg.eigvals(operator)).max()

    assert radius(rate) == pytest.approx(1, abs=1e-9)
    assert radius(0.99 * rate) < 1 < radius(1.01 * rate)
    assert rate < 2 / np.linalg.eigvalsh(regression.hessian())[-1]


@pytest.mark.parametrize("walk", ["replacement", "replacement_averaged"])
def test_there_is_a_law_just_below_the_critical_rate_and_none_above(walk):
    model = regression_of(12, 1)
    rate = critical_rate(model, 6)
    law = stationary_law(Descent(model, 0.98 * rate, 6, walk))
    assert np.isfinite(law.variances).all()
    with pytest.raises(NoStationaryLaw, match="does not settle"):
        stationary_law(Descent(model, 1.02 * rate, 6, walk))


@pytest.mark.parametrize("walk", WALKS)
def test_there_is_no_law_where_descent_without_noise_diverges(regression, walk):
    unstable = 2 / np.linalg.eigvalsh(regression.hessian())[-1]
    with pytest.raises(NoStationaryLaw, match="does not settle"):
        stationary_law(Descent(regression, 1.001 * unstable, 5, walk))


def test_rows_of_one_length_have_the_critical_rate_of_descent_without_noise():
    # D = 1 and x = +-1: every batch has the same Hessian.
    x = np.tile([1.0, -1.0], 5)
    model = LinearRegression(x[:, None], x + np.arange(10), alpha=0.1, beta=1.0)
    assert critical_rate(model, 1) == pytest.approx(2 / (2 * (1 + 0.01)))


def test_one_row_that_is_far_from_the_others_makes_the_critical_rate_small():
    x = np.zeros(3000)
    x[0] = np.sqrt(3000)
    model = LinearRegression(x[:, None], x, alpha=30.0, beta=1.0)
    h = 2 * (1 + 0.01)
    expected = 2 * h / (h**2 + 4 * (3000 - 1))  # as above: E[x^2] = 1, Var[x^2] = 3000 - 1
    assert critical_rate(model, 1) == pytest.approx(expected)


# -- a dense covariance as a low-rank Gaussian -------------------------------------------------


def random_covariance(D, rank, seed=0):
    half = np.random.default_rng(seed).standard_normal((D, rank))
    return half @ half.T


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("D", [1, 2, 7])
def test_a_covariance_survives_with_its_density(D, scale):
    covariance = scale * random_covariance(D, D + 2)
    random = np.random.default_rng(1)
    mean, points = random.standard_normal(D), random.standard_normal((5, D)) * np.sqrt(scale)
    gaussian = LowRankGaussian.of_covariance(mean, covariance)
    np.testing.assert_array_equal(gaussian.mean, mean)
    assert relative(gaussian.covariance(), covariance) < 1e-14 * D**2
    np.testing.assert_allclose(gaussian.noise, np.linalg.eigvalsh(covariance)[0] / 2, rtol=1e-10)
    expected = multivariate_normal(mean, covariance).logpdf(points)
    np.testing.assert_allclose(gaussian.log_prob(points), expected, rtol=1e-9)


def test_a_singular_covariance_survives_without_a_density():
    covariance = np.diag([4.0, 0.0, 1.0])
    gaussian = LowRankGaussian.of_covariance(np.zeros(3), covariance)
    np.testing.assert_allclose(gaussian.covariance(), covariance, atol=1e-15)
    assert np.array_equal(gaussian.noise, np.zeros(3))
    with pytest.raises(NoDensity):
        gaussian.log_prob(np.zeros((1, 3)))


@pytest.mark.parametrize("seed", range(5))
def test_a_covariance_that_is_singular_but_for_rounding_survives(seed):
    # Rounding makes the smallest eigenvalues slightly positive or slightly negative.
    covariance = random_covariance(8, 3, seed)
    gaussian = LowRankGaussian.of_covariance(np.zeros(8), covariance)
    np.testing.assert_allclose(gaussian.covariance(), covariance, atol=1e-13)


def test_no_covariance_at_all():
    gaussian = LowRankGaussian.of_covariance(np.ones(3), np.zeros((3, 3)))
    np.testing.assert_array_equal(gaussian.covariance(), np.zeros((3, 3)))
    np.testing.assert_array_equal(gaussian.sample(2, 0), np.ones((2, 3)))
