"""How the logger of the workflow counts cells and estimates the time left."""

from __future__ import annotations

import logging
import os
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from onlinefa import experiments
from onlinefa.cell import Bundle, Group
from onlinefa.cost import seconds_of
from onlinefa.experiments.tracking import Measurement
from onlinefa.fitting import fit_bundle
from onlinefa.results import Store
from snakemake_logger_plugin_onlinefa import LogHandler
from snakemake_logger_plugin_onlinefa.counting import Counts, Fits
from snakemake_logger_plugin_onlinefa.display import Lines
from snakemake_logger_plugin_onlinefa.logs import Log, follow
from snakemake_logger_plugin_onlinefa.watching import Row, Run, duration


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def group(algorithm="diagonal", D=10, T=1000):
    axes = {"algorithm": algorithm, "D": D, "K": 2, "spectrum": "1-10"}
    return Group(axes, {"dataset": "algorithm_3", "T": [T], "settings": {}})


def bundle(algorithm="diagonal", seeds=4, **options):
    one = group(algorithm, **options)
    outer = {name: one.axes[name] for name in ("algorithm", "D", "K")}
    return Bundle("synthetic", outer, (one,), tuple(range(seeds)))


def names(job):
    return [str(cell) for cell in job.cells()]


def expecting(clock, *jobs, is_there=lambda cell: False):
    fits = Fits(clock)
    for job in jobs:
        fits.expect(job, is_there)
    return fits


def fit(fits, clock, job, name, seconds):
    fits.fitting(job.name, [name])
    clock.now += seconds
    fits.done(job.name, [name], seconds)


def test_cells_are_counted_one_by_one(clock):
    job = bundle(seeds=5)
    first, second, third, *_ = names(job)
    fits = expecting(clock, job, is_there=lambda cell: cell.seed == 4)
    assert fits.counts() == Counts(total=5, done=1, running=0, failed=0)
    fits.fitting(job.name, [first])
    assert fits.counts() == Counts(5, 1, 1, 0)
    fits.done(job.name, [first], 3.0)
    fits.fitting(job.name, [second])
    fits.failed(job.name, [second])
    fits.fitting(job.name, [third])
    assert fits.counts() == Counts(5, 2, 1, 1)
    fits.stop()
    assert fits.counts() == Counts(5, 2, 0, 1)


def test_what_a_killed_process_was_at_has_failed(clock):
    job = bundle(seeds=2)
    fits = expecting(clock, job)
    fits.fitting(job.name, names(job)[:1])
    fits.fitting(job.name, names(job)[1:])
    assert fits.counts() == Counts(2, 0, 1, 1)


def test_the_store_has_the_last_word_when_a_job_ends(clock):
    job = bundle(seeds=3)
    fits = expecting(clock, job)
    fits.done(job.name, names(job)[:1], 1.0)
    fits.ended(job.name, lambda cell: cell.seed == 1)  # of which the log says nothing yet
    assert fits.counts() == Counts(3, 2, 0, 1)
    fits.started(job.name)  # another attempt
    assert fits.counts() == Counts(3, 2, 0, 0)


def test_time_left_is_the_rest_at_the_speed_so_far(clock):
    # Ten cells alike, one after the other, 20 s each.
    job = bundle(seeds=10)
    fits = expecting(clock, job)
    assert fits.seconds_left() is None
    for number, name in enumerate(names(job)[:4], start=1):
        fit(fits, clock, job, name, 20.0)
        assert fits.seconds_left() == pytest.approx(20.0 * (10 - number))
    # And in the middle of one.
    fits.fitting(job.name, names(job)[4:5])
    clock.now += 15
    assert fits.seconds_left() == pytest.approx(20.0 * 6 - 15)


def test_two_jobs_at_a_time_take_half_as_long(clock):
    jobs = [bundle(name, seeds=8) for name in ("diagonal", "online_em", "swag")]
    fits = expecting(clock, *jobs)
    for one, two in zip(names(jobs[0])[:4], names(jobs[1])[:4], strict=True):
        fits.fitting(jobs[0].name, [one])
        fits.fitting(jobs[1].name, [two])
        clock.now += 10
        fits.done(jobs[0].name, [one], 10.0)
        fits.done(jobs[1].name, [two], 10.0)
    assert fits.seconds_left() == pytest.approx(10.0 * (24 - 8) / 2)


