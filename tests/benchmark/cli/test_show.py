"""Tests of `onlinefa show`: cells by any of their names, and messages about unknown names."""

from __future__ import annotations

import json
import platform
import re
import shutil

import pyarrow.parquet as pq
import pytest
from support.fitting import fit_job, replace_computation

from onlinefa_benchmark.cells import Bundle, Group
from onlinefa_benchmark.cli import main
from onlinefa_benchmark.measurement import Measurement
from onlinefa_benchmark.storage.result_file import bundle_path
from onlinefa_benchmark.storage.store import IDENTITY, Store


def group(algorithm, D, high):
    axes = {"algorithm": algorithm, "D": D, "K": 2, "spectrum": f"1-{high}"}
    settings = {"learning_rate": 0.25} if algorithm == "online_sga" else {}
    parameters = {"dataset": "algorithm_3", "root_seed": 3, "T": [5, 60], "settings": settings}
    return Group(axes, parameters | {"spectrum": [1, high]})


def bundle(algorithm, D, *seeds):
    """Return a job with two spectra."""
    groups = (group(algorithm, D, 10), group(algorithm, D, 100))
    return Bundle("synthetic", {"algorithm": algorithm, "D": D}, groups, seeds)


BUNDLES = [bundle("diagonal", 4, 0, 1), bundle("online_sga", 4, 0), bundle("online_sga", 6, 0)]
ONE = BUNDLES[1].cells()[1]  # online SGA, D = 4, the wide spectrum
PATH = "synthetic/algorithm~online_sga/D~4/K~2/spectrum~1-100/seed~0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return results of a few cells; that of D = 6 and the narrow spectrum has failed."""

    def run(cell):
        if cell.axes["D"] == 6 and cell.axes["spectrum"] == "1-10":
            raise RuntimeError("boom\nand more")
        yield Measurement(5, "relative_frobenius", 0.125, "ok", "", 1.5)
        yield Measurement(60, "relative_frobenius", None, "diverged", "too large", 2.5)
        yield Measurement(60, "largest_principal_angle", 1 / 3, "ok", "", 2.5)

    replace_computation(monkeypatch, run)
    for each in BUNDLES:
        fit_job(each, tmp_path)
    return tmp_path


def show(capsys, folder, name, status=0):
    """Return the lines that are printed, or the message of an error."""
    assert main(["show", name, "--results", str(folder)]) == status
    told = capsys.readouterr()
    assert (told.err if status == 0 else told.out) == ""
    return (told.out if status == 0 else told.err).splitlines()


def paragraphs(lines):
    return [text.split("\n") for text in "\n".join(lines).split("\n\n")]


def test_rows_and_their_provenance_are_shown(folder, capsys):
    name, facts, parameters, measured, message = paragraphs(show(capsys, folder, PATH))
    assert name == [
        "synthetic/dataset~algorithm_3/algorithm~online_sga/D~4/K~2/spectrum~1-100/seed~0"
    ]
    told = dict(line.split(maxsplit=1) for line in facts)
    assert (told["digest"], told["code"]) == (ONE.digest(), ONE.code)
    assert (told["host"], told["device"], told["seconds"]) == (platform.node(), "cpu", "2.5")
    assert f"python {platform.python_version()}, onlinefa " in told["versions"]
    assert re.fullmatch(r"memory +\d+ MB", told["peak"])
    assert told["commit"]
    assert parameters == [
        "parameters:",
        '  dataset                 "algorithm_3"',
        "  root_seed               3",
        "  T                       [5, 60]",
        "  settings.learning_rate  0.25",
        "  spectrum                [1, 100]",
    ]
    assert measured == [
        "step  metric                      value  status",
        "   5  relative_frobenius          0.125  ok",
        "  60  relative_frobenius                 diverged",
        "  60  largest_principal_angle  0.333333  ok",
    ]
    assert message == ["diverged: too large"]


