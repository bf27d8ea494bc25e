"""Describing a table: the draft, and the description it becomes.

The draft is what the steward typed or confirmed and nothing else; suggestions read from the data stay in the
preview store, and become part of the draft only as what the steward's own browser sends. A draft becomes a
DomainVersion when every column of the table has been confirmed as public knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction

from synth_engine import dictionaries
from synth_engine.domain import Attribute, Domain, Weak
from synth_engine.domain.constraints import parse as parse_constraints
from synth_engine.errors import DomainError
from synth_engine.strict_json import JsonObject
from synthweb.accounts.models import User
from synthweb.audit import services as audit
from synthweb.datasets import (
    basis,
    constraining,
    field_errors,
    file_form,
    looks,
    points,
    read_lists,
    selectors,
)
from synthweb.datasets import draft as drafts
from synthweb.datasets.bulk_edit import remark_lines
from synthweb.datasets.domain_cache import newest
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.models import Dataset, DomainBasis, DomainVersion, DraftFacts, Preview
from synthweb.datasets.services import documents, purchases, terms

NOT_CONFIRMED = "not confirmed yet"


class Incomplete(Exception):
    """A draft that cannot be confirmed yet; `errors` holds one DomainError for each thing to mend, column by
    column."""

    def __init__(self, errors: Sequence[DomainError]) -> None:
        self.errors = list(errors)
        super().__init__("; ".join(error.text for error in errors))


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What came of a file: what kind of document it is, the columns taken, and a line for each thing that was
    not taken as it stands."""

    title: str
    columns: list[str]
    remarks: list[str]


# --- the draft ----------------------------------------------------------------------------------------------
def save_draft(*, actor: User, dataset: Dataset, draft: drafts.Draft) -> Dataset:
    """Replace the whole draft by what was typed, valid or not."""
    return keep(
        actor=actor,
        dataset=dataset,
        changes=DraftChanges(
            columns=draft.get("columns", {}),
            table=draft.get("table"),
            constraints=draft.get("constraints"),
        ),
        replace_draft=True,
    )


@transaction.atomic
def constrain(
    *,
    actor: User,
    dataset: Dataset,
    verb: str,
    typed: constraining.Typed,
    table: bytes | None = None,
) -> Dataset:
    """Add a constraint to the draft or take one away. `table`: the uploaded public list of a dependency.
    Raises DomainError for one that contradicts what is confirmed so far; nothing is kept of it then."""
    locked = Dataset.objects.select_for_update().get(pk=dataset.pk)
    names = selectors.columns_of(locked) or list(drafts.columns(locked.draft))
    constraints = constraining.apply_change(
        locked.draft, verb=verb, typed=typed, table=table, names=names
    )
    return keep(actor=actor, dataset=dataset, changes=DraftChanges(constraints=constraints))


@dataclass(frozen=True, kw_only=True)
class DraftChanges:
    """What was typed of a description; None leaves a part of the draft as it is.

    columns: by name, None forgets one. table: facts about the whole table. total: how many columns there are.
    constraints: what holds in every record. context: what stands beside the columns (points, partitions,
    totals, as in a DOMAIN.json). answers: to questions about columns by their keys, an empty one takes it
    back. looked: ranges of columns at whose real values somebody looks now.
    """

    columns: Mapping[str, drafts.Column | None] | None = None
    table: Mapping[str, str] | None = None
    total: int | None = None
    constraints: Sequence[JsonObject] | None = None
    context: Mapping[str, object] | None = None
    answers: Mapping[str, str] | None = None
    looked: Mapping[str, Mapping[str, object]] | None = None


@contextmanager
def draft_locked(dataset: Dataset) -> Iterator[None]:
    """Within it nobody else changes the draft, and `dataset.draft` is the one that is stored."""
    with transaction.atomic():
        locked = Dataset.objects.select_for_update().only("draft").get(pk=dataset.pk)
        dataset.draft = locked.draft
        yield


