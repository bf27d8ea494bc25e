"""The files that `make check` leaves out, those that `make test` begins with, and the checks that both
run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import all as everything
from tests import both_databases, checks


def test_slow_files_exist_and_are_in_order() -> None:
    paths = checks.slow_files()
    assert paths == sorted(set(paths))
    assert all((checks.ROOT / path).is_file() for path in paths)


def test_the_longest_files_exist() -> None:
    paths = checks.longest_files()
    assert len(paths) == len(set(paths))
    assert all((checks.ROOT / path).is_file() for path in paths)


def test_the_files_of_both_databases_exist() -> None:
    names = both_databases.SAME_ON_EVERY_DATABASE + both_databases.ON_BOTH
    assert len(names) == len(set(names))
    assert all((both_databases.WEB / f"test_{name}.py").is_file() for name in names)
    assert all(
        any(both_databases.WEB.glob(f"test_{n}*")) for n in both_databases.GROUPS_ON_BOTH
    )


def test_what_is_left_to_postgresql_is_not_left_out_there() -> None:
    left = [
        path
        for path in both_databases.WEB.glob("test_*.py")
        if both_databases.is_left_to_postgres(path)
    ]
    ignored = {
        both_databases.WEB / f"test_{name}.py" for name in both_databases.SAME_ON_EVERY_DATABASE
    }
    assert left
    assert ignored.isdisjoint(left)


def test_the_longest_files_come_first_and_the_quick_ones_last(
    request: pytest.FixtureRequest,
) -> None:
    files = list(dict.fromkeys(item.path for item in request.session.items))
    first = [
        path for path in map(checks.ROOT.joinpath, checks.longest_files()) if path in files
    ]
    assert files[: len(first)] == first
    slow = [str(path.relative_to(checks.ROOT)) in checks.slow_files() for path in files]
    assert not any(slow[-1:]) or all(slow[len(first) :])


def test_the_tests_of_the_architecture_are_fast() -> None:
    assert not [path for path in checks.slow_files() if "architecture" in path]


def _leaves(file: Path, *, code: int) -> list[str]:
    """A command that leaves a file with its arguments and ends with this code."""
    program = (
        f"import sys; open({str(file)!r}, 'w').write(' '.join(sys.argv[1:])); sys.exit({code})"
    )
    return [sys.executable, "-c", program]


@pytest.mark.parametrize("ci", ["true", ""])
@pytest.mark.parametrize(
    ("quick", "types", "tests"), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
)
def test_one_failure_among_checks_and_tests_fails_all_and_stops_nothing(
    ci: str,
    quick: int,
    types: int,
    tests: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    left = {name: tmp_path / name for name in ("quick", "types", "tests")}
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(checks, "QUICK", [_leaves(left["quick"], code=quick)])
    monkeypatch.setattr(checks, "MYPY", _leaves(left["types"], code=types))
    monkeypatch.setattr(everything, "PYTEST", _leaves(left["tests"], code=tests))
    code = everything.run(["tests/privacy"])
    ran = {name for name, file in left.items() if file.exists()}
    assert left["tests"].read_text().endswith("tests/privacy")
    if ci:
        assert ran == set(left)
        assert bool(code) == bool(quick or types or tests)
        assert capfd.readouterr().out.count("FAILED") == quick + types
    else:  # somebody asks for some tests, and is not kept waiting
        assert ran == {"tests"}
        assert code == tests


def test_without_arguments_the_checks_run_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "types"
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(checks, "QUICK", [])
    monkeypatch.setattr(checks, "MYPY", _leaves(left, code=1))
    monkeypatch.setattr(everything, "PYTEST", [sys.executable, "-c", ""])
    monkeypatch.setattr(everything, "_has_postgres", lambda: True)
    monkeypatch.setattr(everything, "_postgres_pass", lambda: 0)
    assert everything.run([]) == 1
    assert left.exists()


def test_everything_that_is_written_in_python_for_users_and_developers_is_checked_for_types() -> (
    None
):
    assert {"synth_engine", "synthweb", "bench"} <= set(checks.MYPY)
    assert all((checks.ROOT / name).is_dir() for name in checks.MYPY[1:])
