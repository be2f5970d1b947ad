"""Tests of configuration files: merging, and the checked files that jobs read."""

from __future__ import annotations

import re

import pytest
import yaml
from support.configurations import ROOT, read_file, without_experiments

from onlinefa_benchmark.config import files, seed_counts
from onlinefa_benchmark.config.validation import ConfigError, validate
from onlinefa_benchmark.grid import bundles


def test_files_are_merged_as_by_snakemake(tmp_path):
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text(yaml.safe_dump(without_experiments() | {"seeds_per_job": 7}))
    second.write_text("synthetic: {seeds: 1, D: [50]}\n")
    config = files.read([str(first), str(second)])
    # The second file replaces the first one's null; values of the default have lowest priority.
    default = read_file()
    assert config.synthetic.algorithms == default["synthetic"]["algorithms"]
    assert (config.synthetic.seeds, config.synthetic.D) == ([0], [50])
    assert (config.linear, config.seeds_per_job) == (None, 7)
    assert config.root_seed == default["root_seed"]


@pytest.mark.parametrize("value", ["seeds_per_job", "seeds_per_job=[", "sed=1"])
def test_a_mistake_in_a_command_line_value_is_one_line(value):
    with pytest.raises(ConfigError, match=r"^--config: .*$"):
        files.read([], [value])


SMALL = {
    "root_seed": 3,
    "seeds_per_job": 2,
    "synthetic": {
        "algorithms": ["diagonal", "mine"],
        "D": [5],
        "K": [2],
        "spectrum": [[1, 10]],
        "T": [5],
        "seeds": 4,
        "more_seeds": {"metric": "relative_frobenius", "error": 0.5, "most": 9},
    },
    "variants": {"mine": {"algorithm": "online_sga", "learning_rate": 0.25}},
}


def test_the_default_is_read_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text(yaml.safe_dump(SMALL))
    assert files.read([]) == validate(SMALL)
    assert files.read([], ["root_seed=4"]) == validate(SMALL | {"root_seed": 4})


def test_elsewhere_the_default_is_that_of_the_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    default = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    assert files.read([]) == validate(default)
    (tmp_path / "mine.yaml").write_text("linear: null")
    assert files.read(["mine.yaml"]) == validate(default | {"linear": None})


def write_and_read(config, folder):
    path = files.checked_path(config, folder)
    files.write_checked(config, path)
    return files.read_checked(path)


@pytest.mark.parametrize("name", ["config", "thesis", "multiswag", "beyond", "walks", "posteriors"])
def test_a_checked_configuration_is_read_as_written(tmp_path, name):
    config = files.read([str(ROOT / "config" / f"{name}.yaml")])
    found = write_and_read(config, tmp_path)
    assert found.model_dump() == config.model_dump()
    assert found.all_facts() == config.all_facts()
    assert found.digest() == config.digest()
    assert bundles(found) == bundles(config)


def test_added_seeds_are_part_of_a_checked_configuration(tmp_path):
    counts = {"synthetic": {"D~5/K~2/spectrum~1-10": 7}}
    config = seed_counts.apply(validate(SMALL), counts)
    found = write_and_read(config, tmp_path)
    assert found.model_dump() == config.model_dump()
    assert found.all_facts() == config.all_facts()
    assert {len(bundle.cells()) for bundle in bundles(found)} == {1, 2}
    assert sum(len(bundle.cells()) for bundle in bundles(found)) == 2 * 7


def test_the_name_of_a_checked_file_depends_on_its_content(tmp_path):
    config, other = validate(SMALL), validate(SMALL | {"root_seed": 4})
    path = files.checked_path(config, tmp_path)
    assert path == files.checked_path(validate(SMALL), tmp_path)
    assert path != files.checked_path(other, tmp_path)
    files.write_checked(config, path)
    written = path.stat()
    files.write_checked(config, path)  # another run may be reading it
    assert path.stat() == written


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"root_seed": 1, "other": 2}'])
def test_a_file_that_is_not_a_checked_configuration_is_one_line(tmp_path, text):
    path = tmp_path / "checked.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError) as error:
        files.read_checked(path)
    (line,) = str(error.value).splitlines()
    assert line.startswith(f"{path}: not a checked configuration (")


@pytest.fixture(scope="module")
def large():
    """Return a configuration of 10,000 cells in each of three experiments."""
    grid = {
        "algorithms": ["diagonal", "online_em"],
        "D": [5, 6, 7, 8, 9],
        "K": [2],
        "spectrum": [[1, high] for high in range(10, 20)],
        "T": [5, 10],
        "seeds": 100,
    }
    return validate(
        {
            "root_seed": 0,
            "seeds_per_job": 1,
            "synthetic": grid,
            "eigenvalues": grid,
            "change": grid | {"change_at": 5},
        }
    )


def test_thirty_thousand_cells_fit_into_a_checked_configuration(large, tmp_path):
    jobs = bundles(large)
    assert sum(len(bundle.groups) * len(bundle.seeds) for bundle in jobs) == 30_000
    found = write_and_read(large, tmp_path)
    assert found.model_dump() == large.model_dump()
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size < 10_000  # the file lists no cells


def test_the_jobs_of_one_experiment_are_found_by_their_names(large, tmp_path):
    found = write_and_read(large, tmp_path)
    everything = {bundle.name: bundle for bundle in bundles(large)}
    for experiment in ("synthetic", "eigenvalues", "change"):
        own = {bundle.name: bundle for bundle in bundles(found, [experiment])}
        assert len(own) == 2 * 5 * 100
        assert own == {
            name: bundle for name, bundle in everything.items() if bundle.experiment == experiment
        }
        assert all(name.split("/")[0] == experiment for name in own)


# A shell command, without its backslashes at ends of lines.
COMMAND = re.compile(r'shell:\s+r?"""(.*?)"""', re.DOTALL)


def test_no_command_of_a_rule_has_a_configuration_or_grid_as_argument():
    rules = sorted((ROOT / "workflow/rules").glob("*.smk"))
    commands = [
        " ".join(found.replace("\\\n", " ").split())
        for file in rules
        for found in COMMAND.findall(file.read_text())
    ]
    assert len(commands) >= 8
    for command in commands:
        (call,) = re.findall(r"onlinefa_benchmark \w+ .*", command)
        given = re.findall(r"--config (\S+)", call)
        assert given in ([], ['"$ONLINEFA_CONFIG"'])
        used = set(re.findall(r"\{(\w+\.\w+)", call))
        assert not {name for name in used if re.search("json|grid|bundles|groups", name)}
        assert not re.search(r"\{(config|CONFIG|BUNDLES)\b", call)
    # No parameter of a rule is JSON.
    for file in rules:
        assert not re.search(r"json\.dumps|model_dump|to_json", file.read_text()), file