@transaction.atomic
def keep(
    *,
    actor: User,
    dataset: Dataset,
    changes: DraftChanges,
    replace_draft: bool = False,
) -> Dataset:
    """Keep what was typed in the draft. The rest of the draft stays as it is, unless it is replaced."""
    locked = (
        Dataset.objects.select_for_update().select_related("organisation").get(pk=dataset.pk)
    )
    draft: drafts.Draft = {} if replace_draft else locked.draft.copy()
    draft |= looks.noted(locked.draft, changes.looked)
    columns = _counted(locked, changes.columns or {})
    before = set(drafts.confirmed_names(locked.draft))
    _change(draft, columns, changes)
    given = {
        "columns": columns,
        "table": changes.table,
        "constraints": changes.constraints,
        "beside": changes.context,
        "answers": dict(changes.answers or {}),
    }
    # Only what is new: what stands in the draft was checked when it came, and may be long.
    terms.check_text(given)
    if changes.context is not None:
        facts = dict(changes.context)
        DraftFacts.objects.update_or_create(dataset=locked, defaults={"facts": facts})
    elif replace_draft:
        DraftFacts.objects.filter(dataset=locked).delete()
    locked.draft = draft
    locked.save(update_fields=["draft", "updated_at"])
    # Only columns that were not confirmed before: the log has who vouched for a column, once,
    # and not each press of a button that saves it.
    if vouched := [name for name in drafts.confirmed_names(draft) if name not in before]:
        audit.record(
            actor=actor,
            action="columns.confirmed",
            target=("dataset", locked.code),
            organisation=locked.organisation,
            detail={
                "columns": vouched,
                "because": list(
                    dict.fromkeys(
                        str(draft["columns"][name].get("because", "")) for name in vouched
                    )
                ),
            },
        )
    dataset.draft = draft
    return dataset


def _change(
    draft: drafts.Draft,
    columns: Mapping[str, drafts.Column | None],
    changes: DraftChanges,
) -> None:
    """Put what was typed into a draft. columns: those of the changes; None of one that is taken out."""
    merged = dict(draft.get("columns") or {})
    for name, column in columns.items():
        if column is None:
            merged.pop(name, None)
        else:
            merged[name] = column
    draft["columns"] = merged
    if changes.answers:
        all_answers = {**(draft.get("answers") or {}), **changes.answers}
        draft["answers"] = {name: key for name, key in all_answers.items() if key}
    if changes.table is not None:
        draft["table"] = {key: str(changes.table.get(key, "")) for key in terms.USUAL_TABLE}
    if changes.total is not None:
        draft["total"] = changes.total
    if changes.constraints is not None:
        draft["constraints"] = list(changes.constraints)


def _counted(
    dataset: Dataset, columns: Mapping[str, drafts.Column | None]
) -> dict[str, drafts.Column | None]:
    """Columns with the number of facts that equal a suggestion, for those that are confirmed: counted now,
    because suggestions expire."""
    if not any(column and column.get("confirmed") for column in columns.values()):
        return dict(columns)
    suggested = selectors.suggestions_to_count(dataset)
    counted: dict[str, drafts.Column | None] = {}
    for name, column in columns.items():
        counted[name] = column
        if column and column.get("confirmed"):
            below = (suggested or {}).get(name)
            compared = basis.count_facts(name, column, below, known=suggested is not None)
            # Whatever sent it: a list that was read is public only by a statement of its own.
            own = not read_lists.needs_statement(column, below)
            counted[name] = {
                **column,
                "confirmed": own,
                "as_suggested": compared.equal,
                "equal_facts": compared.names.get(name, []),
            }
    return counted


@transaction.atomic
def describe_point(
    *, actor: User, dataset: Dataset, given: Mapping[str, object], names: Sequence[str]
) -> Dataset:
    """Two columns as one point, confirmed: as a form that is valid has it."""
    locked = Dataset.objects.select_for_update().get(pk=dataset.pk)
    described = points.describe_place(given, draft=locked.draft, names=names)
    table = terms.USUAL_TABLE | (locked.draft.get("table") or {}) | {"places": described.places}
    changes = DraftChanges(columns=described.columns, table=table)
    return keep(actor=actor, dataset=dataset, changes=changes)


def import_document(
    *,
    actor: User,
    dataset: Dataset,
    document: Mapping[str, object],
    replaces: bool = False,
    whole: bool = False,
) -> Imported:
    """Take a description made elsewhere into the draft, as typed and not confirmed: a DOMAIN.json, a Table
    Schema or a data dictionary. What is described here already stays, unless the file `replaces` it. Raises
    DomainError for an unsound document, and for one about another table (`whole`: of which any column is not
    here); nothing is kept."""
    kind, reading, domain = documents.read(document)
    dataset.refresh_from_db(fields=["draft"])
    payload = selectors.preview_for(actor, dataset, Preview.Kind.TABLE)
    known = payload["columns"] if payload else selectors.columns_of(dataset)
    names = list(known or drafts.columns(dataset.draft))
    if not names:
        raise DomainError(
            "the columns of the table are not known any more",
            repair="read the table again first",
        )
    if whole:
        documents.check_whole(reading, names=names)
    standing = {} if replaces else drafts.columns(dataset.draft)
    taken, remarks = documents.import_columns(reading, names=names, standing=standing)
    table: Mapping[str, str] | None = None
    rules: Sequence[JsonObject] | None = None
    more_facts: Mapping[str, object] | None = None
    lines: list[str] = []
    if domain is not None:
        table, lines = documents.import_table_facts(
            dataset, domain, document=document, names=names, replaces=replaces
        )
        rules, more = documents.import_constraints(
            dataset, domain, names=names, replaces=replaces
        )
        more_facts, further = documents.import_context(
            dataset, domain, names=names, replaces=replaces
        )
        lines += [*more, *further]
    total = len(names) if known else None
    keep(
        actor=actor,
        dataset=dataset,
        changes=DraftChanges(
            columns=taken, table=table, total=total, constraints=rules, context=more_facts
        ),
    )
    return Imported(
        title=dictionaries.TITLES[kind],
        columns=list(taken),
        remarks=[*remark_lines(remarks), *lines],
    )


