"""Tests of the walk of SGD over a linear regression, and of its stationary distribution.

The distribution of the walk is known exactly in two cases, both in `exact_law`: if all possible
epochs are enumerated, and, with replacement, from the moments of a single row. All other results
are compared with these, with dense matrices, or with a long walk.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy.linalg import block_diag, solve_continuous_lyapunov, solve_discrete_lyapunov
from support.regressions import regression_of, relative

from onlinefa.kernels.sgd import descend
from onlinefa_benchmark.models.linear_regression import LinearRegression
from onlinefa_benchmark.models.sgd_walk import (
    NoStationaryLaw,
    SGDSettings,
    WalkDiverged,
    Walker,
    critical_rate,
    initial_weights,
    stationary_law,
)
from onlinefa_benchmark.models.walk_names import SGD_WALKS


@pytest.fixture(scope="module")
def regression():
    return regression_of(40, 3)


def slow_walk(regression, rate, batches, theta):
    """Take a step for each batch of row numbers, summing over one row at a time."""
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
    """Yield the batches of each epoch of a walk with this seed, from the same draws."""
    random, N, batch = np.random.default_rng(seed), descent.regression.N, descent.batch
    for _ in range(epochs):
        if descent.walk.startswith("reshuffled"):
            order = random.permutation(N)
        else:
            order = random.integers(N, size=-(-N // batch) * batch)
        yield [order[first : first + batch] for first in range(0, len(order), batch)]


# Batches of one row, of a divisor of 40, with a shorter last one, of all rows, and larger.
@pytest.mark.parametrize("batch", [1, 8, 7, 40, 64])
@pytest.mark.parametrize("walk", SGD_WALKS)
def test_a_walk_equals_its_definition_step_by_step(regression, walk, batch):
    descent = SGDSettings(regression, 0.02, batch, walk)
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


def test_a_walk_equals_sgd_of_pytorch(regression):
    import torch

    X, y = torch.tensor(regression.X), torch.tensor(regression.y)
    # torch adds weight_decay theta to the gradient; that of decay |theta|^2 is 2 decay theta.
    layer = torch.nn.Linear(regression.D, 1, bias=False, dtype=torch.float64)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.05, weight_decay=2 * regression.decay)
    mean_squared_error = torch.nn.MSELoss()
    descent = SGDSettings(regression, 0.05, 7, "reshuffled")
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


@pytest.mark.parametrize("walk", SGD_WALKS)
def test_a_walk_can_be_continued(regression, walk):
    descent = SGDSettings(regression, 0.02, 6, walk)
    start = np.zeros(regression.D)
    whole = Walker(descent, start, np.random.default_rng(6)).observe(5)
    walker = Walker(descent, start, np.random.default_rng(6))
    parts = np.vstack([walker.observe(2), walker.observe(3)])
    assert np.array_equal(whole, parts)
    assert np.array_equal(start, np.zeros(regression.D))  # the walk does not modify its start
    assert walker.epoch == 5


def test_the_number_of_steps_of_an_epoch():
    model = regression_of(10, 1)
    for walk, batch, sizes in [
        ("reshuffled", 4, [4, 4, 2]),
        ("reshuffled", 5, [5, 5]),
        ("reshuffled", 16, [10]),
        ("replacement", 4, [4, 4, 4]),
        ("replacement", 5, [5, 5]),
        ("replacement", 16, [16]),
    ]:
        assert SGDSettings(model, 0.1, batch, walk).batch_sizes.tolist() == sizes
        assert SGDSettings(model, 0.1, batch, f"{walk}_averaged").batch_sizes.tolist() == sizes


def visits(walk, epochs):
    """Return, for each epoch, how often each row is visited, and the order of rows.

    With the rows of an identity matrix, targets of one, no decay and a rate of a quarter, a visit
    halves the distance of the row's own weight to one, and leaves the others.
    """
    N = 12
    model = LinearRegression(np.eye(N), np.ones(N), alpha=0.0, beta=1.0)
    steps = Walker(
        SGDSettings(model, 0.25, 1, walk), np.zeros(N), np.random.default_rng(7)
    ).observe(epochs)
    times = np.vstack([np.zeros(N), np.round(-np.log2(1 - steps))])
    moves = np.diff(times, axis=0).reshape(epochs, N, N)
    assert (moves.sum(axis=2) == 1).all()
    return moves.sum(axis=1), moves.argmax(axis=2)


def test_a_reshuffled_epoch_visits_each_row_once_in_a_new_order():
    counts, orders = visits("reshuffled", 4)
    assert (counts == 1).all()
    assert len({tuple(order) for order in orders}) == 4


def test_an_epoch_with_replacement_visits_some_rows_several_times():
    counts, _ = visits("replacement", 4)
    assert (counts.sum(axis=1) == 12).all()
    assert (counts.max(axis=1) > 1).all()


@pytest.mark.parametrize("walk", SGD_WALKS)
def test_a_walk_with_a_large_rate_diverges(regression, walk):
    start = np.zeros(regression.D)
    rate = 10 * 2 / np.linalg.eigvalsh(regression.hessian())[-1]
    walker = Walker(SGDSettings(regression, rate, 10, walk), start, np.random.default_rng(0))
    with pytest.raises(WalkDiverged, match=f"learning rate {rate}"):
        walker.observe(200)
    small = Walker(SGDSettings(regression, rate / 100, 10, walk), start, np.random.default_rng(0))
    assert np.isfinite(small.observe(200)).all()


def test_divergence_within_the_first_epoch_is_detected(regression):
    walker = Walker(
        SGDSettings(regression, 1e200, 1, "reshuffled"), np.zeros(4), np.random.default_rng(0)
    )
    with pytest.raises(WalkDiverged, match="epoch 1,"):
        walker.observe(1)


def test_training_starts_from_a_uniform_distribution():
    weights = initial_weights(25, np.random.default_rng(0))
    assert np.abs(weights).max() <= 0.2
    many = initial_weights(10_000, np.random.default_rng(1)) * 100
    # Uniform in +-1: the variance is 1/3, its standard error here sqrt(4 / 45 / 10000) = 0.003.
    assert np.var(many) == pytest.approx(1 / 3, abs=0.012)
    assert np.mean(many) == pytest.approx(0, abs=0.025)


def row_steps(regression, rate):
    """Return, for each row, the matrix by which a step on it multiplies (e, 1), e = theta - mean.

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
    """Return the Z with operator vec(Z) = vec(Z) whose last entry is one."""
    size = int(np.sqrt(len(operator)))
    B = operator - np.eye(len(operator))
    rest = np.linalg.solve(B[:-1, :-1], -B[:-1, -1])
    return np.append(rest, 1).reshape(size, size)