def test_the_cells_of_the_last_job_do_not_share_what_is_idle(clock):
    jobs = [bundle("diagonal", seeds=6), bundle("online_em", seeds=12)]
    fits = expecting(clock, *jobs)
    for one, two in zip(names(jobs[0]), names(jobs[1])[:6], strict=True):
        fits.fitting(jobs[0].name, [one])
        fits.fitting(jobs[1].name, [two])
        clock.now += 10
        fits.done(jobs[0].name, [one], 10.0)
        fits.done(jobs[1].name, [two], 10.0)
    assert fits.seconds_left() == pytest.approx(10.0 * 6)  # two at a time would take 30


def test_cells_that_were_there_do_not_spoil_the_estimate(clock):
    known, new = bundle("diagonal", seeds=100), bundle("online_em", seeds=3)
    fits = expecting(clock, known, new, is_there=lambda cell: cell.algorithm == "diagonal")
    fit(fits, clock, new, names(new)[0], 40.0)
    assert fits.seconds_left() == pytest.approx(80.0)


def test_larger_cells_take_as_much_longer_as_guessed(clock):
    small, large = bundle(seeds=2, T=100), bundle(seeds=2, D=1000, T=100_000)
    ratio = seconds_of("synthetic", large.groups[0]) / seconds_of("synthetic", small.groups[0])
    assert ratio > 10
    fits = expecting(clock, small, large)
    fit(fits, clock, small, names(small)[0], 20.0)
    assert fits.seconds_left() == pytest.approx(20.0 * (1 + 2 * ratio))


def test_an_algorithm_is_as_slow_as_it_was_itself(clock):
    quick, slow, new = (bundle(name, seeds=2) for name in ("diagonal", "online_em", "swag"))
    fits = expecting(clock, quick, slow, new)
    fit(fits, clock, quick, names(quick)[0], 10.0)
    fit(fits, clock, slow, names(slow)[0], 50.0)
    # The two that are left of known algorithms, and two of one that is like the others on average.
    assert fits.seconds_left() == pytest.approx(10 + 50 + 2 * 30)


def test_seeds_that_are_fitted_at_once_share_the_time(clock):
    job = bundle(seeds=8)
    fits = expecting(clock, job)
    fits.fitting(job.name, names(job)[:4])
    assert fits.counts().running == 4
    clock.now += 20
    fits.done(job.name, names(job)[:4], 20.0)
    fits.fitting(job.name, names(job)[4:])
    clock.now += 5
    assert fits.seconds_left() == pytest.approx(15.0)


def test_there_is_no_estimate_without_a_finished_cell_and_none_at_the_end(clock):
    job = bundle(seeds=2)
    fits = expecting(clock, job)
    fits.fitting(job.name, names(job)[:1])
    clock.now += 100
    assert fits.seconds_left() is None
    fits.done(job.name, names(job)[:1], 100.0)
    assert fits.seconds_left() == pytest.approx(100.0)
    fit(fits, clock, job, names(job)[1], 100.0)
    assert fits.seconds_left() is None


def test_only_what_is_new_in_a_log_is_read(tmp_path):
    path = tmp_path / "log"
    path.write_text("what an earlier run has left\n")
    log = Log(path)
    assert list(log.lines()) == []
    path.write_text("one\ntwo\nhal")
    assert list(log.lines()) == ["one", "two"]
    with path.open("a") as file:
        file.write("f\nfour\n")
    assert list(log.lines()) == ["half", "four"]
    assert list(log.lines()) == []
    path.write_text("anew\n")
    assert list(log.lines()) == ["anew"]


def test_a_log_may_come_late(tmp_path):
    log = Log(tmp_path / "log")
    assert list(log.lines()) == []
    (tmp_path / "log").write_text("one\n")
    assert list(log.lines()) == ["one"]