# --- the description ----------------------------------------------------------------------------------------
def confirm_domain(*, actor: User, dataset: Dataset) -> DomainVersion:
    """Make the draft the public description. Raises Incomplete with everything that is still to mend."""
    dataset.refresh_from_db(fields=["draft"])
    payload = selectors.preview_for(actor, dataset, Preview.Kind.TABLE)
    names = payload["columns"] if payload else selectors.columns_of(dataset)
    context = file_form.with_form(selectors.draft_context(dataset), dataset)
    rho = terms.common_rho(dataset.organisation)
    typed_domain = domain_of(dataset.draft, names=names, context=context, rho=rho)
    domain = purchases.with_purchases(dataset, typed_domain)
    typed = drafts.columns(dataset.draft)
    described = {attribute.name: typed[attribute.name] for attribute in domain.attributes}
    return _store(
        actor=actor,
        dataset=dataset,
        domain=domain,
        typed=typed_domain,
        statements=basis.statements(described),
        facts=basis.of_draft(described),
    )


def declare_domain(
    *,
    actor: User,
    dataset: Dataset,
    document: Mapping[str, object],
    because: str = "",
    lists_because: str = "",
) -> DomainVersion:
    """Make a whole document the public description, on the steward's word. `because`: where its facts are
    written; whoever takes a person's word asks for it. `lists_because`: where the lists are written that hold
    nothing besides what was read from the table; a person's word for everything does not cover them. The
    draft follows, so that its page shows what is in force; what was typed there and not confirmed yet stays.
    Raises DomainError."""
    rho = terms.common_rho(dataset.organisation)
    given = Domain.from_json(terms.with_rho(document, rho))
    # The draft has what was typed; what was bought is known here, whatever a document says of it.
    domain = purchases.without_purchases(dataset, given)
    suggested = selectors.suggestions_to_count(dataset)
    read = _lists_read(domain, suggested or {})
    if because:
        _require_statement(read, lists_because)
    statements = {
        each.name: lists_because if lists_because and each.name in read else because
        for each in domain.attributes
    }
    with transaction.atomic():
        version = _store(
            actor=actor,
            dataset=dataset,
            domain=purchases.with_purchases(dataset, domain),
            typed=domain,
            statements=basis.statements(
                {name: drafts.Column(because=text) for name, text in statements.items()}
            ),
            facts=basis.of_attributes(domain.attributes, suggested=suggested),
        )
        names = selectors.columns_of(dataset) or [each.name for each in domain.attributes]
        columns = {
            a.name: _declared_column(a, names.index(a.name), because=statements[a.name])
            for a in domain.attributes
        }
        unfinished = {
            name
            for name, one in drafts.columns(dataset.draft).items()
            if not one.get("confirmed")
        }
        taken = {name: column for name, column in columns.items() if name not in unfinished}
        held = [each.to_json() for each in domain.constraints]
        keep(
            actor=actor,
            dataset=dataset,
            changes=DraftChanges(
                columns=taken,
                table=drafts.table_of(domain),
                total=len(names),
                constraints=held,
                context=documents.context_of(domain),
            ),
        )
    return version


def _require_statement(read: Sequence[str], lists_because: str) -> None:
    """Refuse lists that were only read from the table, unless somebody says where they are written. Errors:
    DomainError."""
    if read and not lists_because:
        raise DomainError(
            "its list holds nothing besides what was read from the table",
            repair="say where such lists are written (`lists_because`), or have each release find the "
            "values by the kind weak",
            column=read[0],
        )


def _declared_column(attribute: Attribute, place: int, *, because: str) -> drafts.Column:
    """The column of a draft that says what a whole document says of it."""
    column = drafts.column_of(attribute, place=place)
    column["confirmed"] = column["vouched"] = True
    if because:
        column["because"] = because
    return column


