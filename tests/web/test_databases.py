"""Databases in the web: several tables from upload to release, by the pages themselves."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from synth_engine.errors import DomainError
from synthweb.datasets import services as datasets
from synthweb.datasets.models import DatabaseVersion, Dataset
from synthweb.ledger import services as ledger
from synthweb.ledger.models import LedgerEntry
from synthweb.lib.errors import Refused
from synthweb.releases import databases as databases_of_releases
from synthweb.releases import services as releases
from synthweb.releases.models import Release
from synthweb.runs import services as runs
from synthweb.runs import worker
from synthweb.runs.databases import DatabaseRequest
from synthweb.runs.errors import KeyReused, NotReady
from synthweb.runs.models import SynthesisRun, TableJob
from tests import databases
from tests.cast import Cast
from tests.web import addresses, scene

CANARY = "canary"
ONE, DELTA = Fraction(1), Fraction(1, 10**9)
ROWS = {
    # Of keys a release knows nothing: they are in no page and no file that an analyst gets.
    name: [tuple(CANARY + c if str(c).startswith("h") else c for c in row) for row in rows]
    for name, rows in databases.random_rows(homes=200).items()
}


pytestmark = pytest.mark.django_db(transaction=True)


def csv_of(name: str, rows: databases.Rows = ROWS) -> str:
    """The file of a table."""
    lines = [",".join(databases.HEADERS[name])]
    return "\n".join([*lines, *(",".join(map(str, row)) for row in rows[name])]) + "\n"


def uploaded(cast: Cast, name: str, rows: databases.Rows = ROWS) -> Dataset:
    """A table that is uploaded and read."""
    table = csv_of(name, rows)
    made = scene.upload(
        steward=cast.steward, organisation=cast.organisation, table=table, name=name
    )
    return scene.read(made)


def described(cast: Cast, rows: databases.Rows = ROWS) -> Dataset:
    """Three tables that are connected and confirmed, with budget for the root."""
    root = uploaded(cast, "homes", rows)
    for name in ("people", "trips"):
        datasets.databases.add_table(
            actor=cast.steward, root=root, dataset=uploaded(cast, name, rows)
        )
    datasets.databases.bring_document(
        actor=cast.steward, root=root, document=databases.document(), because="The codebook."
    )
    return root


def checked(cast: Cast, root: Dataset) -> TableJob:
    """Its keys, checked by a worker."""
    job = runs.request_keys_check(root=root, actor=cast.steward)
    worker.table_job(code=job.code)
    job.refresh_from_db()
    return job


def funded(cast: Cast, root: Dataset) -> None:
    """Budget for the root."""
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=root),
        reason="Agreed.",
    )


def test_the_whole_path_from_files_to_a_shared_database(
    cast: Cast, client: Client, tmp_path: Path
) -> None:
    root = described(cast)
    funded(cast, root)
    client.force_login(cast.steward)
    address = reverse("runs:tables", args=[root.code])
    assert client.get(address).status_code == 200
    job = checked(cast, root)
    assert job.state == "finished", job.failure
    page = client.get(address).text
    assert "Every key is unique" in page and "Real data" in page

    new = reverse("runs:new-database", args=[root.code])
    asked = {"epsilon": "2", "delta": "1e-9", "request_key": "once", "name": "Homes"}
    priced = client.post(new, asked)
    assert (
        "people:pairs" in priced.text
        and "in records" in priced.text
        and not SynthesisRun.objects.exists()
    )
    digest = priced.context["price"].digest
    answer = client.post(new, asked | {"confirmed": digest})
    run = SynthesisRun.objects.get()
    assert answer.url == reverse("runs:run", args=[run.code])
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == "finished", run.failure
    assert LedgerEntry.objects.filter(run_code=run.code, kind=LedgerEntry.Kind.CHARGE).exists()
    assert client.get(answer.url).status_code == 200

    release = run.release
    assert release is not None
    releases.share(actor=cast.steward, release=release, analyst=cast.analyst)
    client.force_login(cast.analyst)
    look = client.get(reverse("releases:release", args=[release.code]), follow=True)
    assert look.status_code == 200 and "trips" in look.text
    measured = client.get(reverse("releases:database-measured", args=[release.code]))
    errors = {view.name: view.expected_error for view in measured.context["views"]}
    assert (
        errors.pop("people:pairs") is errors.pop("trips:pairs") is errors.pop("#units") is None
    )
    assert all(0 < error < 1 for error in errors.values())
    for form in ("csv", "parquet", "sqlite"):
        file = client.get(reverse("releases:database-download", args=[release.code, form]))
        content = b"".join(file.streaming_content)
        if form == "sqlite":
            (tmp_path / "tables.sqlite").write_bytes(content)
            with sqlite3.connect(tmp_path / "tables.sqlite") as connection:
                assert (
                    connection.execute(
                        "SELECT count(*) FROM people JOIN homes USING (home)"
                    ).fetchone()[0]
                    > 50
                )
        else:
            names = zipfile.ZipFile(io.BytesIO(content)).namelist()
            assert names == [f"homes.{form}", f"people.{form}", f"trips.{form}", "schema.sql"]
    assert (
        "PRIMARY KEY"
        in client.get(reverse("releases:database-schema", args=[release.code])).text
    )

    client.force_login(cast.auditor)
    receipt = client.get(reverse("releases:receipt", args=[release.code]))
    assert "Verified." in receipt.text
    assert receipt.context["evidence"][0].ours == databases_of_releases.verify(release).plan
    assert all(each.same for each in receipt.context["evidence"])

    client.force_login(cast.steward)
    report = reverse("runs:report", args=[release.code])
    assert client.get(report).status_code == 200
    client.post(report)
    worker.table_job(code=TableJob.objects.get(kind="report").code)
    compared = client.get(reverse("releases:compare", args=[release.code]))
    assert "numbers of children" in compared.text and "Real data" in compared.text

    _analysts_get_nothing_real(client, cast, release)


def _analysts_get_nothing_real(client: Client, cast: Cast, release: Release) -> None:
    """Every page and file of the release, by address: of one table it has none, and no key of the real tables
    is anywhere."""
    client.force_login(cast.analyst)
    opened = 0
    for route in addresses.routes():
        if "releases/<slug:code>/" not in route or route.count("<") > 1:
            continue
        address = "/" + route.replace("<slug:code>", release.code)
        answer = client.get(address)
        assert answer.status_code in (200, 302, 403, 404, 405), address
        content = (
            b"".join(answer.streaming_content)  # type: ignore[arg-type]
            if answer.streaming
            else answer.content
        )
        opened += answer.status_code == 200
        assert CANARY.encode() not in content, address
    assert opened >= 4


# --- what is wrong with keys, told before anything is spent -------------------------------------------------
def test_a_key_that_occurs_twice_is_refused_before_anything_is_spent(cast: Cast) -> None:
    rows = {**ROWS, "homes": [*ROWS["homes"], ROWS["homes"][0]]}
    root = described(cast, rows)
    funded(cast, root)
    job = checked(cast, root)
    assert job.state == "failed"
    assert "'homes' has a key more than once" in job.failure["text"]
    with pytest.raises(NotReady, match="keys of the tables were not checked"):
        runs.submit(
            DatabaseRequest(dataset=root, epsilon=ONE, delta=DELTA), steward=cast.steward
        )
    assert not SynthesisRun.objects.exists()


def test_orphans_and_rows_beyond_the_maximum_are_counted_for_stewards_alone(
    cast: Cast, client: Client
) -> None:
    crowd = [(f"c{n}", ROWS["homes"][0][0], 1) for n in range(7)]
    rows = {**ROWS, "people": [("c8", "nowhere", 1), *crowd]}
    root = described(cast, rows)
    assert checked(cast, root).state == "finished"
    client.force_login(cast.steward)
    faults = client.get(reverse("runs:tables", args=[root.code])).context["faults"]
    assert faults["people"] == {
        "rows": 8, "repeated": 0, "orphans": 1, "crowded": 1, "beyond": 5,
    }  # fmt: skip
    client.force_login(cast.custodian)
    assert client.get(reverse("runs:tables", args=[root.code])).status_code == 403


def test_keys_that_do_not_fit_are_told_by_name_and_what_is_typed_stays(
    cast: Cast, client: Client
) -> None:
    root = described(cast)
    people, trips = (Dataset.objects.get(name=name) for name in ("people", "trips"))
    typed = {
        f"{root.code}-name": "homes", f"{root.code}-key": "home",
        f"{people.code}-name": "people", f"{people.code}-key": "person",
        f"{people.code}-parent": "trips", f"{people.code}-reference": "home",
        f"{people.code}-most": "2", f"{people.code}-siblings": "none",
        f"{trips.code}-name": "trips", f"{trips.code}-key": "",
        f"{trips.code}-parent": "people", f"{trips.code}-reference": "person",
        f"{trips.code}-most": "2", f"{trips.code}-siblings": "none",
        "confirm": "1", "bounds": "",
    }  # fmt: skip
    client.force_login(cast.steward)
    address = reverse("runs:tables", args=[root.code])
    loop = client.post(address, typed)
    assert loop.status_code == 422 and "the keys run in a loop" in loop.text
    assert 'value="trips" selected' in loop.text
    alone = client.post(address, typed | {f"{people.code}-parent": ""})
    assert "without a parent has a reference" in alone.text
    wrong = client.post(
        address, typed | {f"{people.code}-parent": "homes", f"{people.code}-key": "age2"}
    )
    assert "no such column" in wrong.text and "age2" in wrong.text
    fits = client.post(address, typed | {f"{people.code}-parent": "homes"})
    assert fits.status_code == 302
    assert DatabaseVersion.objects.count() == 2


def test_a_further_table_has_no_budget_and_no_release_of_its_own(
    cast: Cast, client: Client
) -> None:
    described(cast)
    people = Dataset.objects.get(name="people")
    client.force_login(cast.steward)
    page = client.get(reverse("pages:dataset", args=[people.code])).text
    assert "Go to the tables" in page and "Ask for budget" not in page
    with pytest.raises(Refused, match="one budget for all of its tables"):
        scene.ask(steward=cast.steward, dataset=people)
    with pytest.raises(NotReady, match="a table of the database of homes"):
        scene.submit(steward=cast.steward, dataset=people)


def test_a_corrected_file_has_its_keys_checked_again(cast: Cast) -> None:
    root = described(cast)
    funded(cast, root)
    checked(cast, root)
    people = Dataset.objects.get(name="people")
    Dataset.objects.filter(pk=people.pk).update(vault_name="another")
    with pytest.raises(NotReady, match="keys of the tables were not checked"):
        runs.submit(
            DatabaseRequest(dataset=root, epsilon=ONE, delta=DELTA), steward=cast.steward
        )


def test_a_request_that_is_sent_again_gives_its_run_whatever_became_of_the_tables(
    cast: Cast,
) -> None:
    root = described(cast)
    funded(cast, root)
    checked(cast, root)
    run = asked_for(cast, root, key="once")
    # Confirmed again: their keys are not checked any longer, so that nothing new can be asked for.
    datasets.databases.bring_document(
        actor=cast.steward, root=root, document=databases.document(), because="Once more."
    )
    with pytest.raises(NotReady):
        asked_for(cast, root, key="new")
    assert asked_for(cast, root, key="once") == run
    with pytest.raises(KeyReused):
        asked_for(cast, root, key="once", epsilon=ONE)


def asked_for(
    cast: Cast, root: Dataset, *, key: str, epsilon: Fraction = Fraction(2)
) -> SynthesisRun:
    """A run about the database that its steward asks for."""
    return runs.submit(
        DatabaseRequest(dataset=root, epsilon=epsilon, delta=DELTA),
        steward=cast.steward,
        request_key=key,
    )


# ---- public look-up tables
# -----------------------------------------------------------------------------------------
AREAS = "code,label\n0,The north\n1,The south\n"


def with_areas(cast: Cast) -> Dataset:
    """A database whose homes have an area from a list of texts."""
    homes = {
        **databases.HOMES,
        "domain": {
            "attributes": [
                {
                    "name": "area",
                    "kind": "categorical",
                    "values": ["0", "1"],
                    "outside": "clamp",
                }
            ]
        },
    }
    document = databases.document(homes, databases.PEOPLE, databases.TRIPS)
    root = described(cast)
    datasets.databases.bring_document(
        actor=cast.steward, root=root, document=document, because="The codebook."
    )
    return root


def add_areas(client: Client, root: Dataset, **typed: str) -> Any:
    content = typed.pop("content", AREAS).encode()
    sent = {"name": "areas", "key": "code", "references": "homes.area"} | typed
    file = SimpleUploadedFile("areas.csv", content)
    return client.post(reverse("runs:add-lookup", args=[root.code]), {**sent, "file": file})


def test_a_look_up_table_is_released_beside_the_tables(cast: Cast, client: Client) -> None:
    root = with_areas(cast)
    funded(cast, root)
    client.force_login(cast.steward)
    tables = reverse("runs:tables", args=[root.code])
    assert add_areas(client, root).url == tables
    # A second list of the same name takes the place of the first.
    add_areas(client, root)
    assert "2 rows, for homes.area" in client.get(tables).text
    datasets.databases.confirm(actor=cast.steward, root=root)
    checked(cast, root)
    run = runs.submit(
        DatabaseRequest(dataset=root, epsilon=Fraction(2), delta=Fraction(0)),
        steward=cast.steward,
        name="Homes",
        request_key="once",
    )
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    release = run.release
    assert release is not None, run.failure
    page = client.get(reverse("releases:release", args=[release.code]), follow=True).text
    assert "nothing was measured of them" in page and "areas" in page
    address = reverse("releases:database-download", args=[release.code, "csv"])
    sent = b"".join(client.get(address).streaming_content)
    with zipfile.ZipFile(io.BytesIO(sent)) as archive:
        assert archive.read("lookup-1.csv").decode() == AREAS
        assert b'REFERENCES "areas"' in archive.read("schema.sql")


def test_a_look_up_table_that_does_not_fit_is_refused_where_it_is_typed(
    cast: Cast, client: Client
) -> None:
    root = with_areas(cast)
    client.force_login(cast.steward)
    refused = add_areas(client, root, content="code\n0\n0\n")
    assert refused.status_code == 422 and "occurs in two rows" in refused.text
    assert 'value="homes.area"' in refused.text  # what was typed stays
    assert "names no column of a table" in add_areas(client, root, references="area").text
    # Whether its keys are those of the column is known once all is confirmed.
    add_areas(client, root, content="code\n0\n")
    with pytest.raises(DomainError, match="1 of 2 declared values"):
        datasets.databases.confirm(actor=cast.steward, root=root)
    client.post(reverse("runs:remove-lookup", args=[root.code, 0]))
    assert datasets.databases.confirm(actor=cast.steward, root=root).number == 3


def test_a_document_brings_and_replaces_look_up_tables(cast: Cast) -> None:
    root = with_areas(cast)
    newest = DatabaseVersion.objects.filter(root=root).order_by("-number")[0]
    lookup = {
        "name": "areas",
        "key": "code",
        "references": ["homes.area"],
        "columns": ["code"],
        "rows": [["0"], ["1"]],
    }
    for lookups in ([lookup], []):
        version = datasets.databases.bring_document(
            actor=cast.steward,
            root=root,
            document={**newest.document, "lookups": lookups},
            because="The codebook.",
        )
        assert version.document.get("lookups", []) == lookups
