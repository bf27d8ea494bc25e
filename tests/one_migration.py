"""`python -m tests.one_migration` writes the one migration of each app from its models (ADR 175), and raises
the format number of installations if one of them changed. Append-only triggers are no part of it: `migrate`
puts them up itself.

The present migrations are not read, so they may contradict the models or be left in conflict by a merge."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import django

from tests import environment  # noqa: F401 - settings and keys of a folder of its own

ROOT = Path(__file__).resolve().parents[1]
FILE = "0001_initial.py"
FORMAT_FILE = ROOT / "synthweb" / "lib" / "installation_format.py"
_NUMBER = re.compile(r"^FORMAT = (\d+)$", re.MULTILINE)


def main() -> None:
    django.setup()
    folders = our_folders()
    made = make(folders)
    changed = [label for label, folder in folders.items() if put(folder, made[label])]
    if not changed:
        sys.stdout.write("Nothing has changed.\n")
        return
    sys.stdout.write(f"Written: {', '.join(sorted(changed))}. ")
    sys.stdout.write(f"Installations now have format {raise_format(FORMAT_FILE)}.\n")


def our_folders() -> dict[str, Path]:
    """The folder of migrations of each app of ours that has models, by the app's label."""
    from django.apps import apps

    return {
        app.label: Path(app.path) / "migrations"
        for app in apps.get_app_configs()
        if app.name.startswith("synthweb.") and next(app.get_models(), None) is not None
    }


def make(folders: Mapping[str, Path]) -> dict[str, str]:
    """The text of the one migration of each app, from the models alone.

    Errors: RuntimeError if an app would need two, because foreign keys of two apps point at each other.
    """
    from django.core.management import call_command
    from django.db.migrations.operations.models import IndexOperation
    from django.test import override_settings

    with tempfile.TemporaryDirectory() as scratch:
        package = Path(scratch) / Path(scratch).name  # a name that no module has yet
        for label in folders:
            (package / label).mkdir(parents=True)
            (package / label / "__init__.py").touch()
        sys.path.insert(0, scratch)
        try:
            # Django takes these empty packages for the migrations that there are.
            modules = {label: f"{package.name}.{label}" for label in folders}
            with (
                override_settings(MIGRATION_MODULES=modules),
                # Without it Django takes each of them for one that may be of any table, and leaves it behind
                # all tables: `migrate` would make all models anew for each constraint and index.
                mock.patch.object(IndexOperation, "references_model", _is_of_model),
            ):
                call_command("makemigrations", *folders, include_header=False, verbosity=0)
        finally:
            sys.path.remove(scratch)
        written = sorted(package.glob("*/[0-9]*.py"))
        if [path.relative_to(package) for path in written] != [
            Path(label, FILE) for label in sorted(folders)
        ]:
            raise RuntimeError(
                "foreign keys of two apps point at each other, so that one migration an app is not enough: "
                "take one of them away"
            )
        return {path.parent.name: path.read_text() for path in written}


def _is_of_model(operation: Any, name: str, app_label: str) -> bool:
    """Whether an operation that adds a constraint or an index adds it to this model of its app."""
    return bool(name.lower() == operation.model_name_lower)


def put(folder: Path, text: str) -> bool:
    """Write the one migration and delete all others; returns whether that changed anything."""
    others = [path for path in folder.glob("[0-9]*.py") if path.name != FILE]
    for path in others:
        path.unlink()
    file = folder / FILE
    if not others and file.exists() and file.read_text() == text:
        return False
    file.write_text(text)
    return True


def raise_format(file: Path) -> int:
    """Add one to the format number in its module; returns the new one."""
    text = file.read_text()
    (number,) = _NUMBER.findall(text)
    file.write_text(_NUMBER.sub(f"FORMAT = {int(number) + 1}", text))
    return int(number) + 1


if __name__ == "__main__":
    main()
