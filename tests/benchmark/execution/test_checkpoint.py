"""Tests that an interrupted and continued fit has the same rows as an uninterrupted one."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from onlinefa.estimators.base import FactorEstimator
from onlinefa_benchmark import algorithms
from onlinefa_benchmark.cells import Cell
from onlinefa_benchmark.execution.checkpoint import EXIT_CODE, Checkpoint, Interrupted, StopRequests
from onlinefa_benchmark.execution.fit import compute, new_context
from onlinefa_benchmark.experiments.synthetic import computation

pytestmark = pytest.mark.slow  # every algorithm is interrupted at several points


def cell_of(algorithm, **changes):
    axes = {"algorithm": algorithm, "D": 9, "K": 2, "spectrum": "1-10"}
    parameters = {
        "root_seed": 1,
        "settings": algorithms.default_settings(algorithm),
        "spectrum": [1, 10],
        "dataset": "algorithm_3",
        "T": [100, 250, 700],
    }
    return Cell("synthetic", axes, 0, parameters | changes)


def run(cell, tmp_path, checkpoint=None):
    """Return all measurements, without their times."""
    context = new_context([cell], tmp_path, checkpoint=checkpoint)
    ((*measurements,),) = compute([cell], context)
    return [replace(measurement, seconds=0.0) for measurement in measurements]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Set blocks to 60 observations, so that a small fit has several."""
    monkeypatch.setattr(computation, "BLOCK", 60)


@pytest.fixture
def stop_after(monkeypatch):
    """Send a SIGTERM during the fit of block n, counted from one."""
    learn = FactorEstimator.partial_fit

    def after(n):
        seen = []

        def partial_fit(self, X, y=None):
            if X.shape[1] == 9:  # the fit that compiles kernels has fewer columns
                seen.append(len(X))
                if len(seen) == n:
                    os.kill(os.getpid(), signal.SIGTERM)
            return learn(self, X)

        monkeypatch.setattr(FactorEstimator, "partial_fit", partial_fit)
        return seen

    return after


@pytest.fixture
def requests():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGALRM)}
    listening = StopRequests()
    listening.listen()
    yield listening
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize("algorithm", algorithms.estimator_names())
def test_a_continued_fit_equals_an_uninterrupted_one(algorithm, n, tmp_path, stop_after, requests):
    cell, file = cell_of(algorithm), tmp_path / "digest.npz"
    whole = run(cell, tmp_path)
    before = stop_after(n)
    with pytest.raises(Interrupted), requests.checkpoint(file) as checkpoint:
        run(cell, tmp_path, checkpoint)
    assert file.exists()
    assert len(before) == n
    after = stop_after(-1)
    with requests.checkpoint(file) as checkpoint:
        continued = run(cell, tmp_path, checkpoint)
    assert continued == whole
    assert sum(before) + sum(after) == 700
    assert not file.exists()


def test_a_damaged_state_is_discarded_with_a_warning(tmp_path, caplog):
    saved = {"numbers": [1, 2.5, None], "arrays": {"F": np.asfortranarray(np.eye(3))}}
    good = Checkpoint(tmp_path / "good.npz")
    good._save(saved)
    loaded = good._load()
    assert loaded["numbers"] == [1, 2.5, None]
    np.testing.assert_array_equal(loaded["arrays"]["F"], np.eye(3))
    assert loaded["arrays"]["F"].flags.f_contiguous
    content = good.path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 3] ^= 255
    for name, bad in {
        "short": content[:-50],
        "flipped": flipped,
        "empty": b"",
        "other": content,
    }.items():
        checkpoint = Checkpoint(tmp_path / f"{name}.npz")
        checkpoint.path.write_bytes(bad)
        assert checkpoint._load() is None, name
        assert not checkpoint.path.exists()
        assert f"{name}.npz is discarded" in caplog.text


def test_a_state_of_other_settings_is_discarded(tmp_path, caplog, stop_after, requests):
    file = tmp_path / "digest.npz"
    stop_after(3)
    with pytest.raises(Interrupted), requests.checkpoint(file) as checkpoint:
        run(cell_of("online_em"), tmp_path, checkpoint)
    other = cell_of("online_em", settings={"warm_up": 70})
    stop_after(-1)
    with requests.checkpoint(file) as checkpoint:
        found = run(other, tmp_path, checkpoint)
    assert "is discarded: OnlineEM was saved with warm_up=100" in caplog.text
    assert found == run(other, tmp_path)


def send_sigterm():
    os.kill(os.getpid(), signal.SIGTERM)
    len("")  # the signal handler has run by this call at the latest


def test_a_signal_ends_a_process_without_a_current_fit(requests):
    with pytest.raises(SystemExit) as end:
        send_sigterm()
    assert end.value.code == 143


def test_a_fit_that_does_not_save_its_state_is_ended(tmp_path, requests):
    with pytest.raises(SystemExit) as end, requests.checkpoint(tmp_path / "digest.npz"):
        send_sigterm()
    assert end.value.code == 143


def test_the_same_request_from_the_parent_process_does_not_end_a_fit(tmp_path, requests):
    """Signals of a process group arrive twice: directly, and passed on by the parent."""
    with requests.checkpoint(tmp_path / "digest.npz") as checkpoint:
        checkpoint.is_used = True
        send_sigterm()
        send_sigterm()
        assert checkpoint.is_stop_requested


def test_no_further_fit_starts_after_one_that_has_finished_in_spite_of_a_request(
    tmp_path, requests
):
    with requests.checkpoint(tmp_path / "first.npz") as checkpoint:
        checkpoint.is_used = True
        send_sigterm()
    with pytest.raises(SystemExit) as end, requests.checkpoint(tmp_path / "second.npz"):
        pass
    assert end.value.code == EXIT_CODE


def test_a_fit_that_does_not_save_its_state_in_time_is_ended(tmp_path, requests):
    with requests.checkpoint(tmp_path / "digest.npz") as checkpoint:
        checkpoint.is_used = True
        send_sigterm()
        with pytest.raises(SystemExit) as end:
            os.kill(os.getpid(), signal.SIGALRM)
            len("")
    assert end.value.code == EXIT_CODE
