"""The files that `make check` leaves out."""

from __future__ import annotations

from tests import checks


def test_slow_files_exist_and_are_in_order() -> None:
    paths = checks.slow_files()
    assert paths == sorted(set(paths))
    assert all((checks.ROOT / path).is_file() for path in paths)


def test_the_tests_of_the_architecture_are_fast() -> None:
    assert not [path for path in checks.slow_files() if "architecture" in path]
