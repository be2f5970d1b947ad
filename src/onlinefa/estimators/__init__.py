"""The registry of algorithms: one file per algorithm, found by its name.

A file `online_em.py` here *is* the algorithm `online_em`: the one estimator class that it defines
is what the benchmark runs. Nothing is listed by hand, and nothing is imported before it is used.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onlinefa.estimators.base import FactorEstimator

_NOT_ALGORITHMS = {"base"}
_OFFERED = {"n_components", "init_factors", "random_state"}


def names() -> list[str]:
    """All registered algorithms, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in modules if name not in _NOT_ALGORITHMS)


def load(name: str) -> type[FactorEstimator]:
    """The estimator class of an algorithm."""
    estimator: type[FactorEstimator] = getattr(
        import_module(f"{__name__}.{name}"), class_name(name)
    )
    return estimator


def build(name: str, settings: dict[str, Any], **offered: Any) -> FactorEstimator:
    """An algorithm with its own settings, and of what an experiment offers what it accepts.

    An experiment offers `n_components`, `init_factors` and `random_state`; the diagonal control,
    say, has no use for any of them.
    """
    estimator = load(name)
    accepted = inspect.signature(estimator).parameters
    return estimator(**{k: v for k, v in offered.items() if k in accepted} | settings)


@cache
def default_settings(name: str) -> dict[str, Any]:
    """An algorithm's own settings and their defaults, read from its file without importing it."""
    for method in _definition(name).body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            arguments, defaults = method.args.kwonlyargs, method.args.kw_defaults
            return {
                argument.arg: ast.literal_eval(default) if default else None
                for argument, default in zip(arguments, defaults, strict=True)
                if argument.arg not in _OFFERED
            }
    return {}


def class_name(name: str) -> str:
    """The name of an algorithm's class, read from its file without importing it."""
    return _definition(name).name


@cache
def _definition(name: str) -> ast.ClassDef:
    path = Path(__path__[0], f"{name}.py")
    public = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    if len(public) != 1:
        raise TypeError(f"{path} must define one public class, it defines {len(public)}")
    return public[0]
