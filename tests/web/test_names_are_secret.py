"""Names are as secret as cells: a key of one record, names that nobody described, and names of a table that
is gone, are in no place that others than its steward see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from synth_engine.formats import Dialect
from synthweb.audit.models import AuditEntry
from synthweb.datasets import sealed_names
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset
from synthweb.runs import services as runs
from synthweb.runs import worker
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)

CANARY = "visits of Xanthippe Canary-4711"
LINES = "\n".join(
    json.dumps({"age": n % 90, "works": "yn"[n % 2]} | ({CANARY: 1} if n == 7 else {}))
    for n in range(300)
)
AGE = {
    "attributes": [
        {"name": "age", "kind": "integer", "low": 0, "high": 120, "provenance": "declared"}
    ]
}


def uploaded(cast: Cast) -> Dataset:
    made = datasets.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Visits",
        file_kind="json",
        chunks=[LINES.encode()],
    )
    runs.request_ingest(dataset=made, actor=cast.steward)
    return read(made)


def read(made: Dataset) -> Dataset:
    worker.table_job(code=made.table_jobs.filter(kind="ingest").latest("pk").code)
    made.refresh_from_db()
    assert made.status == Dataset.Status.READY, made.refusal
    return made


def named(cast: Cast) -> Dataset:
    """The steward says that the key is a column."""
    made = uploaded(cast)
    form = Dialect(names=("age", "works", CANARY))
    datasets.set_dialect(actor=cast.steward, dataset=made, dialect=form)
    runs.request_ingest(dataset=made, actor=cast.steward)
    return read(made)


def names_of(made: Dataset) -> tuple[str, ...]:
    form = sealed_names.form_of(made)
    assert form is not None
    return form.names


def clear_places() -> list[str]:
    """The models of which a row holds the canary as it is."""
    return [
        f"{model._meta.label}.{field.attname}"
        for model in apps.get_models()
        for row in model._default_manager.all()
        for field in model._meta.concrete_fields
        if CANARY in str(field.value_from_object(row))
    ]


def as_seen(client: Client, made: Dataset) -> str:
    return client.get(reverse("api:dataset-detail", args=[made.code])).text


def test_a_key_of_one_record_is_in_no_row_of_the_database(cast: Cast) -> None:
    made = uploaded(cast)
    assert names_of(made) == ("age", "works")
    datasets.declare_domain(actor=cast.steward, dataset=made, document=AGE)
    assert clear_places() == []


@pytest.mark.parametrize("person", ["custodian", "auditor"])
def test_a_name_that_nobody_described_is_shown_to_the_steward_alone(
    cast: Cast, client: Client, person: str
) -> None:
    made = named(cast)
    assert CANARY in names_of(made)
    datasets.declare_domain(actor=cast.steward, dataset=made, document=AGE)
    client.force_login(cast.steward)
    assert CANARY in as_seen(client, made)
    client.force_login(getattr(cast, person))
    shown = as_seen(client, made)
    assert '"age"' in shown and CANARY not in shown
    assert not any(CANARY in json.dumps(entry.detail) for entry in AuditEntry.objects.all())


def test_names_end_with_the_table(cast: Cast) -> None:
    made = named(cast)
    datasets.delete(actor=cast.steward, dataset=made)
    made.refresh_from_db()
    assert names_of(made) == ()
    assert clear_places() == []


@pytest.mark.parametrize("lost", ["PREVIEW", "VAULT"])
def test_names_are_opened_by_the_web_and_by_the_worker(
    cast: Cast, settings: Settings, tmp_path: Path, lost: str
) -> None:
    """Each has the private half of its own pair and the public one of the other, and writes what both
    open."""
    made = named(cast)
    missing = tmp_path / "missing"
    setattr(settings, f"{lost}_PRIVATE_KEY_FILE", missing)
    assert CANARY in names_of(made)
    kept = {"PREVIEW": "VAULT", "VAULT": "PREVIEW"}[lost]
    setattr(settings, f"{kept}_PUBLIC_KEY_FILE", missing)
    made.dialect = sealed_names.stored(Dialect(names=(CANARY,), sheet="One").to_json())
    made.save()
    form = sealed_names.form_of(made)
    assert form is not None and (form.names, form.sheet) == ((CANARY,), "One")
    assert clear_places() == []


def test_without_any_of_its_keys_a_form_has_no_names(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    made = named(cast)
    settings.PREVIEW_PRIVATE_KEY_FILE = settings.VAULT_PRIVATE_KEY_FILE = tmp_path / "missing"
    assert names_of(made) == ()
