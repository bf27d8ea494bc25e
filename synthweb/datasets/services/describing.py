"""Describing a table: the draft, and the description it becomes.

The draft is what the steward typed or confirmed and nothing else; suggestions read from the data stay in the preview
store, and become part of the draft only as what the steward's own browser sends. A draft becomes a DomainVersion when
every column of the table has been confirmed as public knowledge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from synth_engine.domain import Domain
from synth_engine.domain.attributes import Attribute
from synth_engine.errors import DomainError
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import draft as drafts
from synthweb.datasets import selectors
from synthweb.datasets.models import Dataset, DomainVersion, Preview

NOT_CONFIRMED = "not confirmed yet"
USUAL_TABLE = {"max_records": "1", "unit_column": "", "relation": Relation.ADD_REMOVE.value, "rows": ""}


class Incomplete(Exception):
    """A draft that cannot be confirmed yet; `errors` holds one DomainError for each thing to mend, column by column."""

    def __init__(self, errors: Sequence[DomainError]) -> None:
        self.errors = list(errors)
        super().__init__("; ".join(error.text for error in errors))


# --- the draft -----------------------------------------------------------------------------------------------------
def save_draft(*, actor: User, dataset: Dataset, draft: Mapping[str, Any]) -> Dataset:
    """Replace the whole draft by what was typed, valid or not."""
    return keep(actor=actor, dataset=dataset, columns=draft.get("columns", {}), table=draft.get("table"), anew=True)


@transaction.atomic
def keep(
    *,
    actor: User,
    dataset: Dataset,
    columns: Mapping[str, drafts.Column | None] | None = None,
    table: Mapping[str, str] | None = None,
    total: int | None = None,
    anew: bool = False,
) -> Dataset:
    """Keep some columns (None forgets one) and the facts about the whole table, as typed. Others stay as they are."""
    locked = Dataset.objects.select_for_update().select_related("organisation").get(pk=dataset.pk)
    draft: dict[str, Any] = {} if anew else dict(locked.draft)
    kept = dict(draft.get("columns") or {})
    before = set(drafts.confirmed(locked.draft))
    for name, column in (columns or {}).items():
        if column is None:
            kept.pop(name, None)
        else:
            kept[name] = column
    draft["columns"] = kept
    if table is not None:
        draft["table"] = {key: str(table.get(key, "")) for key in USUAL_TABLE}
    if total is not None:
        draft["total"] = total
    _check_text(draft)
    locked.draft = draft
    locked.save(update_fields=["draft", "updated_at"])
    if vouched := [name for name in drafts.confirmed(draft) if name not in before]:
        audit.record(
            actor=actor,
            action="columns.confirmed",
            target=("dataset", locked.code),
            organisation=locked.organisation,
            detail={"columns": vouched},
        )
    dataset.draft = draft
    return dataset


def import_document(*, actor: User, dataset: Dataset, document: Mapping[str, Any]) -> list[str]:
    """Take a whole description, made elsewhere, into the draft. Facts it marks as suggested are not taken. Returns
    what was left out and why, in words. Raises DomainError when it is not a sound description."""
    domain = Domain.from_json(document)
    payload = selectors.preview_for(actor, dataset, Preview.Kind.TABLE)
    known = payload["columns"] if payload else selectors.columns_of(dataset)
    names = list(known or drafts.columns(dataset.draft))
    remarks: list[str] = []
    taken: dict[str, drafts.Column | None] = {}
    for attribute in domain.attributes:
        if attribute.name not in names:
            remarks.append(f"“{attribute.name}” is not a column of this table.")
        elif set(attribute.facts.values()) - set(drafts.ORIGINS):
            remarks.append(f"“{attribute.name}” holds facts that are only suggested by data; look at it yourself.")
        else:
            taken[attribute.name] = _column_of(attribute, place=names.index(attribute.name))
    keep(actor=actor, dataset=dataset, columns=taken, table=_table_of(domain), total=len(names) if known else None)
    return remarks


def _table_of(domain: Domain) -> dict[str, str]:
    return {
        "max_records": str(domain.unit.max_records),
        "unit_column": domain.unit.column or "",
        "relation": domain.relation.value,
        "rows": str(domain.rows or ""),
    }


def _column_of(attribute: Attribute, *, place: int) -> drafts.Column:
    origins = set(attribute.facts.values())
    origin = "public-file" if origins == {"public-file"} else "declared"
    return drafts.typed_from(attribute.to_json()) | {"origin": origin, "confirmed": True, "place": place}


# --- the description -----------------------------------------------------------------------------------------------
def confirm_domain(*, actor: User, dataset: Dataset) -> DomainVersion:
    """Make the draft the public description. Raises Incomplete with everything that is still to mend."""
    dataset.refresh_from_db(fields=["draft"])
    payload = selectors.preview_for(actor, dataset, Preview.Kind.TABLE)
    domain = domain_of(dataset.draft, names=payload["columns"] if payload else selectors.columns_of(dataset))
    return _store(actor=actor, dataset=dataset, domain=domain)


def declare_domain(*, actor: User, dataset: Dataset, document: Mapping[str, Any]) -> DomainVersion:
    """Make a whole document the public description, on the steward's word. The draft follows, so that its page shows
    what is in force; what was typed there and not confirmed yet stays. Raises DomainError."""
    domain = Domain.from_json(document)
    with transaction.atomic():
        version = _store(actor=actor, dataset=dataset, domain=domain)
        names = selectors.columns_of(dataset) or [attribute.name for attribute in domain.attributes]
        columns = {a.name: _column_of(a, place=names.index(a.name)) for a in domain.attributes}
        unfinished = {name for name, one in drafts.columns(dataset.draft).items() if not one.get("confirmed")}
        taken = {name: column for name, column in columns.items() if name not in unfinished}
        keep(actor=actor, dataset=dataset, columns=taken, table=_table_of(domain), total=len(names))
    return version


def domain_of(draft: Mapping[str, Any], *, names: Sequence[str] | None) -> Domain:
    """The draft as a Domain of the table with these columns (None: when only their number is remembered). Raises
    Incomplete with all errors at once."""
    errors: list[DomainError] = []
    attributes: list[Attribute] = []
    typed = drafts.columns(draft)
    for name in names if names is not None else typed:
        column = typed.get(name)
        try:
            if column is None or not (column.get("confirmed") or column.get("tried")):
                raise DomainError(NOT_CONFIRMED, repair="confirm it, or leave it out", column=name)
            attributes.append(drafts.attribute_of(name, column))
        except DomainError as error:
            errors.append(error)
    if names is None and draft.get("total") != len(typed):
        errors.append(DomainError("the preview has expired", repair="read the table again to see what is still open"))
    try:
        terms = table_terms(draft.get("table") or USUAL_TABLE, names=[*(names or typed)])
        if not errors:
            return Domain(attributes=tuple(attributes), **terms)
    except DomainError as error:
        errors.append(error)
    raise Incomplete(errors)


def table_terms(table: Mapping[str, str], *, names: Sequence[str]) -> dict[str, Any]:
    """Privacy unit, neighbouring relation and public number of records, as typed."""
    column = table.get("unit_column") or None
    if column is not None and column not in names:
        raise DomainError("the column that names people is not in this table", repair="choose one of its columns")
    relation = table.get("relation") or Relation.ADD_REMOVE.value
    if relation not in set(Relation):
        raise DomainError("the neighbouring relation is not chosen", repair="choose add/remove or replace-one")
    return {
        "unit": PrivacyUnit(max_records=_count(table.get("max_records") or "1", "records per person"), column=column),
        "relation": Relation(relation),
        "rows": _count(table["rows"], "public number of rows") if table.get("rows") else None,
    }


def _count(text: str, what: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise DomainError(f"the {what} is not a whole number", repair="write digits only, without separators")
    return int(text)


@transaction.atomic
def _store(*, actor: User, dataset: Dataset, domain: Domain) -> DomainVersion:
    domain.require_confirmed()
    _check_text(domain.to_json())
    locked = Dataset.objects.select_for_update().select_related("organisation").get(pk=dataset.pk)
    check_columns(locked, domain)
    _check_fixed(locked, domain)
    latest = selectors.current_domain(locked)
    if latest is not None and latest.digest == domain.digest:
        return latest  # said twice is said once
    version = DomainVersion.objects.create(
        dataset=locked,
        number=latest.number + 1 if latest else 1,
        document=domain.to_json(),
        digest=domain.digest,
        confirmed_by=actor,
    )
    audit.record(
        actor=actor,
        action="domain.confirmed",
        target=("dataset", locked.code),
        organisation=locked.organisation,
        detail={"version": version.number, "digest": version.digest},
    )
    return version


def check_columns(dataset: Dataset, domain: Domain) -> None:
    """Raises DomainError for a column that is described and not in the table, or is to name people and is not there.
    Nothing can be said of a table that was not read yet; the worker looks again before it charges anything."""
    if dataset.status == Dataset.Status.REFUSED:
        raise DomainError("the table was refused and cannot be described", repair="mend it and upload it again")
    names = selectors.columns_of(dataset)
    described = [attribute.name for attribute in domain.attributes]
    for name in [*described, *([domain.unit.column] if domain.unit.column else [])]:
        if names is not None and name not in names:
            raise DomainError("the table has no such column", repair="take its name from the header", column=name)


def _check_text(document: Mapping[str, Any]) -> None:
    """PostgreSQL stores neither NUL nor half of a surrogate pair, and no codebook means them."""
    text = json.dumps(document, ensure_ascii=False)
    if "\\u0000" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise DomainError("a text holds characters that cannot be stored", repair="remove control characters")


def _check_fixed(dataset: Dataset, domain: Domain) -> None:
    """Once an account pays for the dataset, whom it protects is settled: what was spent was spent for them."""
    fixed, asked = selectors.fixed_terms(dataset), _asked_terms(dataset)
    said = _terms(domain)
    if fixed is None and asked is not None and asked != said:
        raise DomainError(
            "whom the description protects cannot change while a request for budget waits: it was asked for them",
            repair="have the request decided or refused first",
        )
    if fixed is None:
        return
    if wrong := [key.replace("_", " ") for key, value in said.items() if fixed[key] != value]:
        raise DomainError(
            f"{', '.join(wrong)} cannot change any more: the budget of this dataset was granted for them",
            repair="describe them as before, or upload the table as a new dataset",
        )


def _asked_terms(dataset: Dataset) -> dict[str, str] | None:
    """Whom an open request for budget is to protect: the custodian decides about what they were shown."""
    latest = selectors.current_domain(dataset)
    if latest is None or not dataset.budget_requests.filter(state="open").exists():
        return None
    return _terms(Domain.from_json(latest.document))


def _terms(domain: Domain) -> dict[str, str]:
    return {
        "max_records": str(domain.unit.max_records),
        "unit_column": domain.unit.column or "",
        "relation": domain.relation.value,
        "invariants": ", ".join(domain.invariants),
    }
