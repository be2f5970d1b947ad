"""Tests of the package as a whole: its public names, and the modules that it imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from support.library_estimators import ESTIMATORS

import onlinefa
import onlinefa.estimators
import onlinefa.torch

FOLDER = Path(onlinefa.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))
ALLOWED = {"array_api_compat", "numpy", "scipy", "numba", "sklearn", "threadpoolctl", "onlinefa"}


def find_imports(path):
    """Yield the module of each import statement, and the names that are imported from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno} is a relative import"
            yield node.module, [alias.name for alias in node.names]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_modules_import_only_dependencies_of_the_library(path):
    allowed = ALLOWED | sys.stdlib_module_names
    if FOLDER / "torch" in path.parents:
        allowed |= {"torch"}
        if path.stem in ("lightning", "transformers"):  # callbacks of these packages
            allowed |= {path.stem}
    for module, _ in find_imports(path):
        assert module.partition(".")[0] in allowed


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_modules_import_from_the_module_that_defines_a_name(path):
    """The benchmark reads import statements to find out which code a result depends on."""
    for module, names in find_imports(path):
        if module in ("onlinefa", "onlinefa.estimators", "onlinefa.torch"):
            raise AssertionError(f"{path} imports {names} from the package {module}")


@pytest.mark.parametrize("package", [onlinefa, onlinefa.estimators, onlinefa.torch])
def test_all_public_names_exist(package):
    assert len(set(package.__all__)) == len(package.__all__)
    for name in package.__all__:
        assert hasattr(package, name)


def test_all_estimators_are_exported():
    files = {path.stem for path in (FOLDER / "estimators").glob("*.py")}
    algorithms = {name for name in files if not name.startswith("_")} - {"base"}
    assert set(ESTIMATORS) == algorithms
    for estimator in ESTIMATORS.values():
        assert getattr(onlinefa, estimator.__name__) is estimator
        assert estimator.__name__ in onlinefa.__all__
    assert onlinefa.__version__ == "0.2.0"


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_a_module_of_an_algorithm_defines_one_public_class(name):
    tree = ast.parse((FOLDER / "estimators" / f"{name}.py").read_text())
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert [each for each in classes if each[0] != "_"] == [ESTIMATORS[name].__name__]


@pytest.mark.slow
def test_importing_the_library_imports_neither_pytorch_nor_numba():
    program = "import sys, onlinefa; print(*({'torch', 'numba'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (answer.stdout.strip(), answer.stderr) == ("", "")
