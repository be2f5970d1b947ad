"""Tests of the workaround for Snakemake's Slurm plugin, and whether it is still needed."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from onlinefa_benchmark import slurm_plugin
from onlinefa_benchmark.slurm_plugin import FUNCTION, PLUGIN, keep_last_answer, keep_min_job_age

MODULES = (PLUGIN, f"{PLUGIN}.validation")
NOT_NEEDED = (
    "The plugin has changed: if it handles a missing answer itself, delete "
    "src/onlinefa_benchmark/slurm_plugin.py, workflow/rules/slurm.smk and this file; otherwise "
    "adapt the workaround. "
)


def test_the_last_answer_replaces_a_missing_one():
    answers = iter([None, 300, None, 0, None, 120])
    ask = keep_last_answer(lambda: next(answers))
    # There is no answer at first, and zero is an answer.
    assert [ask() for _ in range(6)] == [None, 300, 300, 0, 0, 120]


def test_two_functions_do_not_share_their_answers():
    first, second = keep_last_answer(lambda: 1), keep_last_answer(lambda: None)
    assert (first(), second()) == (1, None)


def test_the_modules_of_the_plugin_share_one_answer(monkeypatch):
    answers = iter([300, None])
    original = lambda: next(answers)  # noqa: E731
    modules = [SimpleNamespace(**{FUNCTION: original}) for _ in MODULES]
    for name, module in zip(MODULES, modules, strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    keep_min_job_age()
    assert [getattr(module, FUNCTION)() for module in modules] == [300, 300]


@pytest.mark.parametrize("module", [None, SimpleNamespace()], ids=["not loaded", "another version"])
def test_without_the_function_nothing_is_changed(monkeypatch, module):
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, module)
    keep_min_job_age()
    assert module is None or not vars(module)


def test_the_plugin_still_needs_the_workaround(monkeypatch):
    for name in MODULES:
        assert hasattr(import_module(name), FUNCTION), f"{NOT_NEEDED}{name} has no {FUNCTION}."

    def run_without_slurm(command, *arguments, **options):
        raise FileNotFoundError(2, "No such file or directory", command)

    for name in ("check_output", "run", "Popen"):
        monkeypatch.setattr(subprocess, name, run_without_slurm)
    function = getattr(import_module(f"{PLUGIN}.job_status_query"), FUNCTION)
    assert function() is None, f"{NOT_NEEDED}{FUNCTION} returns an answer without scontrol."


def test_the_plugin_calls_the_function_by_the_names_that_are_replaced():
    """The workaround would not affect a module that imports the function by another name."""
    for name in MODULES:
        module = import_module(name)
        assert module.__name__ == name
        users = [
            value
            for value in vars(module).values()
            if getattr(value, "__module__", "") == name and FUNCTION in names_used_by(value)
        ]
        assert users, f"{NOT_NEEDED}{name} does not call {FUNCTION}."


def names_used_by(value):
    """Yield the global names in the code of a function, or of the methods of a class."""
    functions = vars(value).values() if isinstance(value, type) else [value]
    for function in functions:
        code = getattr(function, "__code__", None)
        yield from code.co_names if code else ()


def test_the_module_refers_to_this_test():
    assert "tests/benchmark/test_slurm_plugin.py" in slurm_plugin.__doc__
