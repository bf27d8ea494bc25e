"""The form of a dataset's file as a fact of its description: what was confirmed for reading says how samples
are written."""

from __future__ import annotations

from collections.abc import Mapping

from synth_engine.domain import FileForm
from synth_engine.domain.file_form import parse
from synth_engine.formats import DELIMITED
from synthweb.datasets import sealed_names
from synthweb.datasets.models import Dataset


def with_form(context: Mapping[str, object], dataset: Dataset) -> dict[str, object]:
    """What a description says beside its columns, with the form of the file where it is not the clean one. A
    form that came with a document stays. Confirming a description confirms the form of its file (ADR 11)."""
    dialect = sealed_names.form_of(dataset)
    if "file" in context or dataset.file_kind not in DELIMITED or dialect is None:
        return dict(context)
    read = FileForm.of_dialect(dialect)
    typed = dataset.draft.get("table") or {}
    # Reading does not tell these two, so that the steward says them.
    stated = {key: typed[key] for key in ("quoting", "line_end") if typed.get(key)}
    form = parse(read.to_json() | stated) or read
    return dict(context) if form == FileForm() else {**context, "file": form.to_json()}
