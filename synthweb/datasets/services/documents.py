"""Documents in and out of a draft: what of a file is taken, and what a draft says as a DOMAIN.json."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from synth_engine import dictionaries
from synth_engine.domain import Attribute, Constraint, Domain, parse_attribute
from synth_engine.domain.constraints import parse as parse_constraints
from synth_engine.errors import DomainError
from synth_engine.strict_json import JsonObject
from synthweb.datasets import constraining, selectors
from synthweb.datasets import draft as drafts
from synthweb.datasets.bulk_edit import named
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.kinds.form import Fields
from synthweb.datasets.models import Dataset
from synthweb.datasets.services import terms

Why = tuple[str, str]
"""Rule and repair."""

_FROM_DATA = (
    "holds facts that are only suggested by data, or learned from it; not taken",
    "look at it yourself, or set its provenance in the file",
)
_STANDS = (
    "described here already, kept",
    "forget what was typed about it, or let the file take its place",
)
_NEARLY = (
    "holds something that this page cannot show, taken as near as it goes",
    "look it over",
)
_ONE_ORIGIN = (
    "its facts come from different places, the draft keeps one word for all",
    "look it over",
)
_OTHER = "choose another one"
_ABSENT = ("not in this table, not taken", "take the name from the header of the table")


def read(
    document: Mapping[str, object],
) -> tuple[dictionaries.Kind, dictionaries.DictionaryContents, Domain | None]:
    """What a document of any kind describes, and the whole domain if it is one. Errors: DomainError."""
    kind = dictionaries.recognise(document)
    if kind != "domain":
        return kind, dictionaries.read(document, kind=kind), None
    domain = Domain.from_json(document)
    return kind, dictionaries.DictionaryContents(attributes=domain.attributes), domain


def check_whole(reading: dictionaries.DictionaryContents, *, names: Sequence[str]) -> None:
    """Raises DomainError for a template of which a column is not in the table."""
    absent = [attribute.name for attribute in reading.attributes if attribute.name not in names]
    if absent:
        more = f" and {len(absent) - 1} more are" if len(absent) > 1 else " is"
        raise DomainError(
            f"the template is for other columns: this one{more} not in the table",
            repair="apply a template whose columns the table has, or bring its DOMAIN.json, which is taken "
            "in part",
            column=absent[0],
        )


def import_columns(
    reading: dictionaries.DictionaryContents,
    *,
    names: Sequence[str],
    standing: Mapping[str, drafts.Column],
) -> tuple[dict[str, drafts.Column | None], list[tuple[str, str, str]]]:
    """The columns of a file as typed and not confirmed, but for those that are `standing` already; and a
    remark (column, rule, repair) for each that is not taken as it is. Raises DomainError for a file about
    another table."""
    about = dict.fromkeys(
        [*(a.name for a in reading.attributes), *(remark.column for remark in reading.remarks)]
    )
    absent = [name for name in about if name not in names]
    if len(absent) == len(about):
        raise DomainError(
            f"{named(absent)}: not in this table, and the file describes no other",
            repair="take the names from the header of the table, or open the dataset that the file is about",
        )
    taken: dict[str, drafts.Column | None] = {}
    remarks = [(name, *_ABSENT) for name in absent]
    remarks += [(*remark,) for remark in reading.remarks if remark.column in names]
    for attribute in reading.attributes:
        if attribute.name not in names:
            continue
        column = drafts.column_of(attribute, place=names.index(attribute.name)) | {
            "brought": True
        }
        why = _remark(attribute, column, standing=standing.get(attribute.name))
        if why is not None:
            remarks.append((attribute.name, *why))
        if why not in (_FROM_DATA, _STANDS) and attribute.name not in standing:
            taken[attribute.name] = column
    return taken, remarks


def _remark(
    attribute: Attribute, column: drafts.Column, *, standing: drafts.Column | None
) -> Why | None:
    origins = set(attribute.facts.values())
    # Otherwise what was read from a table could come back, by way of a file, as a public fact.
    if origins - set(drafts.ORIGINS):
        return _FROM_DATA
    if standing is not None:
        same = (
            standing.get("kind") == column["kind"]
            and standing.get("origin") == column["origin"]
            and standing.get("fields") == column["fields"]
        )
        return None if same else _STANDS
    try:
        # Written as the editor has it, and read back: what differs has no input, and would be
        # lost without a word when somebody saves the line.
        again = attribute_of(attribute.name, column).to_json()
    except DomainError:
        return _NEARLY
    if again | {"provenance": ""} != attribute.to_json() | {"provenance": ""}:
        return _NEARLY
    return _ONE_ORIGIN if len(origins) > 1 else None


def import_table_facts(
    dataset: Dataset,
    domain: Domain,
    *,
    document: Mapping[str, object],
    names: Sequence[str],
    replaces: bool,
) -> tuple[Fields | None, list[str]]:
    """Whom a file protects and which places it names, as far as nothing else is typed or settled."""
    terms_of_file = drafts.table_of(domain)
    standing = terms.USUAL_TABLE | (dataset.draft.get("table") or {})
    table = dict(standing)
    remarks: list[str] = []
    if terms_of_file["places"] and (replaces or not standing["places"]):
        table["places"] = terms_of_file["places"]
    elif terms_of_file["places"] not in ("", standing["places"]):
        remarks.append("The places were typed here already and are kept.")
    whom = {key: terms_of_file[key] for key in terms.WHOM}
    if (
        # A file that does not speak of it has the defaults, which are nobody’s statement.
        domain.shorthand
        or not {"unit", "relation", "rows", "repeats"} & set(document)
        or whom.items() <= standing.items()
    ):
        pass
    elif selectors.fixed_terms(dataset) is not None:
        remarks.append(
            "Whom the releases protect is settled; what the file says about it was not taken."
        )
    elif not replaces and any(standing[key] != terms.USUAL_TABLE[key] for key in terms.WHOM):
        remarks.append("Whom the releases protect was typed here already and is kept.")
    else:
        table |= whom
        if table["unit_column"] and table["unit_column"] not in names:
            remarks.append(
                f"{named([table['unit_column']])}: is to tell people apart and is not in this table; "
                f"{_OTHER}."
            )
            table["unit_column"] = ""
        if table["repeats_column"] and table["repeats_column"] not in names:
            remarks.append(
                f"{named([table['repeats_column']])}: is to say how many records a row stands for and is "
                f"not in this table; {_OTHER}."
            )
            table |= {"repeats_column": "", "repeats_most": ""}
    return (table if table != standing else None), remarks


def import_constraints(
    dataset: Dataset, domain: Domain, *, names: Sequence[str], replaces: bool
) -> tuple[list[JsonObject] | None, list[str]]:
    """What a file says to hold in every record, if nothing else does, and as far as it is about columns of
    this table."""
    standing = constraining.documents(dataset.draft)
    matching = constraining.matching_constraints(domain.constraints, names)
    remarks = []
    if len(matching) < len(domain.constraints):
        remarks.append("Constraints about columns that are not in this table were not taken.")
    if matching and standing and not replaces and matching != standing:
        return None, [
            *remarks,
            "The constraints that were declared here already are kept; those of the file were not taken.",
        ]
    return (matching or None), remarks


def context_of(domain: Domain) -> dict[str, object]:
    """What a domain says beside its columns and constraints, as in its JSON."""
    document = domain.to_json()
    return {key: document[key] for key in drafts.CONTEXT_KEYS if key in document}


def import_context(
    dataset: Dataset, domain: Domain, *, names: Sequence[str], replaces: bool
) -> tuple[dict[str, object] | None, list[str]]:
    """The same of a file, as far as it is about columns of this table and nothing of the kind stands here."""
    standing = selectors.draft_context(dataset)
    matching = drafts.fitting_context(context_of(domain), names)
    unchanged = [
        key
        for key in matching
        if standing.get(key) not in (None, matching[key]) and not replaces
    ]
    remarks = [
        f"The {key} that were taken here already are kept; those of the file were not taken."
        for key in unchanged
    ]
    merged = standing | {key: facts for key, facts in matching.items() if key not in unchanged}
    return (merged if merged != standing else None), remarks


def whole(
    attributes: Sequence[Attribute],
    *,
    constraints: Sequence[Constraint],
    terms: Mapping[str, Any],
    context: Mapping[str, object],
) -> Domain:
    """A Domain of parts. Errors: DomainError where they do not fit."""
    if not context:
        return Domain(attributes=tuple(attributes), constraints=tuple(constraints), **terms)
    return Domain.from_json(
        {
            "relation": terms["relation"].value,
            "unit": terms["unit"].to_json(),
            "rows": terms["rows"],
            "attributes": [attribute.to_json() for attribute in attributes],
            "places": [place.to_json() for place in terms["places"]],
            "repeats": terms["repeats"] and terms["repeats"].to_json(),
            "constraints": [each.to_json() for each in constraints],
            **context,
        }
    )


def draft_document(dataset: Dataset) -> dict[str, object]:
    """The draft as a DOMAIN.json: every column about which something sound was typed. What is not confirmed
    is marked as suggested, so that no mechanism takes it. Opens no preview. Raises DomainError while there is
    nothing to say."""
    documents: list[dict[str, object]] = []
    for name, column in drafts.columns(dataset.draft).items():
        with contextlib.suppress(DomainError):
            document = attribute_of(name, column).to_json()
            if not column.get("confirmed"):
                document |= {
                    "provenance": "suggested",
                    "why": "Typed, and not confirmed as public knowledge.",
                }
            documents.append(document)
    if not documents:
        raise DomainError(
            "no column is described yet", repair="confirm one, or type something about it"
        )
    table = (
        terms.USUAL_TABLE
        | (dataset.draft.get("table") or {})
        | (selectors.fixed_terms(dataset) or {})
    )
    table_facts = terms.table_terms(
        table, names=[table["unit_column"], table["repeats_column"]]
    )
    names = {str(document["name"]) for document in documents}
    table_facts["places"] = tuple(
        place for place in table_facts["places"] if names.issuperset(place.columns)
    )
    held = parse_constraints(constraining.documents(dataset.draft))
    constraints = [each for each in held if names.issuperset(each.columns)]
    context = drafts.fitting_context(selectors.draft_context(dataset), names)
    domain = whole(
        list(map(parse_attribute, documents)),
        constraints=constraints,
        terms=table_facts,
        context=context,
    )
    return domain.to_json() | {"attributes": documents}
