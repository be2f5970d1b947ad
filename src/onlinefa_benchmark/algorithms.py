"""The registry of algorithms: one file each, found by its name.

A file ``online_em.py`` in the folder of the estimators (``onlinefa.estimators``) or of the
posteriors of networks (``onlinefa_benchmark.posteriors``) defines the algorithm ``online_em``: the
benchmark runs the one public class of the file. A file ``map.py`` in the folder of posteriors of
deep networks (``onlinefa_benchmark.deep_posteriors``) defines ``deep_map``. Parts that several
algorithms share are in ``base.py`` or in files whose names begin with an underscore.
"""

from __future__ import annotations

import inspect
import json
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onlinefa_benchmark.suggestions import nearest, needs_extra

ESTIMATORS = "onlinefa.estimators"
POSTERIORS = "onlinefa_benchmark.posteriors"
DEEP_POSTERIORS = "onlinefa_benchmark.deep_posteriors"
DEEP = "deep_"
"""How the names of posteriors of deep networks begin."""

# Parameters that an experiment passes to every estimator, and that no configuration sets.
_OFFERED = {"n_components", "init_factors", "random_state"}


class BadAlgorithm(TypeError):
    """Exception for a file in a folder of algorithms that does not define an algorithm."""


def names() -> list[str]:
    """Return the names of all algorithms, sorted."""
    return sorted([*estimator_names(), *posterior_names(), *deep_posterior_names()])


def estimator_names() -> list[str]:
    """Return the names of all estimators, sorted."""
    return _names(ESTIMATORS)


def posterior_names() -> list[str]:
    """Return the names of all posteriors of networks that are not estimators, sorted."""
    return _names(POSTERIORS)


def deep_posterior_names() -> list[str]:
    """Return the names of all posteriors of deep networks that are not estimators, sorted."""
    return [DEEP + name for name in _names(DEEP_POSTERIORS)]


def _names(package: str) -> list[str]:
    modules = (module.name for module in pkgutil.iter_modules([str(_folder(package))]))
    return sorted(name for name in modules if name != "base" and name[0] != "_")


@cache
def _folder(package: str) -> Path:
    """Return the folder of a package without importing it, because the import takes a second."""
    top, *below = package.split(".")
    specification = find_spec(top)
    assert specification is not None and specification.origin is not None
    return Path(specification.origin).parent.joinpath(*below)


def is_estimator(name: str) -> bool:
    """Return whether an algorithm is an estimator of the library."""
    return _locate(name)[0] == ESTIMATORS


def module_of(name: str) -> str:
    """Return the module that defines an algorithm."""
    return ".".join(_locate(name))


def _locate(name: str) -> tuple[str, str]:
    """Return the package of an algorithm's file, and the name of the file."""
    if name in deep_posterior_names():
        return DEEP_POSTERIORS, name.removeprefix(DEEP)
    return (POSTERIORS if name in posterior_names() else ESTIMATORS), name


@cache
def load(name: str) -> Any:
    """Return the class of an algorithm.

    Raises
    ------
    BadAlgorithm
        If its file cannot be imported or does not define exactly one public class.
    """
    package, file = _locate(name)
    path = _folder(package) / f"{file}.py"
    try:
        module = import_module(module_of(name))
    except SyntaxError as error:
        raise BadAlgorithm(f"{path}: line {error.lineno}: {error.msg}") from None
    public = [
        value
        for key, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and key[0] != "_"
    ]
    if len(public) != 1:
        raise BadAlgorithm(f"{path}: must define one public class, it defines {len(public)}")
    return public[0]


def default_settings(name: str) -> dict[str, Any]:
    """Return the settings of an algorithm and their defaults.

    Settings are the keyword-only parameters of its constructor, without those that an experiment
    offers. Their defaults are plain values, because settings are part of a cell's identity.
    """
    found = {}
    for key, parameter in inspect.signature(load(name)).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and key not in _OFFERED:
            found[key] = parameter.default
            try:
                json.dumps(parameter.default)
            except TypeError:
                problem = f"the default of {key} must be a plain value"
                raise BadAlgorithm(f"{inspect.getfile(load(name))}: {problem}") from None
    return found


@dataclass(frozen=True)
class AlgorithmFacts:
    """Properties of an algorithm that the grid of a configuration depends on.

    A checked configuration contains the facts of its algorithms, so that jobs that only read
    results do not import the algorithms' classes.

    Parameters
    ----------
    default_settings : dict
        Settings and their defaults.
    is_reference : bool
        Whether other algorithms are compared with it, so that it is never ranked.
    is_trained : bool
        Whether it starts from a mode of the network's posterior.
    follows_sgd : bool
        Whether it depends on the walk of SGD.
    on_gpu : bool
        Whether its networks can be evaluated on a GPU.
    """

    default_settings: dict[str, Any]
    is_reference: bool
    is_trained: bool
    follows_sgd: bool
    on_gpu: bool


def read_facts(name: str) -> AlgorithmFacts:
    """Return the facts of an algorithm, from its class."""
    kind = load(name)
    return AlgorithmFacts(
        default_settings(name),
        is_reference(name),
        is_trained=getattr(kind, "trained", True),
        follows_sgd=getattr(kind, "stochastic", True),  # an estimator is fitted to the walk
        on_gpu=getattr(kind, "on_gpu", True),
    )


def is_reference(name: str) -> bool:
    """Return whether an algorithm is a reference for the others, which is never ranked."""
    return bool(getattr(load(name), "reference", False))


def needs_one_output(name: str) -> bool:
    """Return whether an algorithm is implemented for networks with one output only."""
    return bool(getattr(load(name), "one_output", False))


def missing_package(name: str) -> str | None:
    """Return the package that an algorithm needs, if it is not installed."""
    needed = getattr(load(name), "needs", None)
    return needed if needed and find_spec(needed) is None else None


def find_problem(
    name: str, allowed: Sequence[str], variants: Mapping[str, str] | None = None
) -> str | None:
    """Return what is wrong with an algorithm's name or file; None if nothing is.

    Parameters
    ----------
    name : str
        Name that a configuration gives: of an algorithm, or of a variant.
    allowed : sequence of str
        Algorithms that may be named.
    variants : mapping of str to str, optional
        The algorithm behind the name of each variant.
    """
    variants = variants or {}
    base = variants.get(name, name)
    if base not in allowed:
        if name != base and base not in names():
            return None  # reported where the variant is defined
        known = [*allowed, *(variant for variant, of in variants.items() if of in allowed)]
        return f"unknown algorithm '{name}'{nearest(name, known)}"
    try:
        default_settings(base)
    except BadAlgorithm as error:
        return str(error)
    package = missing_package(base)
    extra = getattr(load(base), "extra", "reference")
    return f"'{name}' {needs_extra(package, extra)}" if package else None
