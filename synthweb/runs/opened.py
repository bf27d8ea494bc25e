"""Tables as the confidential worker opens them: the one place where files leave the vault."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict, cast

from synth_engine import formats, pipeline
from synth_engine.pipeline import TableFile
from synthweb.datasets import sealed_names, selectors, vault
from synthweb.datasets.models import Dataset, TableVersion


class Form(TypedDict):
    """How a table is to be read, in the pipeline's words."""

    kind: formats.Kind
    dialect: formats.Dialect | None


def form_of(file: Dataset | TableVersion) -> Form:
    """What the upload was found to be, and said to be since."""
    dialect = sealed_names.form_of(file)
    return {"kind": cast(formats.Kind, file.file_kind), "dialect": dialect}


class Opened(dict[str, TableFile]):
    """The files of a job by the names of their tables."""

    @property
    def only(self) -> TableFile:
        """Of a job that reads one table."""
        (file,) = self.values()
        return file

    @property
    def path(self) -> Path:
        """Where the only table is read."""
        return self.only.path

    @property
    def form(self) -> Form:
        """How the only table is to be read."""
        return {"kind": cast(formats.Kind, self.only.kind), "dialect": self.only.dialect}


@contextlib.contextmanager
def tables(datasets: Mapping[str, Dataset], run_code: str = "") -> Iterator[Opened]:
    """Open tables, by their names; opening authenticates a whole file (ADR 5). run_code: the files that this
    run was submitted for; without one those in force."""
    with contextlib.ExitStack() as stack:
        files = Opened()
        for name, dataset in datasets.items():
            file = selectors.file_of_run(dataset, run_code) if run_code else dataset
            path = stack.enter_context(vault.open_table(file.vault_name))
            files[name] = pipeline.TableFile(path=path, **form_of(file))
        yield files
