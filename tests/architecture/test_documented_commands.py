"""What documents name can be called: targets of make, programs of bench/, modules, commands of Django,
options of the engine. tests/engine/test_documented_commands.py runs the examples of the engine,
tests/engine/test_bench_programs.py programs of bench/."""

from __future__ import annotations

import functools
import re
from importlib.util import find_spec

import pytest
from django.core.management import get_commands

from synth_engine import cli
from tests import documented
from tests.documented import ROOT, Command

COMMANDS = documented.commands()
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([A-Za-z-]+):(?!=)", MAKEFILE, flags=re.MULTILINE))
WRITTEN_FOR_READERS = {"verify_receipt.py", "verify_ledger.py", "recreate.py"}
"""Programs that a command or REST gives to its reader."""
NAMED = re.compile(r"\bbench/(\w+)\.py\b")


def _programs_of_bench() -> set[str]:
    return {path.stem for path in (ROOT / "bench").glob("*.py")}


@functools.cache
def _named() -> set[str]:
    """The programs of bench/ that pages, the Makefile or code outside of bench/ name."""
    code = [
        path
        for name in ("tests", "synth_engine", "synthweb")
        for path in (ROOT / name).rglob("*.py")
    ]
    paths = [ROOT / "Makefile", *documented.pages(), *code]
    return {name for path in paths for name in NAMED.findall(path.read_text())}


def test_commands_are_found_in_the_documents() -> None:
    programs = {command.words[0] for command in COMMANDS}
    assert programs == set(documented.PROGRAMS)
    assert len(COMMANDS) > 200


def test_every_target_of_make_that_a_page_names_exists() -> None:
    named = {
        (command.page, word)
        for command in COMMANDS
        for word in command.after("make") or ()
        if "=" not in word
    }
    assert len(named) > 20
    assert sorted((page, word) for page, word in named if word not in TARGETS) == []


def test_every_target_of_make_is_explained_by_make_or_made_by_others() -> None:
    [phony] = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)
    assert set(phony.split()) == TARGETS


def test_every_program_of_bench_that_is_named_exists() -> None:
    assert sorted(_named() - _programs_of_bench()) == []


def test_every_program_of_bench_is_named_or_is_part_of_one() -> None:
    imported = re.findall(
        r"^\s*from bench(?:\.(\w+))? import ([\w, ]+)",
        "\n".join(path.read_text() for path in (ROOT / "bench").glob("*.py")),
        flags=re.MULTILINE,
    )
    parts = {
        name
        for module, names in imported
        for name in ([module] if module else re.split(r"\W+", names))
    }
    assert sorted(_programs_of_bench() - _named() - parts) == []


def test_every_module_and_file_that_a_command_starts_exists() -> None:
    missing = []
    for command in COMMANDS:
        words = command.after("python") or ("-c",)
        if words[0] == "-m":
            found = find_spec(words[1]) is not None
        else:
            found = words[0] in {"-c", *WRITTEN_FOR_READERS} or (ROOT / words[0]).is_file()
        if not found:
            missing.append((command.page, command.text))
    assert missing == []


def test_every_path_of_this_project_in_a_command_exists() -> None:
    paths = {
        (command.page, word)
        for command in COMMANDS
        for word in " ".join(command.words).split()
        if re.match(r"(?:tests|examples|bench)/", word)
    }
    assert len(paths) > 15
    assert sorted((page, word) for page, word in paths if not (ROOT / word).exists()) == []


def test_every_command_of_django_that_a_page_names_exists() -> None:
    named = {
        (command.page, words[0])
        for command in COMMANDS
        if (words := command.after("manage.py")) and words[0] != "…"
    }
    assert len(named) > 15
    assert sorted((page, word) for page, word in named if word not in get_commands()) == []


def _helped(command: Command, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The help of each command of the engine that this one names: `database describe|sample` are two."""
    arguments = [word for word in command.engine or () if re.fullmatch(r"[a-z|-]+", word)]
    helps = []
    for first in arguments[0].split("|") if arguments else [""]:
        seconds = [""]
        if first in ("database", "city", "link", "mix") and len(arguments) > 1:
            seconds = arguments[1].split("|")
        for second in seconds:
            with pytest.raises(SystemExit) as stop:
                cli.main([*filter(None, (first, second)), "--help"])
            text = capsys.readouterr().out
            assert stop.value.code == 0, (command.page, command.text)
            helps.append(text)
    return helps


@pytest.mark.parametrize(
    "page", sorted({command.page for command in COMMANDS if command.engine is not None})
)
def test_commands_of_the_engine_have_the_options_that_a_page_gives_them(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in COMMANDS:
        if command.page != page or command.engine is None:
            continue
        helps = _helped(command, capsys)
        for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", command.text)):
            known = re.compile(rf"(?<![\w-]){option}(?![\w-])")
            assert all(known.search(text) for text in helps), (option, command.text)