def mean_and_covariance(Z):
    mean = Z[:-1, -1]
    return mean, Z[:-1, :-1] - np.outer(mean, mean)


def exact_law(regression, rate, batch, epochs):
    """Return mean and covariance of e, for steps and averages, if all epochs are equally likely.

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
    """Return E[P kron P] of a step P with replacement: the rows of a batch are independent."""
    steps = row_steps(regression, rate)
    same = np.mean([np.kron(P, P) for P in steps], axis=0)
    mean = steps.mean(axis=0)
    return (same + (batch - 1) * np.kron(mean, mean)) / batch


def all_epochs(N, batch, walk):
    if walk.startswith("reshuffled"):
        return np.array(list(permutations(range(N))))
    return np.array(list(product(range(N), repeat=-(-N // batch) * batch)))


def law_covariance(regression, rate, batch, walk):
    law = stationary_law(SGDSettings(regression, rate, batch, walk))
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
    """Return the covariance of the gradients of single rows at mean + e, if Cov e = S."""
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
    """Return mean minus true mean, and covariance, of a long walk from the minimum."""
    mean = regression.posterior.mean
    walker = Walker(SGDSettings(regression, rate, batch, walk), mean, np.random.default_rng(seed))
    walker.observe(500)
    rows = walker.observe(epochs) - mean
    return rows.mean(axis=0), np.cov(rows.T, bias=True)


def drift(regression, rate, batch):
    """Return the mean of e for a reshuffled walk, to first order in the rate.

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


# The correlation time is 1 / (rate h) steps, h > 0.4 here; walks have 120,000 steps or more.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("walk", "rate", "batch", "tolerance"),
    [
        ("replacement", 0.1, 8, 0.03),
        ("replacement_averaged", 0.1, 8, 0.05),
        ("reshuffled", 0.005, 8, 0.03),
        ("reshuffled_averaged", 0.005, 8, 0.04),
        ("reshuffled", 0.02, 15, 0.05),
        ("reshuffled_averaged", 0.02, 15, 0.05),
    ],
)
def test_a_long_walk_has_the_stationary_law(regression, walk, rate, batch, tolerance):
    mean, covariance = steady_walk(regression, rate, batch, walk, 40_000)
    expected = law_covariance(regression, rate, batch, walk)
    assert relative(covariance, expected) < tolerance
    # The mean of a reshuffled walk differs slightly from the minimum, which the law neglects.
    if walk.startswith("reshuffled"):
        mean -= drift(regression, rate, batch)
    assert np.linalg.norm(mean) < 0.04 * np.sqrt(np.trace(expected))


