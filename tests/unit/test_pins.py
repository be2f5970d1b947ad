"""One set of versions: the conda environment and constraints.txt must not drift apart."""

from __future__ import annotations

import tomllib
from importlib.metadata import requires
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
# conda-forge has the program without its optional storage and report plugins under this name.
CONDA_NAMES = {"snakemake-minimal": "snakemake"}


def constraints():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return {name.lower().replace("_", "-"): version for name, version in pairs}


def test_conda_environment_has_the_pinned_versions():
    pins = constraints()
    environment = yaml.safe_load((ROOT / "envs" / "onlinefa.yaml").read_text())
    packages = [line.split(" =") for line in environment["dependencies"] if " =" in line]
    assert len(packages) > 5
    for name, version in packages:
        assert pins[CONDA_NAMES.get(name, name)] == version


def test_everything_required_is_pinned_and_within_its_range():
    pins = constraints()
    requirements = [Requirement(text) for text in requires("onlinefa")]
    assert len(requirements) > 10
    for requirement in requirements:
        pinned = pins[requirement.name.lower().replace("_", "-")]
        assert pinned in requirement.specifier


def test_the_version_is_the_same_everywhere():
    import onlinefa

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["version"] == onlinefa.__version__ == citation["version"]
