"""The digest of source code: what it sees and what it does not."""

from __future__ import annotations

import os
from importlib.metadata import version

import pytest

from onlinefa import digest

FILES = {
    "a.py": "from onlinefa import b\nfrom onlinefa.c import value\n\ndef f():\n    return value\n",
    "b.py": '"""Doc."""\nimport math\n',
    "c.py": "def load():\n    import onlinefa.d\n\nvalue = 1\n",
    "d.py": "other = 2\n",
    "unrelated.py": "x = 1\n",
    "typed.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from onlinefa import d\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(digest, "_ROOT", tmp_path)
    digest._read.cache_clear()
    yield tmp_path
    digest._read.cache_clear()


def digest_after(package, file, text, module="onlinefa.a"):
    before = digest.code_digest(module)
    (package / file).write_text(text)
    digest._read.cache_clear()
    return digest.code_digest(module) != before


@pytest.mark.parametrize(
    ("file", "text", "changes"),
    [
        ("a.py", FILES["a.py"].replace("return value", "return value + 1"), True),
        ("b.py", FILES["b.py"] + "y = 3\n", True),
        ("d.py", "other = 3\n", True),  # imported by an import, inside a function
        ("unrelated.py", "x = 2\n", False),
        ("a.py", "# a comment\n" + FILES["a.py"], False),
        ("a.py", FILES["a.py"].replace("return value", "return  (value)"), False),
        ("b.py", FILES["b.py"].replace("Doc.", "Another."), False),
    ],
)
def test_what_changes_the_digest(package, file, text, changes):
    assert digest_after(package, file, text) is changes


def test_imports_for_the_type_checker_do_not_count(package):
    assert not digest_after(package, "d.py", "other = 3\n", module="onlinefa.typed")


def test_a_relative_import_is_refused(package):
    (package / "b.py").write_text("from .c import value\n")
    with pytest.raises(ValueError, match="relative import"):
        digest.code_digest("onlinefa.a")


def test_versions_of_libraries_count(package, monkeypatch):
    before = digest.code_digest("onlinefa.a")
    monkeypatch.setattr(digest, "_version", lambda library: "0.1" if library == "numpy" else "1")
    assert digest.code_digest("onlinefa.a") != before


def test_the_version_of_torch_counts_for_who_imports_it(monkeypatch):
    modules = ("onlinefa.estimators.online_em", "onlinefa.experiments.together")
    before = [digest.code_digest(module) for module in modules]
    monkeypatch.setattr(
        digest, "_version", lambda library: "0.1" if library == "torch" else version(library)
    )
    after = [digest.code_digest(module) for module in modules]
    assert [b == a for b, a in zip(before, after, strict=True)] == [True, False]


def test_an_algorithm_depends_on_its_kernel_and_on_no_other():
    modules = digest.reached("onlinefa.estimators.online_em", "onlinefa.experiments.synthetic")
    assert "onlinefa.kernels.online_em" in modules
    assert "onlinefa.kernels.latent" in modules
    assert "onlinefa.kernels.online_sga" not in modules
    for module in modules:
        # Neither a figure nor the configuration decides what a fit gives.
        assert not module.startswith(("onlinefa.figures", "onlinefa.tables", "onlinefa.config"))


def test_compiled_code_older_than_a_source_file_goes(tmp_path):
    from onlinefa.kernels import discard_stale

    cache = tmp_path / "__pycache__"
    cache.mkdir()
    for name, time in [("old.nbi", 1000), ("new.nbi", 3000)]:
        (cache / name).touch()
        os.utime(cache / name, (time, time))
    (tmp_path / "latent.py").touch()
    os.utime(tmp_path / "latent.py", (2000, 2000))
    discard_stale(tmp_path)
    assert [file.name for file in cache.iterdir()] == ["new.nbi"]
