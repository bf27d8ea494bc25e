"""What the pages of reference tables show, gathered for their templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from synth_engine.errors import InputError
from synthweb.accounts.models import User
from synthweb.accounts.permissions import Need
from synthweb.accounts.selectors import can
from synthweb.datasets import draft as drafts
from synthweb.datasets import selectors as datasets
from synthweb.datasets.models import Dataset
from synthweb.datasets.screens import crumbs as of_dataset
from synthweb.lib.errors import Refused
from synthweb.references import applying, figures, records, selectors
from synthweb.references.models import KINDS, ReferenceTable, ReferenceVersion
from synthweb.references.stored import codes_of


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What the draft says of one column or place, by reference tables."""

    name: str
    points: int
    weighted: bool
    partitions: list[tuple[str, int]]
    totals: int
    sources: list[str]


def crumbs(*more: tuple[str, str]) -> list[tuple[str, str]]:
    """Where a page of a reference table stands."""
    return [
        (reverse("datasets:index"), gettext("Datasets")),
        (reverse("references:index"), gettext("Reference tables")),
        *more,
    ]


def listed(table: ReferenceTable) -> dict[str, object]:
    """A line of the list."""
    versions = list(table.versions.all())
    return {"table": table, "latest": versions[0] if versions else None, "kinds": KINDS}


def detail(user: User, table: ReferenceTable, version: ReferenceVersion) -> dict[str, object]:
    """The page of one version."""
    shown: dict[str, object]
    if version.has_records:
        shown = {"card": None, "first": figures.table_of_records(records.sheet_of(version))}
    else:
        reference = codes_of(version)
        shown = {"card": figures.card(reference), "first": figures.table(reference)}
    return shown | {
        "table": table,
        "version": version,
        "versions": table.versions.all(),
        "kind": KINDS[version.kind],
        "roles": _roles(version.roles),
        "brings": can(user, Need.UPLOAD),
        "crumbs": crumbs(("", table.name)),
    }


def _roles(roles: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "columns" in roles:
        return [(str(len(roles["columns"])), ", ".join(roles["columns"]))]
    named = [
        ("codes", "code"),
        ("latitudes", "latitude"),
        ("longitudes", "longitude"),
        ("weights", "weight"),
    ]
    titled = [(title, str(roles[key])) for title, key in named if roles.get(key)]
    names = [(f"names of {name}", column) for name, column in roles.get("names") or ()]
    return [*titled, *((name, column) for name, column in roles.get("parents") or ()), *names]


def using(
    user: User,
    dataset: Dataset,
    asked: Mapping[str, str],
    *,
    error: InputError | Refused | None = None,
) -> dict[str, Any]:
    """The page on which a reference table is taken for a column: what is asked, what of it fits, what is
    there."""
    tables = [(table.code, table.name) for table in selectors.of_codes(user)]
    column, code, level = (asked.get(key, "")[:200] for key in ("column", "reference", "level"))
    version = selectors.version_for(user, code) if code in dict(tables) else None
    # A density, and the points of a place, are not matched to listed values.
    fit = None
    if (
        version is not None
        and column
        and column not in (places := applying.places_of(dataset))
        and version.kind != "density"
    ):
        try:
            fit = applying.fit(dataset, version, column=column, level=level)
        except InputError as problem:
            error = error or problem
    else:
        places = applying.places_of(dataset)
    return {
        "dataset": dataset,
        "crumbs": of_dataset(
            dataset,
            (reverse("datasets:describe", args=[dataset.code]), "Describe"),
            ("", "Where places lie"),
        ),
        "tables": tables,
        "columns": _columns(dataset),
        "places": places,
        "asked": {
            "column": column,
            "reference": code,
            "level": level,
            "totals": asked.get("totals", ""),
        },
        "version": version,
        "is_place": column in places,
        "levels": [applying.ITSELF, *version.partitions] if version else [],
        "fit": fit,
        "partitions": [(name, len(set(fit.fitted.parts(name)))) for name in fit.partitions]
        if fit
        else [],
        "error": error,
        "statements": statements(dataset),
    }


def _columns(dataset: Dataset) -> list[str]:
    """Columns about which somebody typed something that a reference table could go with."""
    typed = drafts.columns(dataset.draft)
    return [name for name, column in typed.items() if column.get("kind") in ("", "categorical")]


def statements(dataset: Dataset) -> list[Statement]:
    """What stands in the draft, column by column."""
    context = datasets.draft_context(dataset)
    points = {
        each.get("column") or each.get("place"): each for each in context.get("points") or ()
    }
    partitions = context.get("partitions") or ()
    totals = context.get("totals") or {}
    summed = [totals["column"]] if totals else []
    statements = []
    for name in dict.fromkeys([*points, *(each["column"] for each in partitions), *summed]):
        at = (points.get(name) or {}).get("at") or {}
        listed = list(at.values()) if isinstance(at, Mapping) else list(at)
        mine = [each for each in partitions if each["column"] == name]
        sources = [each.get("source") for each in [points.get(name), *mine] if each]
        statements.append(
            Statement(
                name=name,
                points=len(listed),
                weighted=bool(listed) and len(listed[0]) > 2,
                partitions=[(each["name"], len(set(each["of"].values()))) for each in mine],
                totals=len(totals["counts"]) if name in summed else 0,
                sources=list(
                    dict.fromkeys(
                        f"{one['name']}, version {one['version']}" for one in sources if one
                    )
                ),
            )
        )
    return statements
