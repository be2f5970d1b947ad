"""A fit that is interrupted and goes on has the same rows as one that was not, to the bit."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from onlinefa import algorithms, checkpoints, estimators
from onlinefa.cell import Cell
from onlinefa.checkpoints import Checkpoint, Interrupted, kept_at, listen
from onlinefa.experiments import synthetic, tracking


def cell_of(algorithm, **changes):
    axes = {"algorithm": algorithm, "D": 9, "K": 2, "spectrum": "1-10"}
    parameters = {
        "root_seed": 1, "settings": algorithms.default_settings(algorithm), "spectrum": [1, 10],
        "dataset": "algorithm_3", "T": [100, 250, 700],
    }  # fmt: skip
    return Cell("synthetic", axes, 0, parameters | changes)


def values(measurements):
    """All but the time it took."""
    return [replace(measurement, seconds=0.0) for measurement in measurements]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    """Blocks of 60 observations, so that a small fit has several."""
    monkeypatch.setattr(synthetic, "BLOCK", 60)


@pytest.fixture
def stop_after(monkeypatch):
    """A SIGTERM during the fit of block n, counted from one."""
    learn = estimators.base.FactorEstimator.partial_fit

    def after(n):
        seen = []

        def partial_fit(self, X, y=None):
            if X.shape[1] == 9:  # the fit that is thrown away has fewer columns
                seen.append(len(X))
                if len(seen) == n:
                    os.kill(os.getpid(), signal.SIGTERM)
            return learn(self, X)

        monkeypatch.setattr(estimators.base.FactorEstimator, "partial_fit", partial_fit)
        return seen

    return after


@pytest.fixture
def listening():
    before = signal.getsignal(signal.SIGTERM)
    listen()
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize("algorithm", estimators.names())
def test_resumed_is_uninterrupted(algorithm, n, tmp_path, stop_after, listening):
    cell, file = cell_of(algorithm), tmp_path / "digest.npz"
    whole = values(synthetic.run(cell, tmp_path))
    before = stop_after(n)
    with pytest.raises(Interrupted), kept_at(file):
        list(synthetic.run(cell, tmp_path))
    assert file.exists()
    assert len(before) == n
    after = stop_after(-1)
    with kept_at(file):
        resumed = values(synthetic.run(cell, tmp_path))
    assert resumed == whole
    assert sum(before) + sum(after) == 700
    assert not file.exists()


def test_a_state_that_cannot_be_trusted_is_discarded_with_a_warning(tmp_path, caplog):
    kept = {"numbers": [1, 2.5, None], "arrays": {"F": np.asfortranarray(np.eye(3))}}
    good = Checkpoint(tmp_path / "good.npz")
    good.save(kept)
    loaded = good.load()
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
        assert checkpoint.load() is None, name
        assert not checkpoint.path.exists()
        assert f"{name}.npz is discarded" in caplog.text


def test_a_state_of_other_settings_is_discarded(tmp_path, caplog, stop_after, listening):
    file = tmp_path / "digest.npz"
    stop_after(3)
    with pytest.raises(Interrupted), kept_at(file):
        list(synthetic.run(cell_of("online_em"), tmp_path))
    other = cell_of("online_em", settings={"warm_up": 70})
    stop_after(-1)
    with kept_at(file):
        found = values(synthetic.run(other, tmp_path))
    assert "is discarded: OnlineEM was saved with warm_up=100" in caplog.text
    assert found == values(synthetic.run(other, tmp_path))


def test_where_nothing_is_kept_a_signal_ends_the_process(listening):
    assert checkpoints.current() is None
    with pytest.raises(SystemExit) as end:
        os.kill(os.getpid(), signal.SIGTERM)
        tracking.perf_counter()  # the handler runs before the next line of Python at the latest
    assert end.value.code == 143
