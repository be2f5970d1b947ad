"""Tests that the first compilation of a kernel is announced in one log line."""

from __future__ import annotations

from numba import njit
from numba.core.event import install_recorder

from onlinefa.kernels.announcement import CompilationAnnouncement


def compile_function(module, *numbers):
    """Return the events of compiling a function of a module, once for each type of number."""

    def double(x):
        return 2 * x

    double.__module__ = module
    with install_recorder("numba:compile") as recorder:
        kernel = njit(double)
        for number in numbers:
            kernel(number)
    return [event for _, event in recorder.buffer]


def test_the_first_compilation_is_announced_once(caplog):
    events = compile_function("onlinefa.kernels.example", 1, 1.0, 1j)
    assert sum(event.is_start for event in events) == 3
    caplog.clear()
    announcement = CompilationAnnouncement()
    for event in events:
        announcement.notify(event)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "compiles its kernels" in caplog.text


def test_functions_of_other_packages_are_not_announced(caplog):
    events = [
        event
        for module in ("other.module", "onlinefa_of_mine", None)
        for event in compile_function(module, 1)
    ]
    announcement = CompilationAnnouncement()
    for event in events:
        announcement.notify(event)
    assert not caplog.records
