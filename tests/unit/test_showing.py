"""One cell, however it is named, and what is said of a name that is not one cell's."""

from __future__ import annotations

import json
import platform
import re
import shutil

import pyarrow.parquet as pq
import pytest

from onlinefa import experiments, results
from onlinefa.__main__ import main
from onlinefa.cell import Bundle, Group
from onlinefa.experiments.tracking import Measurement
from onlinefa.fitting import fit_bundle
from onlinefa.results import Store


def group(algorithm, D, high):
    axes = {"algorithm": algorithm, "D": D, "K": 2, "spectrum": f"1-{high}"}
    settings = {"learning_rate": 0.25} if algorithm == "online_sga" else {}
    parameters = {"dataset": "algorithm_3", "root_seed": 3, "T": [5, 60], "settings": settings}
    return Group(axes, parameters | {"spectrum": [1, high]})


def bundle(algorithm, D, *seeds):
    """Two spectra."""
    groups = (group(algorithm, D, 10), group(algorithm, D, 100))
    return Bundle("synthetic", {"algorithm": algorithm, "D": D}, groups, seeds)


BUNDLES = [bundle("diagonal", 4, 0, 1), bundle("online_sga", 4, 0), bundle("online_sga", 6, 0)]
ONE = BUNDLES[1].cells()[1]  # online SGA, D = 4, the wide spectrum
PATH = "synthetic/algorithm~online_sga/D~4/K~2/spectrum~1-100/seed~0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A few cells, of which the one of D = 6 and the narrow spectrum has failed."""

    def run(one, tables):
        if one.axes["D"] == 6 and one.axes["spectrum"] == "1-10":
            raise RuntimeError("boom\nand more")
        yield Measurement(5, "relative_frobenius", 0.125, "ok", "", 1.5)
        yield Measurement(60, "relative_frobenius", None, "diverged", "too large", 2.5)
        yield Measurement(60, "largest_principal_angle", 1 / 3, "ok", "", 2.5)

    monkeypatch.setattr(experiments, "load", lambda name: run)
    for each in BUNDLES:
        fit(each, tmp_path)
    return tmp_path


def fit(one, folder):
    output = results.bundle_path(one, folder / "cells")
    fit_bundle(one, Store(folder / "store"), folder, output)


def show(capsys, folder, name, status=0):
    """What is printed, or what is complained about."""
    assert main(["show", name, "--results", str(folder)]) == status
    told = capsys.readouterr()
    assert (told.err if status == 0 else told.out) == ""
    return (told.out if status == 0 else told.err).splitlines()


def paragraphs(lines):
    return [text.split("\n") for text in "\n".join(lines).split("\n\n")]


def test_rows_and_where_they_come_from(folder, capsys):
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
    "beginning": ONE.digest()[:8],
    "another order": "synthetic/seed~0/spectrum~1-100/D~4/algorithm~online_sga/K~2",
    "what is shared is left out": "synthetic/D~4/spectrum~1-100/algorithm~online_sga",
    "what is no part of the path": f"{PATH}/dataset~algorithm_3/",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("lost", [None, "cells", "store"])
def test_a_cell_has_many_names_and_two_places(folder, capsys, name, lost):
    whole = paragraphs(show(capsys, folder, PATH))
    if lost:
        shutil.rmtree(folder / lost)
    found = paragraphs(show(capsys, folder, name))
    if lost == "store":  # which alone knows what decided the rows
        assert whole[1].pop() == f"code         {ONE.code}"
        assert found[1].pop() == "code         not recorded"
        whole[2] = ["parameters:", "  not recorded"]
    assert found == whole


def test_several_are_listed(folder, capsys):
    header, *lines = show(capsys, folder, "synthetic/algorithm~diagonal/spectrum~1-10", 1)
    assert header == "synthetic/algorithm~diagonal/spectrum~1-10: 2 cells; name one of them:"
    wanted = [cell for cell in BUNDLES[0].cells() if cell.axes["spectrum"] == "1-10"]
    assert [line.split()[1] for line in lines] == [cell.digest() for cell in wanted]
    assert [line.split()[0].split("/")[-1] for line in lines] == ["seed~0", "seed~1"]


def test_two_digests_with_one_beginning_are_listed(folder, capsys):
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
    "too short": ("0123abc", "8 to 32 characters are needed"),
    "too long": ("0" * 33, "8 to 32 characters are needed"),
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
def test_a_failed_cell_tells_all_of_its_message(folder, capsys, is_forgotten):
    if is_forgotten:  # as Snakemake does when a run ends with an error
        results.bundle_path(BUNDLES[2], folder / "cells").unlink()
    failed = BUNDLES[2].cells()[0]
    for name in ("synthetic/D~6/spectrum~1-10", failed.digest()):
        lines = show(capsys, folder, name)
        start = lines.index("failed: RuntimeError: boom")
        assert lines[start + 1] == "Traceback (most recent call last):"
        assert lines[-2:] == ["RuntimeError: boom", "and more"]
        assert not any(line.startswith("step") for line in lines)
        assert f"code         {failed.code}" in lines
        assert "seconds      not recorded" in lines


def test_a_failure_of_the_past_is_not_another_cell(folder, capsys, monkeypatch):
    """With another setting it is fine, and in the file that is in use."""
    fine = Measurement(5, "relative_frobenius", 0.0625, "ok", "", 1.0)
    monkeypatch.setattr(experiments, "load", lambda name: lambda one, tables: [fine])
    groups = [Group(each.axes, {**each.parameters, "T": [5]}) for each in BUNDLES[2].groups]
    fit(Bundle("synthetic", BUNDLES[2].axes, tuple(groups), (0,)), folder)
    assert len(Store(folder / "store").failures()) == 1
    assert "   5  relative_frobenius  0.0625  ok" in show(
        capsys, folder, "synthetic/D~6/spectrum~1-10"
    )


def test_what_the_store_remembers_is_what_the_digest_is_of(folder):
    metadata = pq.read_schema(Store(folder / "store").path(ONE.digest())).metadata
    told = json.loads(metadata[results.IDENTITY])
    assert told == {
        "experiment": "synthetic", "axes": dict(ONE.axes), "seed": 0,
        "parameters": dict(ONE.parameters), "code": ONE.code,
    }  # fmt: skip
