"""All runs of one account are about the same neighbours: whatever says what a record is, and whose, cannot
change between two of them."""

from __future__ import annotations

import dataclasses
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from synth_engine.codec import units
from synth_engine.domain import Domain
from synth_engine.domain.database import Database
from synth_engine.errors import DomainError
from synth_engine.formats import Dialect
from synth_engine.privacy.unit import IDENTIFIER_RULES, PrivacyUnit, Relation, Spelling
from synthweb.datasets import selectors
from synthweb.datasets import services as datasets
from synthweb.datasets.forms import Posted
from synthweb.datasets.models import Dataset
from synthweb.datasets.services import records
from synthweb.ledger import services as ledger
from synthweb.ledger.errors import UnitMismatch
from synthweb.ledger.models import LedgerEntry
from synthweb.ledger.protection import Protection
from synthweb.lib.errors import Conflict
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.databases import DatabaseRequest
from synthweb.runs.models import SynthesisRun
from tests import databases
from tests.cast import Cast
from tests.web import scene
from tests.web.ledger_setup import hold
from tests.web.test_databases import (
    DELTA,
    ONE,
    checked,
    csv_of,
    described,
    funded,
    uploaded,
)
from tests.web.test_datasets_lifecycle import replaced

pytestmark = pytest.mark.django_db(transaction=True)

PERSONS = "pid,works,note\n" + "".join(f"{n},{'ab'[n % 2]},x\n" for n in range(40))


def about(**unit: Any) -> dict[str, Any]:
    """A description of `PERSONS`."""
    works = {
        "name": "works",
        "kind": "categorical",
        "values": ["a", "b"],
        "provenance": "declared",
        "other": True,
    }
    left = [{"name": name, "kind": "identifier"} for name in ("pid", "note")]
    return {
        "attributes": [*left, works],
        "unit": {"max_records": 1, "column": "pid"} | unit,
    }


def paid(cast: Cast, *, document: dict[str, Any] | None = None) -> Dataset:
    """A table with one finished release."""
    made = scene.funded(cast, table=PERSONS, document=document or about())
    run = scene.submit(steward=cast.steward, dataset=made)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == "finished", run.failure
    made.refresh_from_db()
    return made


# --- whom an account protects -------------------------------------------------------------------------------
OTHERS: dict[str, object] = {
    "relation": Relation.REPLACE_ONE,
    "invariants": ("rows",),
    "identifier_rules": IDENTIFIER_RULES + 1,
}
OTHER_UNITS: dict[str, object] = {
    "max_records": 2,
    "column": "works",
    "spelling": Spelling.INTEGER,
}


def test_every_fact_of_a_protection_is_tried() -> None:
    """Whoever adds a fact adds what happens if it differs."""
    assert {*OTHERS, "unit"} == {field.name for field in dataclasses.fields(Protection)}
    assert set(OTHER_UNITS) == {field.name for field in dataclasses.fields(PrivacyUnit)}


@pytest.mark.parametrize("name", [*OTHERS, *OTHER_UNITS])
def test_a_run_about_other_neighbours_is_refused_by_the_account(cast: Cast, name: str) -> None:
    made = paid(cast)
    account = ledger.selectors.account_of(made)
    assert account is not None
    own = Protection.of_account(account)
    assert own == ledger.selectors.protection_of(made)
    if name in OTHERS:
        other = dataclasses.replace(own, **{name: OTHERS[name]})  # type: ignore[arg-type]
    else:
        unit = dataclasses.replace(own.unit, **{name: OTHER_UNITS[name]})  # type: ignore[arg-type]
        other = dataclasses.replace(own, unit=unit)
    before = LedgerEntry.objects.count()
    with pytest.raises(UnitMismatch):
        hold(account, "another", protection=other)
    assert LedgerEntry.objects.count() == before
    assert other.sentence() != own.sentence()


@pytest.mark.parametrize("invariants", [(), ("rows",)])
def test_a_plan_protects_whom_its_description_says(invariants: tuple[str, ...]) -> None:
    """What a run holds for is read off the description of its plan: none of its facts is left out."""
    unit = PrivacyUnit(max_records=2, column="pid", spelling=Spelling.INTEGER)
    domain = dataclasses.replace(
        Domain.from_json(about()),
        unit=unit,
        relation=Relation.REPLACE_ONE,
        invariants=invariants,
        rows=40 if invariants else None,
    )
    stated = Protection(relation=Relation.REPLACE_ONE, unit=unit, invariants=invariants)
    assert Protection.of_domain(domain) == stated