@pytest.fixture
def fitted(tmp_path, monkeypatch):
    """A job whose second cell has failed, its real log, and its store."""

    def run(cell, tables):
        if cell.seed == 1:
            raise ValueError("no such luck")
        yield Measurement(5, "relative_frobenius", 0.5, "ok", "", 0.1)

    monkeypatch.setattr(experiments, "load", lambda name: run)
    job, store = bundle(seeds=3), Store(tmp_path / "store")
    log = logging.getLogger("onlinefa")
    file = logging.FileHandler(tmp_path / "log")
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))  # as the command line does
    monkeypatch.setattr(log, "level", logging.INFO)
    log.addHandler(file)
    fit_bundle(job, store, tmp_path, tmp_path / "rows.parquet")
    log.removeHandler(file)
    file.close()
    return job, tmp_path / "log", store


def test_cells_are_counted_by_what_a_fit_really_writes(fitted, clock, tmp_path):
    job, written, _ = fitted
    fits = expecting(clock, job)
    log = Log(tmp_path / "copy")
    seen = []
    with (tmp_path / "copy").open("w") as copy:
        for line in written.read_text().splitlines(keepends=True):
            copy.write(line)
            copy.flush()
            follow(log, job.name, fits)
            counts = fits.counts()
            seen.append((counts.done, counts.running, counts.failed))
    changes = [now for before, now in zip([None, *seen], seen, strict=False) if now != before]
    assert changes == [
        (0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 1),
    ]  # fmt: skip


def record(event=None, level=logging.INFO, message="None", **attributes):
    made = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    vars(made).update(attributes | ({"event": event} if event else {}))
    return made


def starting(number, rule, log="", **wildcards):
    return record(
        LogEvent.JOB_INFO, jobid=number, rule_name=rule, wildcards=wildcards, log=[str(log)]
    )


def finished(number):
    return record(LogEvent.JOB_FINISHED, job_id=number)


def error(number, **attributes):
    return record(LogEvent.JOB_ERROR, logging.ERROR, jobid=number, **attributes)


def told(run):
    return [f"{row.name} {row.told}" for row in run.rows()]


def test_a_run_has_cells_and_other_jobs(fitted, clock, tmp_path):
    job, log, store = fitted
    run = Run(clock)
    run.note(record(LogEvent.RUN_INFO, stats={"fit": 1, "figure_5_1": 1, "all": 1, "total": 3}))
    assert told(run) == []
    run.note(record(bundles=[job], store=str(tmp_path / "later")))
    run.note(starting(1, "fit", log, bundle=job.name))
    assert told(run) == ["fits 0/3 cells", "other jobs 0/2"]
    os.utime(log)  # it is not what an earlier run has left
    run.look()
    store.folder.rename(tmp_path / "later")
    run.note(finished(1))
    run.note(starting(2, "figure_5_1"))
    assert told(run) == ["fits 2/3 cells, 1 failed", "other jobs 0/2, figure_5_1 running"]
    run.note(error(2))
    assert told(run)[1] == "other jobs 0/2, 1 failed"
    run.note(starting(2, "figure_5_1"))
    run.note(finished(2))
    assert told(run)[1] == "other jobs 1/2"


def test_cells_in_the_store_are_done_from_the_start(fitted, clock, tmp_path):
    job, _, store = fitted
    run = Run(clock)
    run.note(record(LogEvent.RUN_INFO, stats={"fit": 1, "total": 1}))
    run.note(record(bundles=[job], store=str(store.folder)))
    run.note(starting(1, "fit", tmp_path / "none", bundle=job.name))
    assert told(run) == ["fits 2/3 cells"]
    run.note(error(1))
    assert told(run) == ["fits 2/3 cells, 1 failed"]
    run.note(starting(1, "fit", tmp_path / "none", bundle=job.name))
    assert told(run) == ["fits 2/3 cells"]


