"""Statements about a whole table: whom a description protects, and when that is settled."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from django.conf import settings

from synth_engine.domain import Domain, Repeats, Weak
from synth_engine.domain.places import Place
from synth_engine.errors import DomainError
from synth_engine.privacy.unit import PrivacyUnit, Relation, Spelling
from synthweb.accounts.models import Organisation
from synthweb.datasets import selectors
from synthweb.datasets.domain_cache import domain_of, newest
from synthweb.datasets.list_fields import split
from synthweb.datasets.models import Dataset

LEARNED = "learned"
"""Typed behind the columns of a place whose cells a run learns."""
USUAL_TABLE = {
    "max_records": "1",
    "unit_column": "",
    "unit_spelling": Spelling.EXACT.value,
    "relation": Relation.ADD_REMOVE.value,
    "rows": "",
    "places": "",
    "repeats_column": "",
    "repeats_most": "",
    "quoting": "needed",
    "line_end": "lf",
}
_HALF = re.compile("[\ud800-\udfff]")
WHOM = (
    "max_records",
    "unit_column",
    "unit_spelling",
    "relation",
    "rows",
    "repeats_column",
    "repeats_most",
)
"""Those that say whom a release protects."""


class TableTerms(TypedDict):
    unit: PrivacyUnit
    relation: Relation
    rows: int | None
    places: tuple[Place, ...]
    repeats: Repeats | None


def table_terms(table: Mapping[str, str], *, names: Sequence[str]) -> TableTerms:
    """Privacy unit, neighbouring relation and public number of records, as typed."""
    column = table.get("unit_column") or None
    if column is not None and column not in names:
        raise DomainError(
            "the column that names people is not in this table",
            repair="choose one of its columns",
        )
    relation = table.get("relation") or Relation.ADD_REMOVE.value
    if relation not in set(Relation):
        raise DomainError(
            "the neighbouring relation is not chosen", repair="choose add/remove or replace-one"
        )
    return {
        "unit": PrivacyUnit(
            max_records=_count(table.get("max_records") or "1", "records per person"),
            column=column,
            # No form asks for it: it comes with a description that was brought, and stays. What is none is
            # refused by the unit.
            spelling=(column and table.get("unit_spelling")) or Spelling.EXACT,  # type: ignore[arg-type]
        ),
        "relation": Relation(relation),
        "rows": _count(table["rows"], "public number of rows") if table.get("rows") else None,
        "places": _places(table.get("places") or ""),
        "repeats": _repeats(table, names=names),
    }


def _repeats(table: Mapping[str, str], *, names: Sequence[str]) -> Repeats | None:
    """How many records a row stands for, as typed; None where it is one."""
    column = table.get("repeats_column") or None
    if column is None:
        return None
    if column not in names:
        raise DomainError(
            "the column that says how many records a row stands for is not in this table",
            repair="choose one of its columns",
        )
    return Repeats(
        column=column,
        most=_count(table.get("repeats_most") or "", "most records that a row stands for"),
    )


def _places(text: str) -> tuple[Place, ...]:
    """Places as typed, one a line: a name, its columns of latitude and longitude, and "learned" where a run
    learns its cells."""
    places = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, columns = line.partition(":")
        parts = split(columns)
        learned = parts[2:] == [LEARNED]
        if not name.strip() or len(parts) != 2 + learned:
            raise DomainError(
                "a place is not a name and two columns",
                repair="write it like “home: home_lat, home_lon”, one a line",
            )
        north, east = parts[:2]
        places.append(Place(name=name.strip(), latitude=north, longitude=east, learned=learned))
    return tuple(places)


def _count(text: str, what: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise DomainError(
            f"the {what} is not a whole number", repair="write digits only, without separators"
        )
    return int(text)


def check_text(document: Mapping[str, object]) -> None:
    """PostgreSQL stores neither NUL nor half of a surrogate pair, and no codebook means them."""
    text = json.dumps(document, ensure_ascii=False)
    if "\\u0000" in text or _HALF.search(text):
        raise DomainError(
            "a text holds characters that cannot be stored", repair="remove control characters"
        )


def common_rho(organisation: Organisation) -> float | None:
    """The one ρ of all columns of unknown values: that of the installation, else that of the organisation;
    None: each has its own."""
    return settings.RHO or organisation.rho


def with_rho(document: Mapping[str, Any], rho: float | None) -> dict[str, Any]:
    """A description as JSON, with this ρ in each column of unknown values that states none."""
    attributes = document.get("attributes")
    if rho is None or not isinstance(attributes, list):
        return dict(document)
    filled = [
        {"rho": rho, **each}
        if isinstance(each, Mapping) and each.get("kind") == "weak"
        else each
        for each in attributes
    ]
    return {**document, "attributes": filled}


def check_rho(domain: Domain, rho: float | None) -> None:
    """Refuses a column with another ρ than this one, which all tables have; None: there is none."""
    for attribute in domain.undeclared:
        if rho is not None and isinstance(attribute, Weak) and attribute.rho != rho:
            raise attribute.error(
                f"all tables have one ρ, {rho:g}",
                repair=f"write {rho:g}, or leave it empty",
                field="rho",
            )


def check_fixed(dataset: Dataset, domain: Domain) -> None:
    """Once an account pays for the dataset, whom it protects is settled: what was spent was spent for
    them."""
    fixed, asked = selectors.fixed_terms(dataset), _asked_terms(dataset)
    stated = _terms(domain)
    latest = None if fixed is None else newest(dataset)
    # what a record is; the account does not say it, so the version in force does
    if latest is not None and domain_of(latest).repeats != domain.repeats:
        raise DomainError(
            "how many records a row stands for cannot change any more: the budget of this dataset was "
            "granted for them",
            repair="describe it as before",
        )
    if fixed is None and asked is not None and asked != stated:
        raise DomainError(
            "whom the description protects cannot change while a request for budget waits: it was asked "
            "for them",
            repair="have the request decided or refused first",
        )
    if fixed is None:
        return
    # Losses add up for one unit and one relation only: what was spent bounds nothing for
    # others.
    if wrong := [
        key.replace("_", " ")
        for key, value in stated.items()
        if key in fixed and fixed[key] != value
    ]:
        raise DomainError(
            f"{', '.join(wrong)} cannot change any more: the budget of this dataset was granted for them",
            repair="describe them as before",
        )


def _asked_terms(dataset: Dataset) -> dict[str, str] | None:
    """Whom an open request for budget is to protect: the custodian decides about what they were shown."""
    latest = newest(dataset)
    if latest is None or not dataset.budget_requests.filter(state="open").exists():
        return None
    return _terms(domain_of(latest))


def _terms(domain: Domain) -> dict[str, str]:
    return {
        "max_records": str(domain.unit.max_records),
        "unit_column": domain.unit.column or "",
        "unit_spelling": domain.unit.spelling.value,
        "relation": domain.relation.value,
        "invariants": ", ".join(domain.invariants),
        **(
            {}
            if domain.repeats is None
            else {"repeats": f"{domain.repeats.column}, {domain.repeats.most}"}
        ),
    }