@pytest.mark.parametrize("spelling", ["casefold", "integer"])
def test_identifiers_are_read_as_in_the_runs_that_were_paid(cast: Cast, spelling: str) -> None:
    """The persons "7" and "07" are one by numbers and two by letters: no definition of a person has the sum
    of both."""
    made = paid(cast)
    with pytest.raises(DomainError, match="unit spelling cannot change"):
        datasets.declare_domain(
            actor=cast.steward, dataset=made, document=about(spelling=spelling)
        )
    assert made.domain_versions.count() == 1


def test_a_spelling_stays_when_the_description_is_saved_in_the_browser(
    cast: Cast, client: Client
) -> None:
    made = paid(cast, document=about(spelling="integer"))
    client.force_login(cast.steward)
    page = client.get(reverse("datasets:describe", args=[made.code])).text
    assert '<input type="hidden" name="unit_spelling" value="integer">' in page
    posted = {"relation": "add-remove", "max_records": "1", "unit_column": "pid"}
    for sent, kept in (("integer", "integer"), ("", "exact")):
        form = Posted(QueryDict(urlencode({**posted, "unit_spelling": sent})))
        assert form.table is not None and form.table["unit_spelling"] == kept
    account = ledger.selectors.account_of(made)
    assert account is not None and account.unit_spelling == "integer"
    fixed = selectors.fixed_terms(made)
    assert fixed is not None and fixed["unit_spelling"] == "integer"


def test_identifiers_have_the_forms_that_the_version_of_the_rules_stands_for() -> None:
    """Whoever changes a form raises `IDENTIFIER_RULES`: accounts of the earlier rules take no further
    runs."""
    written = [
        " 7",
        "07",
        "+7.0",
        "-0",
        "Straße",
        "STRASSE",
        "\ufeffx\u3000",
        "ﬁ",
        "7,0",
        "1e3",
    ]
    texts = pa.array([*written, None])
    forms = {spelling.value: units.normal(texts, spelling).to_pylist() for spelling in Spelling}
    assert IDENTIFIER_RULES == 1
    assert forms == {
        "exact": ["7", "07", "+7.0", "-0", "Straße", "STRASSE", "x", "ﬁ", "7,0", "1e3", ""],
        "casefold": [
            "7",
            "07",
            "+7.0",
            "-0",
            "strasse",
            "strasse",
            "x",
            "fi",
            "7,0",
            "1e3",
            "",
        ],
        "integer": ["7", "7", "7", "0", "Straße", "STRASSE", "x", "ﬁ", "7,0", "1e3", ""],
    }


# --- what a record of a file is -----------------------------------------------------------------------------
FORMS: dict[str, dict[str, Any]] = {
    "quote": {"quote": ""},
    "escape": {"escape": "none"},
    "literal": {"literal": True},
    "extra_rows": {"extra_rows": "drop"},
    "encoding": {"encoding": "latin-1"},
    "delimiter": {"delimiter": ";"},
    "spaced": {"spaced": True},
    "header": {"header": False, "columns": 3, "names": ("pid", "works", "note")},
    "header_lines": {"header_lines": 2},
    "columns": {"header": False, "columns": 4, "names": ("pid", "works", "note", "more")},
    "skip": {"skip": 1},
    "footer": {"footer": 1},
    "sheet": {"sheet": "first"},
    "records": {"records": "lines"},
    "person_at": {"names": ("works", "pid", "note")},
}
CELL_FACTS = {
    "decimal",
    "thousands",
    "error_cells",
    "vouched_by",
    "units",
    "marks_confirmed",
    "asked",
}
"""What is about cells of one record alone, or about the questions to the steward."""


def form_of(made: Dataset, **changed: Any) -> Dialect:
    own = Dialect() if made.dialect is None else Dialect.from_json(made.dialect)
    return dataclasses.replace(own, **changed)


def test_every_fact_of_a_form_is_tried() -> None:
    named = {field.name for field in dataclasses.fields(Dialect)}
    assert {*records.ROWS, *records.LAYOUT} == named - CELL_FACTS - {"names"}
    assert set(FORMS) == {*records.ROWS, *records.LAYOUT, "person_at"}


@pytest.mark.parametrize("name", FORMS)
def test_a_table_is_read_as_in_the_runs_that_were_paid(cast: Cast, name: str) -> None:
    """A quoted cell of eight lines is one record, or eight where quotation marks are letters."""
    made = paid(cast)
    other = form_of(made, **FORMS[name])
    with pytest.raises(Conflict, match="what a record is would change"):
        datasets.set_dialect(actor=cast.steward, dataset=made, dialect=other)
    made.refresh_from_db()
    assert made.status == Dataset.Status.READY
    # However it came to be read otherwise: the next run is refused before anything is held.
    made.dialect = other.to_json()
    made.save()
    made.tables.filter(number=made.table_number).update(dialect=made.dialect)
    held = LedgerEntry.objects.count()
    with pytest.raises(Conflict, match="what a record is would change"):
        scene.submit(steward=cast.steward, dataset=made)
    assert (LedgerEntry.objects.count(), SynthesisRun.objects.count()) == (held, 1)


