"""A digest of the code that a result depends on.

Snakemake does not see edits in imported modules. This digest does: it covers a module and whatever
of this package it imports, directly or not, and the versions of the libraries that compute. It
ignores comments, formatting and docstrings.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

_PACKAGE = "onlinefa"
_ROOT = Path(__file__).parent
_LIBRARIES = ("numba", "numpy", "scikit-learn", "scipy")
_LIBRARIES_IF_IMPORTED = ("jax", "numpyro", "torch")


def code_digest(*modules: str) -> str:
    """Digest of the modules, of all they import from this package, and of library versions."""
    found = {module: _read(module) for module in reached(*modules)}
    imported = {name.split(".")[0] for _, names in found.values() for name in names}
    libraries = [*_LIBRARIES, *(name for name in _LIBRARIES_IF_IMPORTED if name in imported)]
    parts = [f"{module}:{source}" for module, (source, _) in found.items()]
    parts += [f"{library}=={_version(library)}" for library in libraries]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def reached(*modules: str) -> list[str]:
    """The modules and all that they import from this package."""
    pending, seen = list(modules), set[str]()
    while pending:
        module = pending.pop()
        if module not in seen:
            seen.add(module)
            pending.extend(name for name in _read(module)[1] if _is_ours(name))
    return sorted(seen)


@cache
def _version(library: str) -> str:
    """Without what follows a plus: 2.13.0+cpu, with which one plans, is the 2.13.0 of a node."""
    return version(library).split("+")[0]


@cache
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """A module's code without what has no effect, and all that it imports."""
    tree = _WhatRuns().visit(ast.parse(_path(module).read_text()))
    return ast.unparse(tree), tuple(_imports(tree))


class _WhatRuns(ast.NodeTransformer):
    """Drops what has no effect on a result: docstrings, and imports for the type checker."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def _imports(tree: ast.Module) -> list[str]:
    candidates: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            candidates += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise ValueError("a relative import would be missing in the digest: write it out")
            candidates.append(node.module)
            candidates += [f"{node.module}.{alias.name}" for alias in node.names]
    return candidates


@cache
def _is_ours(name: str) -> bool:
    """Whether a name is one of this package's modules, and not something that a module defines."""
    return name.startswith(f"{_PACKAGE}.") and _path(name).exists()


def _path(module: str) -> Path:
    """The module's file. The package's own __init__ holds names only and is left out."""
    path = _ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
