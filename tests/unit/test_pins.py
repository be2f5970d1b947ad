"""One set of versions: the conda environment and constraints.txt must not drift apart."""

from __future__ import annotations

import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
# conda-forge has the program without its optional storage and report plugins under this name.
CONDA_NAMES = {"snakemake-minimal": "snakemake", "pytorch-cpu": "torch", "pytorch-gpu": "torch"}


def constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def packages_of(environment):
    lines = yaml.safe_load((ROOT / "envs" / environment).read_text())["dependencies"]
    return dict(line.split(" =") for line in lines if " =" in line)


@pytest.mark.parametrize("environment", ["onlinefa.yaml", "onlinefa-cuda.yaml"])
def test_conda_environments_have_the_pinned_versions(environment):
    pins, packages = constraints(), packages_of(environment)
    assert len(packages) > 5
    for name, version in packages.items():
        assert pins[CONDA_NAMES.get(name, name)] == version


def test_with_a_gpu_and_without_only_pytorch_differs():
    with_gpu, without = packages_of("onlinefa-cuda.yaml"), packages_of("onlinefa.yaml")
    assert with_gpu.keys() - without.keys() == {"pytorch-gpu"}
    assert without.keys() - with_gpu.keys() == {"pytorch-cpu"}


def test_the_image_is_made_from_the_same_pins():
    recipe = (ROOT / "envs" / "onlinefa.def").read_text()
    assert "--constraint /opt/onlinefa/constraints.txt" in recipe
    copied = [
        line.split()[0]
        for line in recipe.splitlines()
        if " /opt/onlinefa/" in line and "pip" not in line
    ]
    assert len(copied) == 5
    assert all((ROOT / path).exists() for path in copied)


def test_everything_required_is_pinned_and_within_its_range():
    pins = constraints()
    everything = [Requirement(text) for text in requires("onlinefa")]
    requirements = [each for each in everything if each.name != "onlinefa"]  # groups of its own
    assert len(requirements) > 10
    for requirement in requirements:
        pinned = pins[requirement.name.lower().replace("_", "-")]
        assert pinned in requirement.specifier


def test_the_version_is_the_same_everywhere():
    import onlinefa

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["version"] == onlinefa.__version__ == citation["version"]