def dense_law(regression, rate, batch, S):
    """Return covariances of a reshuffled walk whose noise does not depend on e.

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
def test_the_law_of_a_reshuffled_walk_equals_the_dense_computation(regression, rate, batch):
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
        return np.array(
            [
                relative(law_covariance(model, rate, batch, "reshuffled"), every_step),
                relative(law_covariance(model, rate, batch, "reshuffled_averaged"), averages),
            ]
        )

    rates = critical_rate(model, batch) * np.array([0.01, 0.001])
    large, small = map(errors, rates)
    assert (large < 0.02).all()
    assert (small < large / 8).all()  # of first order in the rate
    mean, *_ = exact_law(model, rates[1], batch, epochs)
    assert relative(drift(model, rates[1], batch), mean) < 0.01


def test_full_batches_have_no_noise(regression):
    law = stationary_law(SGDSettings(regression, 0.05, regression.N, "reshuffled"))
    replacement = stationary_law(SGDSettings(regression, 0.05, regression.N, "replacement"))
    assert np.sum(law.variances) < 1e-12 * np.sum(replacement.variances)


def orthogonal_regression():
    """Return a regression with X'X = N I, so that the Hessian is h I with h = 2 (1 + decay)."""
    N, D = 400, 3
    random = np.random.default_rng(8)
    X = np.linalg.qr(random.standard_normal((N, D)))[0] * np.sqrt(N)
    y = X @ np.ones(D) + random.standard_normal(N)
    return LinearRegression(X, y, alpha=0.05 * N, beta=1.0)


def test_averages_with_replacement_tend_to_the_sandwich():
    # With a = 1 - rate h, S = rate^2 C / batch / (1 - a^2), and the mean of n consecutive steps has
    # S / n ((1 + a) / (1 - a) - 2 a (1 - a^n) / n / (1 - a)^2). Its first term is
    # C / (n batch h^2) = H^-1 C H^-1 / N, which does not depend on the rate.
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
    # Longer epochs, with repeated rows of the same table, come arbitrarily close.
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
def test_second_moments_neither_decay_nor_grow_at_the_critical_rate(regression, batch):
    rate, D = critical_rate(regression, batch), regression.D
    weights = [i * (D + 1) + j for i in range(D) for j in range(D)]

    def radius(rate):
        operator = exact_moment_operator(regression, rate, batch)[np.ix_(weights, weights)]
        return np.abs(np.linalg.eigvals(operator)).max()

    assert radius(rate) == pytest.approx(1, abs=1e-9)
    assert radius(0.99 * rate) < 1 < radius(1.01 * rate)
    assert rate < 2 / np.linalg.eigvalsh(regression.hessian())[-1]


@pytest.mark.parametrize("walk", ["replacement", "replacement_averaged"])
def test_the_law_exists_just_below_the_critical_rate_and_not_above(walk):
    model = regression_of(12, 1)
    rate = critical_rate(model, 6)
    law = stationary_law(SGDSettings(model, 0.98 * rate, 6, walk))
    assert np.isfinite(law.variances).all()
    with pytest.raises(NoStationaryLaw, match="does not settle"):
        stationary_law(SGDSettings(model, 1.02 * rate, 6, walk))


@pytest.mark.parametrize("walk", SGD_WALKS)
def test_the_law_does_not_exist_if_descent_without_noise_diverges(regression, walk):
    unstable = 2 / np.linalg.eigvalsh(regression.hessian())[-1]
    with pytest.raises(NoStationaryLaw, match="does not settle"):
        stationary_law(SGDSettings(regression, 1.001 * unstable, 5, walk))


def test_rows_of_one_length_have_the_critical_rate_of_descent_without_noise():
    # D = 1 and x = +-1: every batch has the same Hessian.
    x = np.tile([1.0, -1.0], 5)
    model = LinearRegression(x[:, None], x + np.arange(10), alpha=0.1, beta=1.0)
    assert critical_rate(model, 1) == pytest.approx(2 / (2 * (1 + 0.01)))


def test_an_outlier_lowers_the_critical_rate():
    x = np.zeros(3000)
    x[0] = np.sqrt(3000)
    model = LinearRegression(x[:, None], x, alpha=30.0, beta=1.0)
    h = 2 * (1 + 0.01)
    expected = 2 * h / (h**2 + 4 * (3000 - 1))  # as above: E[x^2] = 1, Var[x^2] = 3000 - 1
    assert critical_rate(model, 1) == pytest.approx(expected)
