"""The programs of bench/ run from beginning to end on small tables: those of `make`, by their own lines of
the Makefile, and others by the commands of documents with fewer runs; what takes minutes or needs servers at
least starts and knows the documented options. In a folder of their own, so that nothing of build/ is
overwritten."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import documented, tiny_data
from tests.documented import ROOT

SMALL = {"RUNS": "1", "PARTS": "1", "DRAWS": "20000", "OPENBLAS_NUM_THREADS": "1"}
PAPERS = {
    "paper-A": ("build/paper-a/table.md", "build/paper-a/figures.html"),
    "paper-B": ("build/paper-b/table.md", "build/paper-b/figure.html"),
    "paper-C": ("build/paper-c/table.md", "build/paper-c/figures.html"),
    "paper-E": ("build/paper-e/table.md", "build/paper-e/figure.html"),
    "city": ("build/city/database/city.sqlite",),
    "bench": (),
    "bench-peers": ("docs/peers.md", "docs/images/peers.svg"),
}
"""What each target of make that starts a program of bench/ leaves."""
ARGUMENTS = {
    "city": "1000",
    "bench": "--data adult --epsilon 1 --runs 1 --method independent --cache peers.json",
    # Other synthesizers would be installed.
    "bench-peers": "--data adult --epsilon 1 --runs 1 --peer synth_engine --method independent --cache "
    "peers.json",
}
RUN = (
    "bench/auto.py shared --data xor --method independent --epsilon 1 --runs 1",
    "bench/contingency_table.py shared --runs 1",
    "bench/fits.py shared --tables adult --methods auto --runs 1 --fits 2 --columns 3",
    "bench/interval_coverage.py shared --methods independent --runs 1",
    "bench/timing.py --runs 2 --records 50",
    "bench/run_time.py --only independent",
    "bench/run_time.py --data shared/data --only mst",
    "bench/rules.py drawing --columns 20 --rows 2000 --times 1",
    "bench/linking.py files .",
    "bench/linking.py random 2",
    (
        "bench/commutes.py shared/data/lodes_ri/ri_od_main_JT00_2019.csv.gz "
        "shared/data/lodes_ri/ri_xwalk.csv.gz made.parquet"
    ),
)
"""One after another in one process, which loads libraries once."""
WITHOUT_DATA = tuple(f"bench/{name}.py nowhere" for name in ("contingency_table", "paper_b"))
STARTED = (
    "bought",
    "conclusions",
    "forecast",
    "idle",
    "ingest",
    "load",
    "meaning",
    "needs",
    "pages",
    "peers",
    "scaling",
    "sources",
    "storm",
    "values",
)
WITHOUT_OPTIONS = {
    "city",
    "commutes",
    "linking",
    "paper_a",
    "paper_b",
    "paper_c",
    "paper_e",
    "relational",
}
BY_TESTS = {"audit", "relational"}
"""Tests run what these call (tests/privacy/test_likelihood_audit.py, tests/engine/test_relational.py): by
themselves they take minutes, or noise hides a table that is small enough."""
PARTS_OF_OTHERS = {
    "against",
    "against_page",
    "coded_tables",
    "made",
    "nemeses",
    "paper_a_points",
    "paper_a_texts",
    "paper_c_map",
    "paper_c_trees",
}
MAY_MISS = {"paper-C", "bench/fits.py", "bench/interval_coverage.py"}
"""What judges figures of noisy releases. On one small table it misses them by chance, and says so with exit
code 1."""
# Runs several programs, and prints of each a line of JSON: its words, its exit code, and what it printed.
DRIVER = """
import contextlib, io, json, os, runpy, sys, traceback
sys.path.insert(0, os.getcwd())
for line in sys.stdin:
    sys.argv, code, out = line.split(), 0, io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as stop:
            code = stop.code or 0
        except BaseException:
            code = traceback.format_exc()
    print(json.dumps([line.strip(), code, out.getvalue()]))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the one of the project, with small tables in place of examples/ and of ../shared."""
    folder = tmp_path_factory.mktemp("checkout")
    tiny_data.examples(folder)
    tiny_data.shared(folder)
    shutil.copytree(
        ROOT / "bench", folder / "bench", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("synth_engine", "synthweb", "tests", "manage.py"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "docs" / "images").mkdir(parents=True)
    return folder


def recipe(target: str, folder: Path) -> list[str]:
    """The command that `make TARGET` starts once its environment is there."""
    made = ["make", "-n", "-o", "setup", "-o", "setup-tests", target, "DATA=shared"]
    # A make of its own, and no part of the one that runs the tests: that would print the folder, too.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        [*made, f"ARGS={ARGUMENTS.get(target, '')}"],
        cwd=folder,
        env=outside,
        capture_output=True,
        text=True,
        check=True,
    )
    [line] = done.stdout.splitlines()
    return shlex.split(line.removeprefix("exec "))


def fine(program: str) -> tuple[int, ...]:
    """The exit codes of a program, or a target of make, that ran to its end."""
    return (0, 1) if program in MAY_MISS else (0,)


def documented_options() -> dict[str, set[str]]:
    """Of each program with options: those that documents give it."""
    named: dict[str, set[str]] = {name: set() for name in STARTED}
    for command in documented.commands():
        if command.bench is not None:
            name = command.bench[0].removeprefix("bench/").removesuffix(".py")
            options = {word for word in command.bench if word.startswith("--")}
            if name in WITHOUT_OPTIONS | BY_TESTS:
                assert options == set(), command.text
            else:
                named.setdefault(name, set()).update(options)
    return named


@pytest.fixture(scope="module")
def ran(checkout: Path) -> dict[str, tuple[int | str, str]]:
    """The exit code, or where it broke, and the output of all programs that run in one process."""
    asked = [f"bench/{name}.py --help" for name in documented_options()]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input="\n".join([*WITHOUT_DATA, *asked, *RUN, ""]),
        cwd=checkout,
        env=os.environ | SMALL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {line: (code, out) for line, code, out in map(json.loads, done.stdout.splitlines())}


def test_every_target_that_starts_a_program_of_bench_is_here() -> None:
    targets = re.findall(
        r"^([A-Za-z-]+):.*\n\t@exec \$\(BIN\)/python bench/",
        (ROOT / "Makefile").read_text(),
        flags=re.MULTILINE,
    )
    assert set(targets) == set(PAPERS)


def test_every_program_of_bench_is_run_or_started_here() -> None:
    run = {line.split(".")[0].removeprefix("bench/") for line in RUN}
    papers = {"paper_a", "paper_b", "paper_c", "paper_e", "city", "peers"}
    programs = {path.stem for path in (ROOT / "bench").glob("*.py")}
    assert run | papers | set(STARTED) | BY_TESTS | PARTS_OF_OTHERS == programs


def test_every_program_finds_the_others() -> None:
    """Python looks beside the program alone; here all of them run in one process, where one would find what
    another one made known."""
    for path in (ROOT / "bench").glob("*.py"):
        text = path.read_text()
        others = re.search(r"^(from|import) (bench|tests)\b", text, flags=re.MULTILINE)
        if others and path.stem not in PARTS_OF_OTHERS:
            assert "sys.path.insert(0, " in text[: others.start()], path.name


@pytest.mark.parametrize("target", PAPERS)
def test_what_make_starts_runs_to_its_end(target: str, checkout: Path) -> None:
    done = subprocess.run(
        recipe(target, checkout),
        cwd=checkout,
        env=os.environ | SMALL,
        capture_output=True,
        text=True,
        check=False,
    )
    # A program that breaks has exit code 1, too, and says where.
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in fine(target), done.stderr
    for name in PAPERS[target]:
        assert (checkout / name).stat().st_size > 0


@pytest.mark.parametrize("line", RUN)
def test_programs_run_to_their_end(line: str, ran: dict[str, tuple[int | str, str]]) -> None:
    code, out = ran[line]
    # The code of a program that breaks is its traceback.
    assert code in fine(line.split()[0]), code
    assert out or line == "bench/linking.py files ."


@pytest.mark.parametrize("name", documented_options())
def test_programs_have_the_options_that_documents_give_them(
    name: str, ran: dict[str, tuple[int | str, str]]
) -> None:
    code, out = ran[f"bench/{name}.py --help"]
    assert code == 0, code
    assert sorted(documented_options()[name] - set(re.findall(r"--[a-z-]+", out))) == []


@pytest.mark.parametrize("line", WITHOUT_DATA)
def test_without_the_public_data_programs_say_so(
    line: str, ran: dict[str, tuple[int | str, str]]
) -> None:
    code, out = ran[line]
    assert code == 0, code
    assert "Skipped" in out