def test_what_the_user_interrupts_has_not_failed(fitted, clock, tmp_path):
    job, _, store = fitted
    run = Run(clock)
    run.note(record(LogEvent.RUN_INFO, stats={"fit": 1, "fetch": 1, "total": 2}))
    run.note(record(bundles=[job], store=str(store.folder)))
    run.note(starting(1, "fit", tmp_path / "none", bundle=job.name))
    run.note(starting(2, "fetch"))
    run.note(record(message="Terminating processes on user request, this might take some time."))
    run.note(error(1))
    run.note(error(2))
    run.stop()
    assert told(run) == ["fits 2/3 cells", "other jobs 0/1"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.1, "5 s"), (42, "40 s"), (57, "55 s"), (58, "1 min"), (200, "3 min"), (3500, "58 min"),
        (3590, "1 h"), (5000, "1 h 20 min"), (7200, "2 h"), (36_500, "10 h"), (200_000, "55 h"),
    ],
)  # fmt: skip
def test_times_are_no_more_exact_than_estimates(seconds, words):
    assert duration(seconds) == words


def test_lines_are_few(clock, capsys):
    import sys

    lines = Lines(sys.stderr, clock)
    lines.show([])
    for second in range(120):
        lines.show([Row("fits", second // 20, 6, f"{second // 20}/6 cells", f"{second} s left")])
        clock.now += 1
    lines.close([Row("fits", 6, 6, "6/6 cells")])
    assert capsys.readouterr().err.splitlines() == [
        "fits 0/6 cells, 0 s left",
        "fits 1/6 cells, 30 s left",
        "fits 3/6 cells, 60 s left",
        "fits 4/6 cells, 90 s left",
        "fits 6/6 cells",
    ]


def handler(**settings):
    default = {
        "printshellcmds": False, "nocolor": False, "quiet": None, "debug_dag": False,
        "verbose": False, "show_failed_logs": True, "stdout": False, "dryrun": False,
    }  # fmt: skip
    return LogHandler(SimpleNamespace(**default | settings), None)


@pytest.fixture
def failure(tmp_path):
    (tmp_path / "log").write_text("why it went wrong\n")
    return error(
        7, rule_name="verify", rule_msg="", input=["an input"] * 100, output=["an output"],
        log=[str(tmp_path / "log")], conda_env=None, shellcmd="a long command", aux={},
    )  # fmt: skip


def emit_a_run(log, failure):
    for each in (
        record(message="Building DAG of jobs..."),
        record(LogEvent.RUN_INFO, message="a table of jobs", stats={"all": 1, "total": 1}),
        record(message="Select jobs to execute..."),
        failure,
        record(message="Trying to restart job 7."),
        record(level=logging.ERROR, message="Exiting because a job execution failed."),
    ):
        log.handle(each)
    log.close()
    log.close()


def test_errors_are_shown_with_their_logs_and_chatter_is_not(failure, capsys):
    emit_a_run(handler(), failure)
    shown = capsys.readouterr().err
    for part in ("Error in rule verify", "an output", "why it went wrong", "restart", "Exiting"):
        assert part in shown
    for part in ("Building", "a table of jobs", "Select", "an input", "a long command", "None"):
        assert part not in shown


def test_whoever_asks_for_more_is_shown_more(failure, capsys):
    emit_a_run(handler(verbose=True), failure)
    shown = capsys.readouterr().err
    for part in ("Building", "a table of jobs", "Select", "an input", "a long command"):
        assert part in shown
    assert "None" not in shown


def test_quiet_is_quiet(failure, capsys):
    from snakemake.settings.enums import Quietness

    emit_a_run(handler(quiet={Quietness.ALL}), failure)
    assert capsys.readouterr() == ("", "")


def test_a_dry_run_is_snakemakes_own(capsys):
    log = handler(dryrun=True, stdout=True)
    log.handle(record(LogEvent.RUN_INFO, message="a table of jobs", stats={"all": 1, "total": 1}))
    log.handle(record(message="This was a dry-run (flag -n)."))
    log.close()
    assert capsys.readouterr() == ("a table of jobs\nThis was a dry-run (flag -n).\n", "")