def _lists_read(domain: Domain, suggested: Mapping[str, drafts.Column]) -> list[str]:
    """The columns of a description whose lists hold nothing besides what was read from the table."""
    return [
        each.name
        for each in domain.attributes
        if read_lists.values_read(drafts.typed_from(each.to_json()), suggested.get(each.name))
    ]


def domain_of(
    draft: drafts.Draft,
    *,
    names: Sequence[str] | None,
    context: Mapping[str, Any],
    rho: float | None = None,
) -> Domain:
    """The draft, and what stands beside it, as a Domain of the table with these columns (None: when only
    their number is remembered). rho: of columns of unknown values for which none was typed; None: the usual
    one. Raises Incomplete with all errors at once."""
    errors: list[DomainError] = []
    attributes: list[Attribute] = []
    typed = drafts.columns(draft)
    for name in names if names is not None else typed:
        column = typed.get(name)
        try:
            if column is None or not (column.get("confirmed") or column.get("tried")):
                raise DomainError(
                    NOT_CONFIRMED, repair="confirm it, or leave it out", column=name
                )
            attribute = attribute_of(name, column)
            if (
                isinstance(attribute, Weak)
                and rho is not None
                and not column["fields"].get("rho")
            ):
                attribute = replace(attribute, rho=rho)
            attributes.append(attribute)
            if not column.get("confirmed"):  # sound by now, and still not confirmed
                raise DomainError(
                    NOT_CONFIRMED, repair="confirm it, or leave it out", column=name
                )
        except DomainError as error:
            # All that is wrong in a column, and not the first alone.
            errors += (column and field_errors.as_errors(name, column)) or [error]
    # Of an expired preview only the number of columns is left: as many as the table has are
    # taken for all of them.
    if names is None and draft.get("total") != len(typed):
        errors.append(
            DomainError(
                "the preview has expired",
                repair="read the table again to see what is still open",
            )
        )
    try:
        whom = terms.table_terms(
            draft.get("table") or terms.USUAL_TABLE, names=[*(names or typed)]
        )
        # Constraints, points and totals refer to columns, so they are judged when all are
        # sound.
        if not errors:
            held = parse_constraints(constraining.documents(draft))
            return documents.whole(attributes, constraints=held, terms=whom, context=context)
    except DomainError as error:
        errors.append(error)
    raise Incomplete(errors)


@transaction.atomic
def _store(
    *,
    actor: User,
    dataset: Dataset,
    domain: Domain,
    typed: Domain,
    statements: Sequence[Mapping[str, object]],
    facts: basis.FactCount,
) -> DomainVersion:
    """Make a description the one in force. typed: without what was bought."""
    domain.require_confirmed()
    terms.check_text(domain.to_json())
    terms.check_rho(domain, terms.common_rho(dataset.organisation))
    locked = (
        Dataset.objects.select_for_update().select_related("organisation").get(pk=dataset.pk)
    )
    # Under the lock: the file may have been replaced since the page was shown, and two
    # confirmations at once must not take the same number.
    check_columns(locked, domain)
    terms.check_fixed(locked, domain)
    latest = newest(locked)
    if latest is not None and latest.digest == domain.digest:
        # The same facts confirmed again are no new version: runs refer to the one that there
        # is.
        return latest
    version = DomainVersion.objects.create(
        dataset=locked,
        number=latest.number + 1 if latest else 1,
        document=domain.to_json(),
        digest=domain.digest,
        confirmed_by=actor,
    )
    DomainBasis.objects.create(
        version=version,
        statements=[dict(each) for each in statements],
        suggestions_shown=selectors.suggestions_were_shown(locked),
        facts=facts.facts,
        facts_as_suggested=facts.equal,
        equal_facts=dict(facts.names),
        after_looking=selectors.comparison_was_opened(locked),
        ranges_after_looking=looks.changed_after(locked.draft, typed.attributes),
        reader=selectors.reader_of(locked),
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
    """Raises DomainError for a column that is described and not in the table, or is to name people, or to say
    how many records a row stands for, and is not there.
    Nothing can be said of a table that was not read yet; the worker looks again before it charges
    anything."""
    if dataset.status == Dataset.Status.REFUSED:
        raise DomainError(
            "the table was refused and cannot be described",
            repair="mend it and upload it again",
        )
    names = selectors.columns_of(dataset)
    described = [attribute.name for attribute in domain.attributes]
    further = [domain.unit.column, None if domain.repeats is None else domain.repeats.column]
    for name in [*described, *(name for name in further if name)]:
        if names is not None and name not in names:
            raise DomainError(
                "the table has no such column",
                repair="take its name from the header",
                column=name,
            )
