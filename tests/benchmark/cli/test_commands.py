"""Tests of the command onlinefa: its subcommands, their help, and missing packages."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

from onlinefa_benchmark import cli
from onlinefa_benchmark.cli import COMMANDS, main


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_parser_and_help(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: onlinefa {command} ")


def test_the_help_lists_all_commands_with_a_description(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = [line.split() for line in capsys.readouterr().out.splitlines()]
    found = {words[0]: words for words in listed if words and words[0] in COMMANDS}
    assert set(found) == set(COMMANDS)
    # The description of a long name is in the next line.
    assert all(len(words) > 2 or len(words[0]) > 10 for words in found.values())


def test_every_file_with_a_parser_is_a_command():
    files = Path(cli.__file__).parent.glob("*.py")
    assert {file.stem for file in files if "\ndef add_parser(" in file.read_text()} == set(COMMANDS)


@pytest.mark.parametrize("missing", ["pydantic", "pyarrow"])
def test_without_the_packages_of_the_benchmark_the_message_is_one_line(
    missing, monkeypatch, capsys
):
    found = util.find_spec
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == missing else found(name))
    assert main(["plan"]) == 1
    told = capsys.readouterr()
    (line,) = told.err.splitlines()
    assert told.out == ""
    assert line.endswith("pip install 'onlinefa[benchmark]'")


def test_an_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["plans"])
    assert exit_.value.code == 2
    assert "invalid choice: 'plans'" in capsys.readouterr().err
