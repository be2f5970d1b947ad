"""A folder of algorithms: one file for each, found by its name.

A file `online_em.py` *is* the algorithm `online_em`: the one public class that it defines is what
the benchmark runs. Nothing is listed by hand, and nothing is imported before it is used. What
several of them share is in `base.py`, or in a file whose name begins with an underscore.
"""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_NOT_ALGORITHMS = {"base"}


class BadAlgorithm(TypeError):
    """A file of the folder is not what an algorithm's file must be."""


def names(folder: Sequence[str]) -> list[str]:
    """All algorithms of a package's folder, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(folder))
    return sorted(name for name in modules if name not in _NOT_ALGORITHMS and name[0] != "_")


def load(package: str, folder: Sequence[str], name: str) -> type:
    """The class of an algorithm."""
    found: type = getattr(import_module(f"{package}.{name}"), class_name(folder[0], name))
    return found


@cache
def settings(folder: str, name: str) -> dict[str, Any]:
    """An algorithm's keyword-only parameters and their defaults, read without importing it."""
    for method in _definition(folder, name).body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            arguments, defaults = method.args.kwonlyargs, method.args.kw_defaults
            return {
                argument.arg: _default(Path(folder, f"{name}.py"), argument.arg, default)
                for argument, default in zip(arguments, defaults, strict=True)
            }
    return {}


def constant(folder: str, name: str, constant: str) -> Any:
    """What an algorithm's class sets a name to, read without importing it; None if it does not."""
    for node in _definition(folder, name).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == constant and node.value:
            return ast.literal_eval(node.value)
    return None


def class_name(folder: str, name: str) -> str:
    """The name of an algorithm's class, read from its file without importing it."""
    return _definition(folder, name).name


def _default(path: Path, argument: str, value: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(value) if value else None
    except ValueError:
        raise BadAlgorithm(f"{path}: the default of {argument} must be a plain value") from None


@cache
def _definition(folder: str, name: str) -> ast.ClassDef:
    path = Path(folder, f"{name}.py")
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