@pytest.mark.parametrize("changed", [{"decimal": ","}, {"error_cells": "missing"}])
def test_how_cells_are_read_may_be_said_better(cast: Cast, changed: dict[str, Any]) -> None:
    made = paid(cast)
    datasets.set_dialect(
        actor=cast.steward, dataset=made, dialect=form_of(made, delimiter=",", **changed)
    )
    made.refresh_from_db()
    assert made.status == Dataset.Status.UPLOADED


def test_before_a_run_is_paid_a_table_is_read_as_its_steward_says(cast: Cast) -> None:
    made = scene.funded(cast, table=PERSONS, document=about())
    run = scene.submit(steward=cast.steward, dataset=made)
    runs.cancel(run=run, actor=cast.steward)
    datasets.set_dialect(actor=cast.steward, dataset=made, dialect=form_of(made, quote=""))
    made.refresh_from_db()
    assert made.status == Dataset.Status.UPLOADED


@pytest.mark.parametrize(
    ("changed", "refused"), [({"quote": ""}, True), ({"delimiter": ";"}, False)]
)
def test_a_later_version_of_a_file_has_the_same_rules_for_rows(
    cast: Cast, changed: dict[str, Any], refused: bool
) -> None:
    """The next export may use another delimiter. Where a record ends is as before."""
    made = paid(cast)
    made.content_key = "another file"
    made.dialect = form_of(made, **changed).to_json()
    rules = records.rules_of(made)
    if refused:
        with pytest.raises(Conflict, match="what a record is would change"):
            records.require_same(made, rules)
    else:
        records.require_same(made, rules)


def test_the_same_bytes_under_the_same_account_are_read_alike(cast: Cast) -> None:
    first = paid(cast)
    again = scene.read(
        scene.upload(
            steward=cast.steward, organisation=cast.organisation, table=PERSONS, name="Again"
        )
    )
    datasets.declare_domain(actor=cast.steward, dataset=again, document=about())
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=again),
        reason="Yes.",
        opening=ledger.Opening(account=ledger.selectors.account_of(first)),
    )
    again.refresh_from_db()
    again.dialect = form_of(again, quote="").to_json()
    with pytest.raises(Conflict, match="what a record is would change"):
        records.require_same(again, records.rules_of(again))


# --- whose a record of a database is ------------------------------------------------------------------------
def released(cast: Cast) -> Dataset:
    """A database that one run released."""
    root = described(cast)
    funded(cast, root)
    checked(cast, root)
    run = runs.submit(
        DatabaseRequest(dataset=root, epsilon=ONE, delta=DELTA),
        steward=cast.steward,
        name="First",
    )
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == "finished", run.failure
    return root


def test_a_database_keeps_the_keys_of_the_runs_that_were_paid(cast: Cast) -> None:
    root = released(cast)
    version = selectors.newest_database(root)
    assert version is not None
    kept = Database.from_json(version.document)
    records.require_same_units(root, kept, version.datasets)
    # Another maximum bounds the rows of the same unit otherwise, and is priced by each run.
    more = dict(version.document)
    more["tables"] = [
        table | ({"most": table["most"] + 1} if "most" in table else {})
        for table in version.document["tables"]
    ]
    records.require_same_units(root, Database.from_json(more), version.datasets)
    for number, name in ((1, "reference"), (0, "key")):
        other = dict(version.document)
        other["tables"] = [dict(table) for table in version.document["tables"]]
        other["tables"][number][name] = "doctor"
        with pytest.raises(DomainError, match="another key, parent or reference"):
            records.require_same_units(root, Database.from_json(other), version.datasets)


def test_another_reference_is_refused_where_a_database_is_confirmed(cast: Cast) -> None:
    root = released(cast)
    trips = selectors.database_tables(root)[-1]
    trips.facts = trips.facts | {"parent": "homes"}
    trips.save()
    numbers = root.database_versions.count()
    with pytest.raises(DomainError, match="another key, parent or reference"):
        datasets.databases.confirm(actor=cast.steward, root=root)
    assert root.database_versions.count() == numbers


