"""Tests that reading files cannot run code: no pickles, no shell, no evaluation of text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

# Modules and functions that execute their input, or that extract archives to arbitrary paths.
FORBIDDEN = (
    "pickle",
    "cloudpickle",
    "dill",
    "joblib",
    "marshal",
    "shelve",
    "eval",
    "exec",
    "compile",
    "os.system",
    "os.popen",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "pandas.read_pickle",
    "pd.read_pickle",
    "shutil.unpack_archive",
    "pooch.Unzip",
    "pooch.Untar",
)
# Functions that are unsafe without this argument.
UNLESS = {"np.load": "allow_pickle=False", "numpy.load": "allow_pickle=False"}
UNLESS |= {"torch.load": "weights_only=True"}


def find_unsafe_lines(code):
    """Yield the lines of a module that may run code from a file."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names = (
                [node.module or "", *(f"{node.module}.{name}" for name in names)]
                if isinstance(node, ast.ImportFrom)
                else names
            )
            found = [name for name in names if _is_forbidden(name) or name in UNLESS]
        elif isinstance(node, ast.Call):
            called, given = ast.unparse(node.func), {ast.unparse(word) for word in node.keywords}
            extracts = called.endswith((".extractall", "archive.extract"))
            shell = any(word.startswith("shell=") and word != "shell=False" for word in given)
            unsafe = called in UNLESS and UNLESS[called] not in given
            found = [called] if _is_forbidden(called) or unsafe or extracts or shell else []
        else:
            continue
        yield from (f"line {node.lineno}: {name}" for name in found)


def _is_forbidden(name):
    return any(name == word or name.startswith(f"{word}.") for word in FORBIDDEN)


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "from joblib import load",
        "eval('1')",
        "exec(text)",
        "import os\nos.system('ls')",
        "yaml.load(text)",
        "np.load(file)",
        "np.load(file, allow_pickle=True)",
        "torch.load(file)",
        "from numpy import load",
        "torch.load(file, weights_only=False)",
        "subprocess.run(text, shell=True)",
        "archive.extractall(folder)",
        "from os import system",
        "pd.read_pickle(file)",
    ],
)
def test_unsafe_code_is_found(code):
    assert list(find_unsafe_lines(code))


def test_the_source_has_no_unsafe_code():
    harmless = (
        "model.eval()\nnp.load(file, allow_pickle=False)\nyaml.safe_load(text)\nre.compile('')"
    )
    assert list(find_unsafe_lines(harmless)) == []
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 100
    assert [
        f"{file.name}: {line}" for file in files for line in find_unsafe_lines(file.read_text())
    ] == []
