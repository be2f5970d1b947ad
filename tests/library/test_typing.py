"""Tests of the library's type annotations, as a user's type checker sees them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import onlinefa

PROGRAM = """
import numpy as np
import torch

from onlinefa import RecursiveEM, ShrunkEM
from onlinefa.torch import WeightPosterior

X = np.zeros((9, 3))
model = ShrunkEM(n_components=1).fit(X)
reveal_type(model)
reveal_type(model.partial_fit([[0.0, 1.0, 2.0]]))
reveal_type(model.gaussian())
reveal_type(model.mean_)
reveal_type(model.transform(X))
reveal_type(model.score(X))
reveal_type(model.n_samples_seen_)
reveal_type(RecursiveEM("auto").n_components)
posterior = WeightPosterior(torch.nn.Linear(3, 1), model)
reveal_type(posterior.gaussian().covariance())
reveal_type(posterior.predict(torch.zeros(2, 3)))
"""
ARRAY = "numpy.ndarray[tuple[Any, ...], numpy.dtype[numpy.float64]]"
TYPES = [
    "onlinefa.estimators.shrunk_em.ShrunkEM",
    "onlinefa.estimators.shrunk_em.ShrunkEM",
    "onlinefa.gaussian.LowRankGaussian",
    ARRAY,
    ARRAY,
    "float",
    "int",
    "int | Literal['auto']",
    ARRAY,
    "torch._tensor.Tensor",
]
MISTAKES = """
from onlinefa import NoSuchEstimator, ShrunkEM

ShrunkEM(n_factors=1)
ShrunkEM(n_components="auto")
"""


def run_mypy(folder, program):
    """Check a user's program as if the library were installed: its own errors are not reported."""
    pytest.importorskip("mypy")
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"]
    environment = os.environ | {"MYPYPATH": str(Path(onlinefa.__file__).parents[1])}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def normalise(line):
    """Return the part of a line that does not depend on the version of mypy."""
    return line.partition('Revealed type is "')[2].rstrip('"').replace("builtins.", "")


def test_the_package_is_marked_as_typed():
    assert (Path(onlinefa.__file__).parent / "py.typed").exists()


@pytest.mark.slow
def test_results_have_types(tmp_path):
    answer = run_mypy(tmp_path, PROGRAM)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    revealed = [normalise(line) for line in answer.stdout.splitlines() if "Revealed" in line]
    assert revealed == TYPES


@pytest.mark.slow
def test_type_errors_are_found(tmp_path):
    answer = run_mypy(tmp_path, MISTAKES)
    assert 'has no attribute "NoSuchEstimator"' in answer.stdout
    assert 'Unexpected keyword argument "n_factors"' in answer.stdout
    assert 'Argument "n_components" to "ShrunkEM" has incompatible type "str"' in answer.stdout
    assert answer.stdout.splitlines()[-1].startswith("Found 3 errors")