NAMES = {
    "digest": ONE.digest(),
    "prefix of the digest": ONE.digest()[:8],
    "another order": "synthetic/seed~0/spectrum~1-100/D~4/algorithm~online_sga/K~2",
    "without axes that all cells share": "synthetic/D~4/spectrum~1-100/algorithm~online_sga",
    "with an axis that is not in the path": f"{PATH}/dataset~algorithm_3/",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("lost", [None, "cells", "store"])
def test_a_cell_is_found_by_any_name_in_the_results_or_the_store(folder, capsys, name, lost):
    whole = paragraphs(show(capsys, folder, PATH))
    if lost:
        shutil.rmtree(folder / lost)
    found = paragraphs(show(capsys, folder, name))
    if lost == "store":  # only the store has code and parameters
        assert whole[1].pop() == f"code         {ONE.code}"
        assert found[1].pop() == "code         not recorded"
        whole[2] = ["parameters:", "  not recorded"]
    assert found == whole


def test_ambiguous_names_list_all_matching_cells(folder, capsys):
    header, *lines = show(capsys, folder, "synthetic/algorithm~diagonal/spectrum~1-10", 1)
    assert header == "synthetic/algorithm~diagonal/spectrum~1-10: 2 cells; name one of them:"
    wanted = [cell for cell in BUNDLES[0].cells() if cell.axes["spectrum"] == "1-10"]
    assert [line.split()[1] for line in lines] == [cell.digest() for cell in wanted]
    assert [line.split()[0].split("/")[-1] for line in lines] == ["seed~0", "seed~1"]


def test_an_ambiguous_prefix_lists_all_matching_digests(folder, capsys):
    store = Store(folder / "store")
    other = ONE.digest()[:-1] + ("0" if ONE.digest()[-1] != "0" else "1")
    store.path(other).write_bytes(store.path(ONE.digest()).read_bytes())
    header, *lines = show(capsys, folder, ONE.digest()[:31], 1)
    assert "2 cells" in header
    assert {line.split()[1] for line in lines} == {ONE.digest(), other}


UNKNOWN = {
    "an experiment": ("sythetic/seed~0", "experiment 'sythetic'; did you mean 'synthetic'? (allow"),
    "an algorithm": ("synthetic/algorithm~online_sgd", "; did you mean 'algorithm~online_sga'?"),
    "a seed": ("synthetic/seed~7", "no cell has 'seed~7'; did you mean 'seed~"),
    "an axis": ("synthetic/xyz", "'xyz' (axes: D, K, algorithm, dataset, seed, spectrum)"),
    "a combination": ("synthetic/seed~1/D~6", "no cell has all of these"),
    "a digest": ("0" * 32, "has such a digest"),
    "too short": ("0123abc", "give 8 to 32 characters of a digest"),
    "too long": ("0" * 33, "give 8 to 32 characters of a digest"),
    "another folder": ("../cells/synthetic", "no cell of an experiment '..' (allowed: synthetic)"),
}


@pytest.mark.parametrize(("name", "reason"), UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_name_is_one_line(folder, capsys, name, reason):
    (line,) = show(capsys, folder, name, 1)
    assert line.startswith(f"{name}: ")
    assert reason in line


@pytest.mark.parametrize("name", [PATH, ONE.digest()])
def test_without_results_there_is_no_cell(tmp_path, capsys, name):
    (line,) = show(capsys, tmp_path / "nowhere", name, 1)
    assert str(tmp_path / "nowhere") in line


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_the_whole_message_of_a_failed_cell_is_shown(folder, capsys, is_forgotten):
    if is_forgotten:  # Snakemake deletes it when a run ends with an error
        bundle_path(BUNDLES[2], folder / "cells").unlink()
    failed = BUNDLES[2].cells()[0]
    for name in ("synthetic/D~6/spectrum~1-10", failed.digest()):
        lines = show(capsys, folder, name)
        start = lines.index("failed: RuntimeError: boom")
        assert lines[start + 1] == "Traceback (most recent call last):"
        assert lines[-2:] == ["RuntimeError: boom", "and more"]
        assert not any(line.startswith("step") for line in lines)
        assert f"code         {failed.code}" in lines
        assert "seconds      not recorded" in lines


def test_an_outdated_failure_is_not_listed_as_another_cell(folder, capsys, monkeypatch):
    """The cell has succeeded with another setting, and is in the current file."""
    fine = Measurement(5, "relative_frobenius", 0.0625, "ok", "", 1.0)
    replace_computation(monkeypatch, lambda cell: [fine])
    groups = [Group(each.axes, {**each.parameters, "T": [5]}) for each in BUNDLES[2].groups]
    fit_job(Bundle("synthetic", BUNDLES[2].axes, tuple(groups), (0,)), folder)
    assert len(Store(folder / "store").failures()) == 1
    assert "   5  relative_frobenius  0.0625  ok" in show(
        capsys, folder, "synthetic/D~6/spectrum~1-10"
    )


def test_the_store_records_all_fields_of_the_digest(folder):
    metadata = pq.read_schema(Store(folder / "store").path(ONE.digest())).metadata
    told = json.loads(metadata[IDENTITY])
    assert told == {
        "experiment": "synthetic",
        "axes": dict(ONE.axes),
        "seed": 0,
        "parameters": dict(ONE.parameters),
        "code": ONE.code,
    }


def test_indices_are_shown_next_to_the_metric(tmp_path, capsys, monkeypatch):
    entries = [
        Measurement(5, "mean", 0.5, "ok", "", 1.0, i=3),
        Measurement(5, "covariance", 0.25, "ok", "", 1.0, i=0, j=12),
    ]
    replace_computation(monkeypatch, lambda cell: entries)
    fit_job(BUNDLES[1], tmp_path)
    lines = show(capsys, tmp_path, PATH)
    assert [line.split() for line in lines[-2:]] == [
        ["5", "mean[3]", "0.5", "ok"],
        ["5", "covariance[0,12]", "0.25", "ok"],
    ]
