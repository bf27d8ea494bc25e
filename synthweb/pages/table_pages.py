"""What the pages about a dataset's table show: its form, its versions, what deleting it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django.urls import reverse
from django.utils.translation import gettext

from synth_engine.formats import (
    BASKETS,
    JSON,
    KIND_NAMES,
    QUESTIONS,
    WITH_SCHEMA,
    WORKBOOKS,
    Dialect,
    Kind,
)
from synthweb.datasets import sealed_names, selectors
from synthweb.datasets import services as datasets
from synthweb.datasets.domain_cache import newest
from synthweb.datasets.models import Dataset, TableVersion
from synthweb.datasets.table_forms import DialectForm, NameForm
from synthweb.ledger import selectors as ledger


def settings(dataset: Dataset) -> dict[str, object]:
    """Name, file, form, versions and the way to delete."""
    return {
        **form(dataset),
        "crumbs": crumbs(dataset, gettext("Settings")),
        "name_form": NameForm(stored=names_of(dataset)),
        "kind": KIND_NAMES.get(cast(Kind, dataset.file_kind), dataset.file_kind),
        "earlier_files": selectors.earlier_files(dataset),
        "tables": [(one, state_of(one, dataset)) for one in selectors.tables_of(dataset)],
        "missing": selectors.missing_columns(dataset),
    }


def names_of(dataset: Dataset) -> dict[str, object]:
    """What a dataset is called, by the fields of the form that says it."""
    return {"name": dataset.name, "description": dataset.description}


def form(dataset: Dataset, evidence: Mapping[str, Any] | None = None) -> dict[str, object]:
    """How the file is read, and what says it otherwise. `evidence` is what stewards see of a file whose form
    is open."""
    dialect = sealed_names.form_of(dataset)
    sentence = dialect and _sentence(dialect, dataset.file_kind)
    return {
        "dataset": dataset,
        "blocked": datasets.blocked(dataset),
        "sentence": sentence or "",
        # Files with a schema, JSON and lists of baskets state their form themselves: there is nothing to
        # choose.
        "dialect_form": None
        if dataset.file_kind in (*WITH_SCHEMA, *JSON, *BASKETS)
        else DialectForm.of(dataset, words=(evidence or {}).get("words")),
        "questions": [QUESTIONS[one][0] for one in dialect.asked] if dialect else [],
        "first_lines": (evidence or {}).get("lines", []),
        "earlier": earlier(dataset),
    }


def _sentence(dialect: Dialect, file_kind: str) -> str:
    """The form in the words of its kind."""
    if file_kind in JSON:
        return dialect.sentence_of_objects
    return dialect.sentence_of_sheet if file_kind in WORKBOOKS else dialect.sentence


def earlier(dataset: Dataset) -> TableVersion | None:
    """The version to go back to from one that was refused."""
    if dataset.status != Dataset.Status.REFUSED:
        return None
    versions = selectors.tables_of(dataset).filter(erased_at=None, read_at__isnull=False)
    return versions.exclude(number=dataset.table_number).first()


def state_of(version: TableVersion, dataset: Dataset) -> str:
    """What became of a version, in words."""
    if version.number == dataset.table_number and not dataset.is_deleted:
        return {"ready": "in force", "refused": "could not be read"}.get(
            dataset.status, "being read"
        )
    if version.erased_at is not None:
        return "erased"
    if dataset.status != Dataset.Status.READY:
        return "kept until its successor is ready"
    return "kept for comparisons with its releases"


def replacing(dataset: Dataset) -> dict[str, object]:
    """The page that takes a corrected file."""
    return {
        "dataset": dataset,
        "crumbs": crumbs(dataset, gettext("Replace the file")),
        "blocked": datasets.blocked(dataset),
        "account": ledger.account_of(dataset),
        "version": newest(dataset),
    }


def deleting(dataset: Dataset) -> dict[str, object]:
    """What goes and what stays."""
    return {
        "dataset": dataset,
        "crumbs": crumbs(dataset, gettext("Delete")),
        "blocked": datasets.blocked(dataset, deleting=True),
        "account": ledger.account_of(dataset),
        "releases": dataset.releases.count(),
        "descriptions": dataset.domain_versions.count(),
        "runs": dataset.runs.count(),
    }


def crumbs(dataset: Dataset, here: str) -> list[tuple[str, str]]:
    """Where the page stands."""
    return [
        (reverse("datasets:index"), gettext("Datasets")),
        (reverse("pages:dataset", args=[dataset.code]), dataset.name),
        ("", here),
    ]
