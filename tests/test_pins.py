"""Tests that the conda environment, constraints.txt and the image have the same versions."""

from __future__ import annotations

import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
# conda-forge has the program without its optional storage and report plugins under this name.
CONDA_NAMES = {"snakemake-minimal": "snakemake", "pytorch-cpu": "torch", "pytorch-gpu": "torch"}


def constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def read_project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def packages_of(environment):
    lines = yaml.safe_load((ROOT / "envs" / environment).read_text())["dependencies"]
    return dict(line.split(" =") for line in lines if " =" in line)


@pytest.mark.parametrize("environment", ["onlinefa.yaml", "onlinefa-cuda.yaml"])
def test_conda_environments_have_the_pinned_versions(environment):
    pins, packages = constraints(), packages_of(environment)
    assert len(packages) > 5
    for name, version in packages.items():
        assert pins[CONDA_NAMES.get(name, name)] == version


def test_the_environments_with_and_without_gpu_differ_in_pytorch_only():
    with_gpu, without = packages_of("onlinefa-cuda.yaml"), packages_of("onlinefa.yaml")
    assert with_gpu.keys() - without.keys() == {"pytorch-gpu"}
    assert without.keys() - with_gpu.keys() == {"pytorch-cpu"}


def test_packages_that_are_compared_run_with_the_pinned_pytorch():
    lines = (ROOT / "conformance" / "requirements.txt").read_text().splitlines()
    for name in ("torch", "torchvision"):
        assert f"{name}=={constraints()[name]}" in lines


def test_the_image_is_built_from_the_same_pins():
    recipe = (ROOT / "envs" / "onlinefa.def").read_text()
    assert "--constraint /opt/onlinefa/constraints.txt" in recipe
    copied = [
        line.split()[0]
        for line in recipe.splitlines()
        if " /opt/onlinefa/" in line and "pip" not in line
    ]
    assert len(copied) == 5
    assert all((ROOT / path).exists() for path in copied)


def test_every_requirement_is_pinned_and_within_its_range():
    pins, project = constraints(), read_project()
    texts = chain(project["dependencies"], *project["optional-dependencies"].values())
    everything = map(Requirement, texts)
    requirements = [each for each in everything if each.name != "onlinefa"]  # its own extras
    assert len(requirements) > 10
    for requirement in requirements:
        pinned = pins[requirement.name.lower().replace("_", "-")]
        assert pinned in requirement.specifier


def test_the_version_is_the_same_everywhere():
    import onlinefa

    project = read_project()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["version"] == onlinefa.__version__ == citation["version"]