def test_a_table_out_of_a_database_gets_a_budget_only_for_a_reason(cast: Cast) -> None:
    """Its rows were paid for by the root's account: a second budget adds up with that one."""
    root = released(cast)
    table = selectors.database_tables(root)[-1].dataset
    datasets.databases.remove_table(actor=cast.steward, root=root, dataset=table)
    table.refresh_from_db()
    request = scene.ask(steward=cast.steward, dataset=table)
    with pytest.raises(ledger.SameContent):
        ledger.grant(custodian=cast.custodian, request=request, reason="Yes.")
    ledger.grant(
        custodian=cast.custodian,
        request=request,
        reason="Yes.",
        opening=ledger.Opening(separate_reason="Both add up to what the office allows."),
    )


def test_the_same_file_uploaded_beside_a_database_gets_one_only_for_a_reason(
    cast: Cast,
) -> None:
    root = described(cast)
    funded(cast, root)
    twin = scene.read(
        scene.upload(
            steward=cast.steward,
            organisation=cast.organisation,
            table=csv_of("trips"),
            name="Trips again",
        )
    )
    original = selectors.database_tables(root)[-1].dataset
    version = original.domain_versions.first()
    assert version is not None
    datasets.declare_domain(
        actor=cast.steward, dataset=twin, document=version.document, because="The codebook."
    )
    with pytest.raises(ledger.SameContent):
        ledger.grant(
            custodian=cast.custodian,
            request=scene.ask(steward=cast.steward, dataset=twin),
            reason="Yes.",
        )


def test_a_table_that_has_a_budget_elsewhere_is_no_table_of_a_database(cast: Cast) -> None:
    """The other way round: first a budget of its own, then the same bytes below a root."""
    alone = scene.read(
        scene.upload(
            steward=cast.steward,
            organisation=cast.organisation,
            table=csv_of("trips"),
            name="Trips",
        )
    )
    document = databases.document()["tables"][-1]["domain"]
    datasets.declare_domain(
        actor=cast.steward, dataset=alone, document=document, because="The codebook."
    )
    funded(cast, alone)
    with pytest.raises(Conflict, match="a privacy budget of its own"):
        described(cast)


def rooms(cast: Cast, *, homes: int) -> Dataset:
    """A root with other homes than the databases above have, and no table below it yet."""
    return uploaded(cast, "homes", databases.random_rows(homes=homes))


@pytest.mark.parametrize("removed", [False, True])
def test_a_table_of_a_paid_database_is_no_table_of_another(cast: Cast, removed: bool) -> None:
    """Nor is the very same file, uploaded again; nor what was taken out after the budget was given."""
    first = described(cast)
    funded(cast, first)
    table = selectors.database_tables(first)[-1].dataset
    if removed:
        datasets.databases.remove_table(actor=cast.steward, root=first, dataset=table)
    second = rooms(cast, homes=7)
    for candidate in (uploaded(cast, "trips"), *([table] if removed else [])):
        with pytest.raises(Conflict, match="paid for in another database"):
            datasets.databases.add_table(actor=cast.steward, root=second, dataset=candidate)
    # Of its own database it may be a table again.
    if removed:
        datasets.databases.add_table(actor=cast.steward, root=first, dataset=table)


def test_a_second_root_over_the_same_table_gets_a_budget_only_for_a_reason(cast: Cast) -> None:
    """Neither had a budget when the table came below both."""
    first = described(cast)
    second = rooms(cast, homes=7)
    datasets.databases.add_table(
        actor=cast.steward, root=second, dataset=uploaded(cast, "trips")
    )
    version = first.domain_versions.first()
    assert version is not None
    datasets.declare_domain(
        actor=cast.steward, dataset=second, document=version.document, because="The codebook."
    )
    funded(cast, first)
    assert ledger.selectors.accounts_with_same_content(second) == [
        ledger.selectors.account_of(first)
    ]
    with pytest.raises(ledger.SameContent):
        funded(cast, second)


def test_a_paid_table_does_not_come_below_another_root_by_a_replaced_file(cast: Cast) -> None:
    first = described(cast)
    funded(cast, first)
    second = rooms(cast, homes=7)
    other = uploaded(cast, "trips", databases.random_rows(homes=9))
    datasets.databases.add_table(actor=cast.steward, root=second, dataset=other)
    version = first.domain_versions.first()
    assert version is not None
    datasets.declare_domain(
        actor=cast.steward, dataset=second, document=version.document, because="The codebook."
    )
    funded(cast, second)
    for dataset, name in ((other, "trips"), (second, "people")):
        with pytest.raises(Conflict, match="spends from another budget already"):
            replaced(cast, dataset, csv_of(name))
