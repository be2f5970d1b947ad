"""Tests of the counts of cells in a run, and of the estimated time left."""

from __future__ import annotations

import pytest
from support.snakemake_messages import Clock, bundle, counts_of, names

from onlinefa_benchmark.grid import estimate_seconds
from snakemake_logger_plugin_onlinefa.cell_counts import Counts


@pytest.fixture
def clock():
    return Clock()


def fit(counts, clock, job, name, seconds):
    counts.start_cells(job.name, [name])
    clock.now += seconds
    counts.finish_cells(job.name, [name], seconds)


def test_cells_are_counted_one_by_one(clock):
    job = bundle(seeds=5)
    first, second, third, *_ = names(job)
    counts = counts_of(clock, job, is_in_store=lambda cell: cell.seed == 4)
    assert counts.counts() == Counts(total=5, done=1, running=0, failed=0)
    counts.start_cells(job.name, [first])
    assert counts.counts() == Counts(5, 1, 1, 0)
    counts.finish_cells(job.name, [first], 3.0)
    counts.start_cells(job.name, [second])
    counts.fail_cells(job.name, [second])
    counts.start_cells(job.name, [third])
    assert counts.counts() == Counts(5, 2, 1, 1)
    counts.stop()
    assert counts.counts() == Counts(5, 2, 0, 1)


def test_the_cell_of_a_killed_process_is_counted_as_failed(clock):
    job = bundle(seeds=2)
    counts = counts_of(clock, job)
    counts.start_cells(job.name, names(job)[:1])
    counts.start_cells(job.name, names(job)[1:])
    assert counts.counts() == Counts(2, 0, 1, 1)


def test_cells_of_an_ended_job_are_counted_from_the_store(clock):
    job = bundle(seeds=3)
    counts = counts_of(clock, job)
    counts.finish_cells(job.name, names(job)[:1], 1.0)
    counts.end_job(job.name, lambda cell: cell.seed == 1)  # the event of this cell is still missing
    assert counts.counts() == Counts(3, 2, 0, 1)
    counts.start_job(job.name)  # another attempt
    assert counts.counts() == Counts(3, 2, 0, 0)


def test_time_left_is_extrapolated_from_the_speed_so_far(clock):
    # Ten equal cells in sequence, 20 s each.
    job = bundle(seeds=10)
    counts = counts_of(clock, job)
    assert counts.seconds_left() is None
    for number, name in enumerate(names(job)[:4], start=1):
        fit(counts, clock, job, name, 20.0)
        assert counts.seconds_left() == pytest.approx(20.0 * (10 - number))
    # In the middle of a cell.
    counts.start_cells(job.name, names(job)[4:5])
    clock.now += 15
    assert counts.seconds_left() == pytest.approx(20.0 * 6 - 15)


def test_two_jobs_at_a_time_take_half_as_long(clock):
    jobs = [bundle(name, seeds=8) for name in ("diagonal", "online_em", "swag")]
    counts = counts_of(clock, *jobs)
    for one, two in zip(names(jobs[0])[:4], names(jobs[1])[:4], strict=True):
        counts.start_cells(jobs[0].name, [one])
        counts.start_cells(jobs[1].name, [two])
        clock.now += 10
        counts.finish_cells(jobs[0].name, [one], 10.0)
        counts.finish_cells(jobs[1].name, [two], 10.0)
    assert counts.seconds_left() == pytest.approx(10.0 * (24 - 8) / 2)


def test_cells_of_the_last_job_run_in_sequence(clock):
    jobs = [bundle("diagonal", seeds=6), bundle("online_em", seeds=12)]
    counts = counts_of(clock, *jobs)
    for one, two in zip(names(jobs[0]), names(jobs[1])[:6], strict=True):
        counts.start_cells(jobs[0].name, [one])
        counts.start_cells(jobs[1].name, [two])
        clock.now += 10
        counts.finish_cells(jobs[0].name, [one], 10.0)
        counts.finish_cells(jobs[1].name, [two], 10.0)
    assert counts.seconds_left() == pytest.approx(10.0 * 6)  # 30 if two cells ran in parallel


def test_cells_that_were_in_the_store_do_not_change_the_estimate(clock):
    known, new = bundle("diagonal", seeds=100), bundle("online_em", seeds=3)
    counts = counts_of(clock, known, new, is_in_store=lambda cell: cell.algorithm == "diagonal")
    fit(counts, clock, new, names(new)[0], 40.0)
    assert counts.seconds_left() == pytest.approx(80.0)


def test_time_left_is_proportional_to_the_estimated_cost_of_cells(clock):
    small, large = bundle(seeds=2, T=100), bundle(seeds=2, D=1000, T=100_000)
    ratio = estimate_seconds(large) / estimate_seconds(small)
    assert ratio > 10
    counts = counts_of(clock, small, large)
    fit(counts, clock, small, names(small)[0], 20.0)
    assert counts.seconds_left() == pytest.approx(20.0 * (1 + 2 * ratio))


def test_the_estimate_of_an_algorithm_is_corrected_by_its_own_times(clock):
    quick, slow, new = (bundle(name, seeds=2) for name in ("diagonal", "online_em", "swag"))
    counts = counts_of(clock, quick, slow, new)
    fit(counts, clock, quick, names(quick)[0], 10.0)
    fit(counts, clock, slow, names(slow)[0], 50.0)
    # One cell of each known algorithm, and two of an unknown one, which gets their average.
    assert counts.seconds_left() == pytest.approx(10 + 50 + 2 * 30)


def test_seeds_that_are_fitted_as_a_batch_share_the_time(clock):
    job = bundle(seeds=8)
    counts = counts_of(clock, job)
    counts.start_cells(job.name, names(job)[:4])
    assert counts.counts().running == 4
    clock.now += 20
    counts.finish_cells(job.name, names(job)[:4], 20.0)
    counts.start_cells(job.name, names(job)[4:])
    clock.now += 5
    assert counts.seconds_left() == pytest.approx(15.0)


def test_there_is_no_estimate_before_the_first_cell_or_after_the_last(clock):
    job = bundle(seeds=2)
    counts = counts_of(clock, job)
    counts.start_cells(job.name, names(job)[:1])
    clock.now += 100
    assert counts.seconds_left() is None
    counts.finish_cells(job.name, names(job)[:1], 100.0)
    assert counts.seconds_left() == pytest.approx(100.0)
    fit(counts, clock, job, names(job)[1], 100.0)
    assert counts.seconds_left() is None
