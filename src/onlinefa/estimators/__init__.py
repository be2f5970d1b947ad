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


class BadAlgorithm(TypeError):
    """A file of this folder is not what an algorithm's file must be."""


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
    say, has no use for any of them, and batch SVD keeps the seed that is its default. Settings that
    choose another number of factors have no use for initial ones of the number that is offered.
    """
    estimator = load(name)
    parameters = inspect.signature(estimator).parameters
    if "n_components" in settings:
        offered.pop("init_factors", None)
    accepted = {
        key: value
        for key, value in offered.items()
        if key in parameters and (key == "n_components" or parameters[key].default is None)
    }
    return estimator(**accepted | settings)


@cache
def default_settings(name: str) -> dict[str, Any]:
    """An algorithm's own settings and their defaults, read from its file without importing it."""
    for method in _definition(name).body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            arguments, defaults = method.args.kwonlyargs, method.args.kw_defaults
            return {
                argument.arg: _default(name, argument.arg, default)
                for argument, default in zip(arguments, defaults, strict=True)
                if argument.arg not in _OFFERED
            }
    return {}


def _default(name: str, argument: str, value: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(value) if value else None
    except ValueError:
        path = Path(__path__[0], f"{name}.py")
        raise BadAlgorithm(f"{path}: the default of {argument} must be a plain value") from None


def class_name(name: str) -> str:
    """The name of an algorithm's class, read from its file without importing it."""
    return _definition(name).name


@cache
def _definition(name: str) -> ast.ClassDef:
    path = Path(__path__[0], f"{name}.py")
    try:
        tree = ast.parse(path.read_text())
    except SyntaxError as error:
        raise BadAlgorithm(f"{path}: line {error.lineno}: {error.msg}") from None
    public = [
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    if len(public) != 1:
        raise BadAlgorithm(f"{path}: must define one public class, it defines {len(public)}")
    return public[0]
