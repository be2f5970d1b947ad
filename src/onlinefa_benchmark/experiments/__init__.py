"""The registry of experiments: files and packages of this folder, found by their names.

Every module here that is not ``base`` and does not begin with an underscore defines one experiment,
or several of a kind, as subclasses of `Experiment`.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module

from onlinefa_benchmark.experiments.base import Experiment

# The order in which readers see the experiments; others follow by name.
_ORDER = ("synthetic", "linear", "gp", "network", "images")


def names() -> list[str]:
    """Return the names of all experiments, in the order in which readers see them."""
    return list(_experiments())


def load(name: str) -> Experiment:
    """Return the experiment of that name."""
    return _experiments()[name]


@cache
def _experiments() -> dict[str, Experiment]:
    found: dict[str, Experiment] = {}
    for module in sorted(_modules(), key=_place):
        for value in vars(import_module(f"{__name__}.{module}")).values():
            if _is_experiment(value, f"{__name__}.{module}"):
                found[value.name] = value()
    return found


def _modules() -> list[str]:
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return [name for name in modules if name != "base" and name[0] != "_"]


def _place(module: str) -> tuple[int, str]:
    return (_ORDER.index(module) if module in _ORDER else len(_ORDER), module)


def _is_experiment(value: object, module: str) -> bool:
    return (
        inspect.isclass(value)
        and issubclass(value, Experiment)
        and not inspect.isabstract(value)
        and value.__module__ == module
    )
