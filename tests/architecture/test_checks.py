"""The files that `make check` leaves out, and those that `make test` begins with."""

from __future__ import annotations

import pytest

from tests import checks


def test_slow_files_exist_and_are_in_order() -> None:
    paths = checks.slow_files()
    assert paths == sorted(set(paths))
    assert all((checks.ROOT / path).is_file() for path in paths)


def test_the_longest_files_exist() -> None:
    paths = checks.longest_files()
    assert len(paths) == len(set(paths))
    assert all((checks.ROOT / path).is_file() for path in paths)


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
