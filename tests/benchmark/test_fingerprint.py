"""Tests of fingerprints of code: which changes they detect, and which they ignore."""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
from support.configurations import read_file

from onlinefa_benchmark import algorithms, cells, experiments, fingerprint
from onlinefa_benchmark.config.validation import validate
from onlinefa_benchmark.grid import bundles
from onlinefa_benchmark.models.walk_names import LANGEVIN_WALKS

FILES = {
    "a.py": "from onlinefa import b\nfrom onlinefa.c import value\n\ndef f():\n    return value\n",
    "b.py": '"""Doc."""\nimport math\n',
    "c.py": "def load():\n    import onlinefa.d\n\nvalue = 1\n",
    "d.py": "other = 2\n",
    "unrelated.py": "x = 1\n",
    "typed.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from onlinefa import d\n",
}


def forget():
    """Clear all caches of source files."""
    for cached in (fingerprint._read, fingerprint._is_module, cells._code):
        cached.cache_clear()


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Replace the folder that packages are read from."""
    monkeypatch.setattr(fingerprint, "_folder", lambda package: tmp_path / package)
    forget()
    yield tmp_path
    forget()


@pytest.fixture
def package(source):
    """Return the folder of a small package."""
    (source / "onlinefa").mkdir()
    for name, text in FILES.items():
        (source / "onlinefa" / name).write_text(text)
    return source / "onlinefa"


def changes_digest(package, file, text, module="onlinefa.a"):
    before = fingerprint.code_digest(module)
    (package / file).write_text(text)
    forget()
    return fingerprint.code_digest(module) != before


@pytest.mark.parametrize(
    ("file", "text", "changes"),
    [
        ("a.py", FILES["a.py"].replace("return value", "return value + 1"), True),
        ("b.py", FILES["b.py"] + "y = 3\n", True),
        ("d.py", "other = 3\n", True),  # imported indirectly, inside a function
        ("unrelated.py", "x = 2\n", False),
        ("a.py", "# a comment\n" + FILES["a.py"], False),
        ("a.py", FILES["a.py"].replace("return value", "return  (value)"), False),
        ("b.py", FILES["b.py"].replace("Doc.", "Another."), False),
    ],
)
def test_only_changes_of_imported_code_change_the_digest(package, file, text, changes):
    assert changes_digest(package, file, text) is changes


def test_imports_for_the_type_checker_are_ignored(package):
    assert not changes_digest(package, "d.py", "other = 3\n", module="onlinefa.typed")


def test_a_relative_import_is_refused(package):
    (package / "b.py").write_text("from .c import value\n")
    with pytest.raises(ValueError, match="relative import"):
        fingerprint.code_digest("onlinefa.a")


def test_the_digest_depends_on_versions_of_libraries(package, monkeypatch):
    before = fingerprint.code_digest("onlinefa.a")
    monkeypatch.setattr(
        fingerprint, "_version", lambda library: "0.1" if library == "numpy" else "1"
    )
    assert fingerprint.code_digest("onlinefa.a") != before


def test_the_digest_depends_on_pytorch_only_if_it_is_imported(monkeypatch):
    modules = ("onlinefa.estimators.online_em", "onlinefa_benchmark.experiments._gpu_batch")
    before = [fingerprint.code_digest(module) for module in modules]
    monkeypatch.setattr(
        fingerprint, "_version", lambda library: "0.1" if library == "torch" else version(library)
    )
    after = [fingerprint.code_digest(module) for module in modules]
    assert [b == a for b, a in zip(before, after, strict=True)] == [True, False]


def test_an_algorithm_depends_on_its_kernel_and_on_no_other():
    modules = fingerprint.imported_modules("onlinefa.estimators.online_em")
    assert "onlinefa.kernels.online_em" in modules
    assert "onlinefa.kernels.latent" in modules
    assert "onlinefa.kernels.online_sga" not in modules


@cache
def cells_by_kind():
    """Return one cell of every built-in experiment and algorithm, without fitting any.

    Langevin walks are computed by another module than those of SGD, and are listed apart.
    """
    default, beyond = read_file(), read_file("beyond")
    everything = {name: default.get(name) or beyond.get(name) for name in experiments.names()}
    config = validate(default | everything | {"variants": beyond["variants"]})
    cells = [cell for bundle in bundles(config) for cell in bundle.cells()]
    return {(name_of(cell), cell.algorithm): cell for cell in cells}


def name_of(cell):
    return "langevin" if cell.axes.get("walk") in LANGEVIN_WALKS else cell.experiment


def test_every_built_in_experiment_has_a_cell():
    assert {cell.experiment for cell in cells_by_kind().values()} == set(experiments.names())


# Modules that schedule, store or show fits, without effect on their results.
PLUMBING = [
    f"onlinefa_benchmark.{name}"
    for name in (
        "algorithms",
        "axes",
        "cells",
        "cli",
        "config",
        "context",
        "datasets",
        "execution",
        "experiments.base",
        "grid",
        "looks",
        "planning",
        "plotting",
        "reporting",
        "storage",
        "suggestions",
    )
]


# The walk of SGD is compared with the maximum likelihood factor analysis.
MEASURED_WITH = dict.fromkeys(["linear", "plane"], (algorithms.module_of("batch_ml"),))
# A Langevin walk learns its preconditioner by recursive EM.
MEASURED_WITH["langevin"] = tuple(map(algorithms.module_of, ("batch_ml", "recursive_em")))


def is_within(module, package):
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("kind", cells_by_kind(), ids="-".join)
def test_a_cell_depends_neither_on_infrastructure_nor_on_other_algorithms(kind):
    cell = cells_by_kind()[kind]
    modules = fingerprint.imported_modules(*cell.code_modules)
    assert [each for each in modules for part in PLUMBING if is_within(each, part)] == []
    own = algorithms.module_of(cell.base_algorithm)
    assert own in modules
    # An algorithm can combine others, such as MultiSWAG, a mixture of SWAG posteriors.
    needed = {*fingerprint.imported_modules(own), *MEASURED_WITH.get(kind[0], ())}
    others = {algorithms.module_of(name) for name in algorithms.names()}
    assert others & set(modules) <= needed


def test_an_online_em_cell_depends_on_the_modules_that_compute_it():
    cell = cells_by_kind()["synthetic", "online_em"]
    modules = set(fingerprint.imported_modules(*cell.code_modules))
    found = {name for name in algorithms.names() if algorithms.module_of(name) in modules}
    assert found == {"online_em"}
    assert modules >= {
        "onlinefa.estimators.online_em",
        "onlinefa.gaussian",
        "onlinefa.kernels.online_em",
        "onlinefa_benchmark.experiments._tracking",
        "onlinefa_benchmark.experiments.synthetic.computation",
        "onlinefa_benchmark.measurement",
        "onlinefa_benchmark.models.distances",
        "onlinefa_benchmark.randomness",
        "onlinefa_benchmark.threads",
    }


@pytest.fixture
def copied(source):
    """Copy the source, and take fingerprints of the copy."""
    for name in ("onlinefa", "onlinefa_benchmark"):
        installed = Path(__file__).parents[2] / "src" / name
        shutil.copytree(installed, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    return source


def edit(source, file, pattern, replacement):
    """Replace the first match of a regular expression, which must exist."""
    path = source / file
    text, number = re.subn(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE)
    assert number == 1, f"{file} has no {pattern}"
    path.write_text(text)
    forget()


def digests():
    return {kind: cell.digest() for kind, cell in cells_by_kind().items()}


def changed_by(source, *change):
    """Return the kinds of cells whose digests an edit changes."""
    before = digests()
    edit(source, *change)
    after = digests()
    return {kind for kind in before if before[kind] != after[kind]}


WITHOUT_EFFECT = {
    "progress message": ("onlinefa_benchmark/execution/progress.py", "about %.0f s left", "%.0f s"),
    "colour": ("onlinefa_benchmark/looks.py", "#E69F00", "#E69F01"),
    "label of a metric": (
        "onlinefa_benchmark/experiments/synthetic/__init__.py",
        r"angle \(radians\)",
        "angle",
    ),
    "label of a shared metric": (
        "onlinefa_benchmark/experiments/_distance_metrics.py",
        "Frobenius",
        "Schatten-2",
    ),
    "download timeout": (
        "onlinefa_benchmark/datasets/_packages.py",
        "CONNECT_SECONDS = 20",
        "CONNECT_SECONDS = 9",
    ),
    "message of validation": (
        "onlinefa_benchmark/config/validation.py",
        "is the only algorithm",
        "is alone",
    ),
    "key of a configuration": (
        "onlinefa_benchmark/experiments/_config.py",
        "MOST_SEEDS = 10_000",
        "MOST_SEEDS = 20_000",
    ),
    "estimated time": (
        "onlinefa_benchmark/experiments/synthetic/__init__.py",
        "_START = 0.2",
        "_START = 0.3",
    ),
    "suggestion": ("onlinefa_benchmark/suggestions.py", "did you mean", "do you mean"),
    "docstring": ("onlinefa_benchmark/randomness.py", '"""The random', '"""Random'),
}


@pytest.mark.slow
@pytest.mark.parametrize("change", WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_an_edit_without_effect_on_results_refits_nothing(copied, change):
    assert changed_by(copied, *change) == set()


def everything(experiment, algorithm):
    return True


# Experiments that fit an estimator to a stream of rows and measure its distance from a Gaussian.
TRACKED = {
    *("synthetic", "eigenvalues", "components", "scale", "change"),
    *("linear", "langevin", "plane"),
}


def is_tracked(experiment, algorithm):
    return experiment in TRACKED


WITH_EFFECT = {
    "threads": ("onlinefa_benchmark/threads.py", everything),
    "measurements": ("onlinefa_benchmark/measurement.py", everything),
    "random numbers": ("onlinefa_benchmark/randomness.py", everything),
    "tracking": ("onlinefa_benchmark/experiments/_tracking.py", is_tracked),
    "distances": ("onlinefa_benchmark/models/distances.py", is_tracked),
    "estimator": (
        "onlinefa/estimators/online_sga.py",
        lambda experiment, algorithm: algorithm == "online_sga",
    ),
    "shared kernel": (
        "onlinefa/kernels/online_sga.py",
        lambda experiment, algorithm: algorithm in ("online_sga", "preconditioned_sga"),
    ),
    "kernel of one algorithm": (
        "onlinefa/kernels/stepwise_em.py",
        lambda experiment, algorithm: algorithm == "stepwise_em",
    ),
    "experiment": (
        "onlinefa_benchmark/experiments/synthetic/change_computation.py",
        lambda experiment, algorithm: experiment == "change",
    ),
    "walk": (
        "onlinefa/walks/adaptive.py",
        lambda experiment, algorithm: experiment == "langevin",
    ),
    "posterior": (
        "onlinefa_benchmark/posteriors/map.py",
        lambda experiment, algorithm: algorithm == "map",
    ),
    "training of deep networks": (
        "onlinefa_benchmark/deep/training.py",
        lambda experiment, algorithm: experiment == "images",
    ),
    "posterior of deep networks": (
        "onlinefa_benchmark/deep_posteriors/laplace_fa.py",
        lambda experiment, algorithm: algorithm in ("deep_laplace_fa", "deep_multi_laplace_fa"),
    ),
    "variant": (
        "onlinefa/estimators/recursive_em.py",
        lambda experiment, algorithm: (
            algorithm.startswith(("recursive_em", "multi_fa", "laplace_fa", "multi_laplace_fa"))
            or algorithm in ("laplace_draws", "deep_multi_fa")
            or experiment == "langevin"
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("file", "depends"), WITH_EFFECT.values(), ids=WITH_EFFECT)
def test_an_edit_of_a_computation_refits_the_cells_that_depend_on_it(copied, file, depends):
    expected = {kind for kind in cells_by_kind() if depends(*kind)}
    assert changed_by(copied, file, r"\Z", "\nADDED = 1\n") == expected
    assert expected


def test_one_file_can_declare_compute_and_draw_an_experiment(copied):
    """Modules for declarations and figures that it imports are not part of the fingerprint."""
    (copied / "onlinefa_benchmark/experiments/mine.py").write_text(
        "from onlinefa_benchmark.axes import D\n"
        "from onlinefa_benchmark.experiments.base import Experiment\n"
        "from onlinefa_benchmark.plotting.convergence import draw\n"
        "from onlinefa_benchmark.randomness import generator\n"
    )
    module = "onlinefa_benchmark.experiments.mine"
    assert fingerprint.imported_modules(module, without=cells.NOT_COMPUTING) == [
        module,
        "onlinefa_benchmark.randomness",
    ]


def test_an_additional_metric_is_part_of_the_fingerprint_of_its_cells(copied):
    (copied / "onlinefa_benchmark/metrics/mine.py").write_text("METRIC = 1\n")
    cell = cells_by_kind()["synthetic", "online_em"]
    with_it = cells.Cell(
        cell.experiment, cell.axes, cell.seed, {**cell.parameters, "metrics": ["mine"]}
    )
    before = cell.digest(), with_it.digest()
    edit(copied, "onlinefa_benchmark/metrics/mine.py", "1", "2")
    assert cell.digest() == before[0]
    assert with_it.digest() != before[1]


def test_compiled_code_older_than_a_source_file_is_deleted(tmp_path):
    from onlinefa.kernels import discard_stale

    cache_folder = tmp_path / "__pycache__"
    cache_folder.mkdir()
    for name, time in [("old.nbi", 1000), ("new.nbi", 3000)]:
        (cache_folder / name).touch()
        os.utime(cache_folder / name, (time, time))
    (tmp_path / "latent.py").touch()
    os.utime(tmp_path / "latent.py", (2000, 2000))
    discard_stale(tmp_path)
    assert [file.name for file in cache_folder.iterdir()] == ["new.nbi"]
