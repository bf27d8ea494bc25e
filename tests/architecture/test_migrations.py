"""Until the first release an app has one migration, which follows from its models (ADR 175)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import one_migration


@pytest.mark.django_db
def test_each_app_has_exactly_the_one_migration_that_its_models_make() -> None:
    folders = one_migration.our_folders()
    made = one_migration.make(folders)
    found = {
        label: [path.name for path in sorted(folder.glob("[0-9]*.py"))]
        for label, folder in folders.items()
    }
    assert found == {label: [one_migration.FILE] for label in folders}
    stale = [
        label
        for label, folder in folders.items()
        if (folder / one_migration.FILE).read_text() != made[label]
    ]
    assert stale == [], "run .venv/bin/python -m tests.one_migration"


def test_writing_the_one_migration_removes_all_others(tmp_path: Path) -> None:
    for name in ("0001_initial.py", "0002_more.py", "__init__.py"):
        (tmp_path / name).write_text("old")
    assert one_migration.put(tmp_path, "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "0001_initial.py",
        "__init__.py",
    ]
    assert (tmp_path / "0001_initial.py").read_text() == "new"
    assert not one_migration.put(tmp_path, "new")


def test_the_format_number_is_raised_by_one_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "format.py"
    text = one_migration.FORMAT_FILE.read_text()
    file.write_text(text)
    number = one_migration.raise_format(file)
    assert file.read_text() == text.replace(
        f"\nFORMAT = {number - 1}\n", f"\nFORMAT = {number}\n"
    )
    assert file.read_text() != text
