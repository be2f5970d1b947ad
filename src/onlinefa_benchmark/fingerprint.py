"""Fingerprints of the code that a result depends on.

Snakemake does not notice edits in imported modules. A fingerprint does: it covers a module, every
module of this distribution that it imports, directly or not, and the versions of the libraries that
compute. It ignores comments, formatting, docstrings and imports for type checking.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = ("onlinefa", "onlinefa_benchmark")
_LIBRARIES = ("numba", "numpy", "scikit-learn", "scipy")
# Distributions by the names under which they are imported.
_LIBRARIES_IF_IMPORTED = {
    "ivon": "ivon-opt",
    "jax": "jax",
    "laplace": "laplace-torch",
    "numpyro": "numpyro",
    "torch": "torch",
}


def code_digest(*modules: str, without: Collection[str] = ()) -> str:
    """Return a digest of modules, of all they import from here, and of library versions.

    Parameters
    ----------
    *modules : str
        Names of modules.
    without : collection of str
        Modules and packages whose imports are not followed.
    """
    found = {module: _read(module) for module in imported_modules(*modules, without=without)}
    imported = {name.split(".")[0] for _, names in found.values() for name in names}
    found_too = (library for name, library in _LIBRARIES_IF_IMPORTED.items() if name in imported)
    libraries = [*_LIBRARIES, *found_too]
    parts = [f"{module}:{source}" for module, (source, _) in found.items()]
    parts += [f"{library}=={_version(library)}" for library in libraries]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def imported_modules(*modules: str, without: Collection[str] = ()) -> list[str]:
    """Return the modules and all that they import from this distribution, sorted."""
    pending, seen = list(modules), set[str]()
    while pending:
        module = pending.pop()
        if module not in seen:
            seen.add(module)
            pending.extend(
                name
                for name in _read(module)[1]
                if _is_module(name) and not any(_is_in(name, package) for package in without)
            )
    return sorted(seen)


def _is_in(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


@cache
def _version(library: str) -> str:
    """Return a version without its local part, so that a node's 2.13.0 equals 2.13.0+cpu here."""
    return version(library).split("+")[0]


@cache
def _read(module: str) -> tuple[str, tuple[str, ...]]:
    """Return a module's code without what has no effect, and the names that it imports."""
    tree = _Effective().visit(ast.parse(_path(module).read_text()))
    return ast.unparse(tree), tuple(_imports(tree))


class _Effective(ast.NodeTransformer):
    """Filter of docstrings and imports for the type checker, which have no effect on a result."""

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
                raise ValueError("a relative import would be missing in the fingerprint")
            candidates.append(node.module)
            candidates += [f"{node.module}.{alias.name}" for alias in node.names]
    return candidates


@cache
def _is_module(name: str) -> bool:
    """Return whether a name is a module of this distribution, not something a module defines."""
    return name.split(".")[0] in _PACKAGES and "." in name and _path(name).exists()


def _path(module: str) -> Path:
    """Return the path of a module's file, whether or not the file exists."""
    top, *below = module.split(".")
    path = _folder(top).joinpath(*below)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def _folder(package: str) -> Path:
    specification = find_spec(package)
    assert specification is not None and specification.origin is not None
    return Path(specification.origin).parent
