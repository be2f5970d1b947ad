"""Tests of which messages of Snakemake are shown."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from support.snakemake_messages import error, record

from snakemake_logger_plugin_onlinefa import LogHandler


def handler(**settings):
    default = {
        "printshellcmds": False,
        "nocolor": False,
        "quiet": None,
        "debug_dag": False,
        "verbose": False,
        "show_failed_logs": True,
        "stdout": False,
        "dryrun": False,
    }
    return LogHandler(SimpleNamespace(**default | settings), None)


@pytest.fixture
def failure(tmp_path):
    (tmp_path / "log").write_text("why it went wrong\n")
    return error(
        7,
        rule_name="verify",
        rule_msg="",
        input=["an input"] * 100,
        output=["an output"],
        log=[str(tmp_path / "log")],
        conda_env=None,
        shellcmd="a long command",
        aux={},
    )


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


def test_errors_are_shown_with_their_logs_and_routine_messages_are_not(failure, capsys):
    emit_a_run(handler(), failure)
    shown = capsys.readouterr().err
    for part in ("Error in rule verify", "an output", "why it went wrong", "restart", "Exiting"):
        assert part in shown
    for part in ("Building", "a table of jobs", "Select", "an input", "a long command", "None"):
        assert part not in shown


def test_verbose_shows_everything(failure, capsys):
    emit_a_run(handler(verbose=True), failure)
    shown = capsys.readouterr().err
    for part in ("Building", "a table of jobs", "Select", "an input", "a long command"):
        assert part in shown
    assert "None" not in shown


def test_quiet_shows_nothing(failure, capsys):
    from snakemake.settings.enums import Quietness

    emit_a_run(handler(quiet={Quietness.ALL}), failure)
    assert capsys.readouterr() == ("", "")


def test_a_dry_run_is_shown_as_without_the_plugin(capsys):
    log = handler(dryrun=True, stdout=True)
    log.handle(record(LogEvent.RUN_INFO, message="a table of jobs", stats={"all": 1, "total": 1}))
    log.handle(record(message="This was a dry-run (flag -n)."))
    log.close()
    assert capsys.readouterr() == ("a table of jobs\nThis was a dry-run (flag -n).\n", "")
