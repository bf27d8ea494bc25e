"""After the upload: the form of a file is shown and corrected, files are replaced, datasets are renamed and
deleted; budget, releases and records stay what they were."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import Http404
from django.test import Client
from django.urls import reverse

from synth_engine.errors import TableError
from synth_engine.formats import Dialect
from synthweb.accounts.permissions import Need
from synthweb.audit.models import AuditEntry
from synthweb.datasets import preview_store, sealed_names, selectors, services, vault
from synthweb.datasets.models import Dataset, Preview, RunTable, TableVersion
from synthweb.ledger import selectors as ledger
from synthweb.ledger.models import Coverage, LedgerEntry
from synthweb.lib.errors import Conflict
from synthweb.pages.selectors import overview_of
from synthweb.releases.models import Release
from synthweb.releases.selectors import looked_at_real
from synthweb.runs import errors, planning, worker
from synthweb.runs import services as runs
from synthweb.runs.models import SynthesisRun, TableJob
from tests.cast import Cast
from tests.engine.workbooks import workbook
from tests.web import scene
from tests.web.html import html_of
from tests.web.scene import Scene

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]
LATER = scene.TABLE + "north,33,yes\n"
OTHER_COLUMNS = scene.TABLE.replace("region,", "area,", 1)


@pytest.fixture
def played(cast: Cast) -> Scene:
    """A dataset with a release, a comparison and a budget, and nothing under way."""
    found = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    runs.cancel(actor=cast.steward, run=found.waiting)
    found.account.refresh_from_db()
    return found


@pytest.fixture
def dataset(played: Scene) -> Dataset:
    played.dataset.refresh_from_db()
    return played.dataset


def post(client: Client, page: str, dataset: Dataset, **form: Any) -> Any:
    return client.post(reverse(f"pages:{page}", args=[dataset.code]), form)


def table(content: str | bytes, name: str = "people.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def work(dataset: Dataset) -> Dataset:
    """The worker does what waits."""
    for job in TableJob.objects.filter(dataset=dataset, state="waiting"):
        worker.table_job(code=job.code)
    dataset.refresh_from_db()
    return dataset


def replaced(
    cast: Cast, dataset: Dataset, content: str | bytes = LATER, kind: Any = "csv"
) -> Dataset:
    """A corrected file, received and read."""
    with services.Intake(kind) as upload:
        upload.receive(content.encode() if isinstance(content, str) else content)
        changed = services.replace_file(actor=cast.steward, dataset=dataset, upload=upload)
    runs.request_ingest(dataset=changed, actor=cast.steward)
    return work(dataset)


def in_vault() -> set[str]:
    return {path.name for path in Path(django_settings.VAULT_DIR).iterdir() if path.is_file()}


def stored(dataset: Dataset) -> bytes:
    with vault.open_table(dataset.vault_name) as path:
        return path.read_bytes()


def seen(client: Client, page: str, dataset: Dataset) -> str:
    return client.get(reverse(f"pages:{page}", args=[dataset.code])).text


# --- Parquet ------------------------------------------------------------------------------------------------
def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def upload(client: Client, content: bytes, name: str) -> Dataset:
    answer = client.post(
        reverse("pages:upload"),
        {"name": name, "description": "", "table": table(content, name)},
    )
    assert answer.status_code == 302, answer.context["form"].errors
    return work(Dataset.objects.latest("pk"))


def test_a_parquet_file_goes_the_whole_way_to_a_release(browser: Browser, cast: Cast) -> None:
    lines = [line.split(",") for line in scene.TABLE.splitlines()[1:]]
    region, age, works = zip(*lines, strict=True)
    content = parquet(region=list(region), age=[int(text) for text in age], works=list(works))
    dataset = upload(browser(cast.steward), content, "people.parquet")
    assert (dataset.status, dataset.file_kind, dataset.dialect) == ("ready", "parquet", None)
    assert "says itself how it is written" in seen(browser(cast.steward), "settings", dataset)
    services.declare_domain(actor=cast.steward, dataset=dataset, document=scene.DOMAIN)
    scene.ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Yes.",
    )
    run = scene.submit(steward=cast.steward, dataset=dataset)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == "finished", run.failure


def test_nested_values_are_refused_with_column_rule_and_repair(
    browser: Browser, cast: Cast
) -> None:
    dataset = upload(
        browser(cast.steward), parquet(age=[1, 2], trips=[[1, 2], [3]]), "nested.parquet"
    )
    assert dataset.status == "refused"
    page = seen(browser(cast.steward), "upload-status", dataset)
    for words in ("trips", "Nested values", "Store one plain value a cell"):
        assert words in page
    assert LedgerEntry.objects.count() == 0


# --- the form of a CSV --------------------------------------------------------------------------------------
WESTERN = "name;Größe\nÄsop;1,5\nZoë;2,5\n".encode("cp1252")


def test_the_form_of_a_file_is_found_shown_and_kept(browser: Browser, cast: Cast) -> None:
    client = browser(cast.steward)
    dataset = upload(client, WESTERN, "western.csv")
    asked = Dialect(encoding="cp1252", delimiter=";", decimal=",", asked=("encoding",))
    assert (dataset.status, dataset.dialect) == ("refused", asked.to_json())
    page = seen(client, "upload-status", dataset)
    assert "which encoding its letters have" in page
    assert "Windows-1252 (Western European): " in page  # with words of the table
    assert "Äsop" in page
    assert "Äsop" not in seen(browser(cast.auditor), "upload-status", dataset)
    said = {
        "delimiter": "semicolon",
        "encoding": "cp1252",
        "quote": "double",
        "header": "yes",
        "decimal": "comma",
    }
    post(client, "form", dataset, **said)
    assert (
        work(dataset).dialect
        == Dialect(
            encoding="cp1252", delimiter=";", decimal=",", marks_confirmed=True
        ).to_json()
    )
    page = seen(client, "upload-status", dataset)
    assert (
        "Windows-1252 (Western European), semicolon between cells, double quotation marks"
        in page
    )
    shown = selectors.preview_for(cast.steward, dataset, Preview.Kind.TABLE)
    assert shown is not None
    assert (shown["columns"], shown["preview"][0]) == (["name", "Größe"], ["Äsop", "1,5"])
    assert "Windows-1252" not in seen(browser(cast.auditor), "upload-status", dataset)


def test_a_corrected_form_is_read_again_and_held_to_by_every_later_reading(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    dataset = upload(client, b"a|b;c\n1|'x;y'\n2|'z'\n", "odd.csv")
    wrong = {"delimiter": "vertical-bar", "encoding": "latin-1", "quote": "no", "header": "no"}
    answer = post(client, "form", dataset, **wrong)
    assert answer.url == reverse("pages:upload-status", args=[dataset.code])
    work(dataset)
    assert (
        dataset.dialect
        == Dialect(
            encoding="latin-1",
            delimiter="|",
            quote="",
            header=False,
            columns=2,
            marks_confirmed=True,
        ).to_json()
    )
    shown = selectors.preview_for(cast.steward, dataset, Preview.Kind.TABLE)
    assert shown is not None
    assert (shown["columns"], shown["rows"]) == (["column_1", "column_2"], 3)
    post(client, "read-again", dataset)
    assert work(dataset).dialect["header"] is False  # said once is said for good
    assert AuditEntry.objects.get(action="dataset.form_said").detail["delimiter"] == "|"


def test_lines_and_marks_are_said_like_the_rest_of_the_form(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    dataset = upload(
        client, b"Title, long\na;b\n1.000;x\n2.500;y\nSource; us; all\n", "odd.csv"
    )
    assert dataset.status == "refused"
    assert "Lines above that" in seen(client, "upload-status", dataset)
    said = {
        "delimiter": "semicolon",
        "encoding": "utf-8",
        "quote": "double",
        "header": "yes",
        "skip": 1,
        "footer": 1,
    }
    refused = post(client, "form", dataset, **said, decimal="point", thousands="point")
    assert refused.status_code == 422
    assert "Decimals and thousands have the same sign" in html_of(refused)
    assert post(client, "form", dataset, **said | {"footer": 1_000}).status_code == 422
    post(client, "form", dataset, **said, decimal="comma", thousands="point")
    expected = Dialect(
        delimiter=";", skip=1, footer=1, decimal=",", thousands=".", marks_confirmed=True
    )
    assert work(dataset).dialect == expected.to_json()
    shown = selectors.preview_for(cast.steward, dataset, Preview.Kind.TABLE)
    assert shown is not None
    # Read with a decimal point these would be numbers with decimals.
    assert (shown["preview"], shown["suggestions"][0]["of"]) == (
        [["1.000", "x"], ["2.500", "y"]],
        "integer",
    )
    assert "line 2 names the columns (left out: 1 above it and 1 at the end)" in seen(
        client, "settings", dataset
    )


def test_units_around_numbers_are_part_of_the_form(browser: Browser, cast: Cast) -> None:
    client = browser(cast.steward)
    dataset = upload(client, b"weight,town\n5 kg,Rome\n7 kg,Oslo\n0,Bonn\n", "units.csv")
    dataset = work(dataset)
    address = reverse("pages:form-answer", args=[dataset.code])
    page = html_of(client.get(reverse("datasets:describe", args=[dataset.code])))
    [answer] = re.findall(r'name="form" value="([^"]*)"', page)
    client.post(address, {"form": unescape(answer)})
    answered = work(dataset)
    assert (answered.status, answered.dialect["units"]) == ("ready", ["kg"])
    shown = selectors.preview_for(cast.steward, dataset, Preview.Kind.TABLE)
    assert shown is not None
    assert (shown["suggestions"][0]["of"], shown["questions"]) == ("integer", [])
    assert shown["preview"][0] == ["5 kg", "Rome"]  # the cells stay as they are
    assert "kg left out around numbers" in seen(client, "settings", dataset)
    said = {
        "delimiter": "comma",
        "encoding": "utf-8",
        "quote": "double",
        "header": "yes",
        "decimal": "point",
        "thousands": "no-sign",
    }
    refused = post(client, "form", dataset, **said, units="kg 5")
    assert refused.status_code == 422
    assert "A unit around numbers" in html_of(refused)
    post(client, "form", dataset, **said, units="kg $ kg")
    assert work(dataset).dialect["units"] == ["kg", "$"]
    post(client, "form", dataset, **said, units="")
    assert "units" not in work(dataset).dialect


def test_a_sheet_of_a_workbook_is_named_where_a_form_is_said(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    book = workbook(
        {"Notes": [["by us"]], "People": [["region", "age"], ["north", 30], ["south", 40]]}
    )
    dataset = upload(client, book, "people.xlsx")
    assert (dataset.status, dataset.file_kind) == ("refused", "xlsx")
    page = seen(client, "upload-status", dataset)
    assert "More than one sheet has cells" in page
    assert "Between cells" not in page
    post(client, "form", dataset, sheet="People", header="yes")
    form = sealed_names.form_of(work(dataset))
    assert form is not None and (dataset.status, form.sheet) == ("ready", "People")
    shown = selectors.preview_for(cast.steward, dataset, Preview.Kind.TABLE)
    assert shown is not None
    assert shown["preview"] == [["north", "30"], ["south", "40"]]
    assert "the sheet “People”, the first line names the columns" in seen(
        client, "settings", dataset
    )


def test_a_file_of_spss_says_itself_how_it_is_written(
    browser: Browser, cast: Cast, tmp_path: Path
) -> None:
    path = tmp_path / "people.sav"
    table = pd.DataFrame({"sex": [1.0, 2.0, 9.0], "age": [30.0, 40.0, 50.0]})
    labels = {"sex": {1: "male", 2: "female", 9: "refused"}}
    pyreadstat.write_sav(table, path, variable_value_labels=labels, missing_ranges={"sex": [9]})
    client = browser(cast.steward)
    dataset = upload(client, path.read_bytes(), "people.sav")
    assert (dataset.status, dataset.file_kind, dataset.dialect) == ("ready", "sav", None)
    shown = selectors.preview_for(cast.steward, dataset, Preview.Kind.TABLE)
    assert shown is not None
    assert shown["suggestions"][0]["missing"] == ["9"]
    assert "says itself how it is written" in seen(client, "settings", dataset)


def test_cells_that_show_an_error_are_refused_by_place_and_counted_as_missing_once_that_is_said(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    dataset = upload(
        client,
        workbook({"People": [["name", "age"], ["Ann", 1], ["Bob", ("#N/A", 't="e"')]]}),
        "p.xlsx",
    )
    assert (dataset.status, dataset.refusal_line) == ("refused", 3)
    page = seen(client, "upload-status", dataset)
    assert "in column B of sheet 1" in page
    assert "Cells that show an error, like #N/A" in page
    post(client, "form", dataset, header="yes", error_cells="missing")
    assert (work(dataset).status, dataset.dialect["error_cells"]) == ("ready", "missing")
    assert "cells that show an error count as missing" in seen(client, "settings", dataset)


def test_notes_of_a_workbook_are_refused_by_row_and_left_out_once_that_is_said(
    browser: Browser, cast: Cast
) -> None:
    client = browser(cast.steward)
    rows = [["name", "age"], ["Ann", 1], ["Bob", 2], ["Total", 3]]
    dataset = upload(client, workbook({"People": rows}), "p.xlsx")
    assert (dataset.status, dataset.refusal_line) == ("refused", 4)
    assert "Empty rows, notes and totals" in seen(client, "upload-status", dataset)
    post(client, "form", dataset, header="yes", extra_rows="drop")
    assert (work(dataset).status, dataset.dialect["extra_rows"]) == ("ready", "drop")


def test_a_run_reads_the_table_in_the_form_that_was_said(cast: Cast, browser: Browser) -> None:
    text = scene.TABLE.replace(",", ";").replace("north", "nörd")
    client = browser(cast.steward)
    dataset = upload(client, text.encode("cp1252"), "table.csv")
    post(
        client,
        "form",
        dataset,
        delimiter="semicolon",
        encoding="cp1252",
        quote="double",
        header="yes",
    )
    dataset = work(dataset)
    document = {
        **scene.DOMAIN,
        "attributes": [
            {**scene.DOMAIN["attributes"][0], "values": ["nörd", "south"]},
            *scene.DOMAIN["attributes"][1:],
        ],
    }
    services.declare_domain(actor=cast.steward, dataset=dataset, document=document)
    request = scene.ask(steward=cast.steward, dataset=dataset, epsilon=1000)
    scene.ledger.grant(custodian=cast.custodian, request=request, reason="Yes.")
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon="999")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    counts = {
        label: round(count) for label, count in zip(*_first_column(run.release), strict=True)
    }
    assert counts == {"nörd": 200, "south": 100, "(other)": 0}


def _first_column(release: Release) -> tuple[list[str], list[float]]:
    from synth_engine.mechanisms import Model

    model = Model.from_json(release.model)
    codes = model.sample(300, seed="1")["region"]
    attribute = model.domain.attributes[0]
    return list(attribute.labels), [
        float((codes == code).sum()) for code in range(attribute.size)
    ]


def test_a_refused_table_can_be_read_in_another_form(browser: Browser, cast: Cast) -> None:
    client = browser(cast.steward)
    dataset = upload(client, b'a,b\n1\' 5",2\n3,4\n5,"6\n', "inches.csv")
    assert dataset.status == "refused"
    assert "Read the file this way" in seen(client, "upload-status", dataset)
    post(client, "form", dataset, delimiter="comma", encoding="utf-8", quote="no", header="yes")
    assert work(dataset).status == "ready"


def test_a_form_that_is_none_keeps_what_was_chosen(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    answer = post(
        browser(cast.steward),
        "form",
        dataset,
        delimiter="semicolon",
        encoding="utf-7",
        quote="no",
        header="no",
    )
    assert answer.status_code == 422
    assert '<option value="semicolon" selected>' in answer.text
    dataset.refresh_from_db()
    assert dataset.status == "ready"


def test_the_form_of_a_file_does_not_change_under_a_run(
    cast: Cast, browser: Browser, dataset: Dataset
) -> None:
    scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.1")
    said = {"delimiter": "semicolon", "encoding": "utf-8", "quote": "double", "header": "yes"}
    answer = post(browser(cast.steward), "form", dataset, **said)
    assert answer.status_code == 409
    assert "a run of this dataset is not over" in answer.text.lower()
    dataset.refresh_from_db()
    assert (dataset.status, dataset.dialect["delimiter"]) == ("ready", ",")


# --- who sees the line of a refusal -------------------------------------------------------------------------
def test_only_the_steward_learns_the_line_of_a_refusal(browser: Browser, cast: Cast) -> None:
    dataset = upload(browser(cast.steward), b"a,b\n" + b"1,2\n" * 4710 + b"3\n", "ragged.csv")
    assert (dataset.status, dataset.refusal_line) == ("refused", 4712)
    for page in ("upload-status", "dataset"):
        assert "4\u202f712" in seen(browser(cast.steward), page, dataset)
        for who in ("custodian", "auditor"):
            text = seen(browser(cast.by_name()[who]), page, dataset)
            assert "cells than the" in text
            assert not re.search(r"\b4?712\b", text)  # the token of a form may hold the digits
    assert "4712" not in str(list(AuditEntry.objects.values_list("detail", flat=True)))
    assert "4712" not in str(dataset.refusal)


# --- versions -----------------------------------------------------------------------------------------------
def test_a_corrected_file_is_a_version_under_the_same_budget(
    cast: Cast, dataset: Dataset, played: Scene, django_capture_on_commit_callbacks: Any
) -> None:
    before, spent = dataset.vault_name, ledger.balance(played.account).charged
    with django_capture_on_commit_callbacks(execute=True):
        replaced(cast, dataset)
    assert (dataset.status, dataset.table_number) == ("ready", 2)
    assert stored(dataset) == LATER.encode()
    assert before in in_vault()  # for the release that was made of it
    first, second = TableVersion.objects.filter(dataset=dataset).order_by("number")
    assert (first.vault_name, first.erased_at) == (before, None)
    assert second.read_at is not None
    assert Coverage.objects.filter(dataset=dataset).count() == 1
    played.account.refresh_from_db()
    assert ledger.balance(played.account).charged == spent
    assert AuditEntry.objects.get(action="dataset.replaced").detail["version"] == 2


def test_the_description_carries_over_and_releases_name_their_version(
    cast: Cast, dataset: Dataset, browser: Browser
) -> None:
    replaced(cast, dataset)
    assert selectors.missing_columns(dataset) == []
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.1")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == "finished", run.failure
    earlier = (
        SynthesisRun.objects.filter(dataset=dataset, state="finished").order_by("pk").first()
    )
    assert earlier is not None
    numbers = [selectors.table_of_run(one.code).number for one in (earlier, run)]  # type: ignore[union-attr]
    assert numbers == [1, 2]
    for one, words in (
        (earlier, "version 1 of the table (now 2)"),
        (run, "version 2 of the table<"),
    ):
        assert one.release is not None
        assert (
            words
            in browser(cast.auditor)
            .get(reverse("releases:about", args=[one.release.code]))
            .text
        )


def test_a_file_without_the_columns_described_says_so_and_nothing_runs(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    replaced(cast, dataset, OTHER_COLUMNS)
    assert selectors.missing_columns(dataset) == ["region"]
    overview = overview_of(cast.steward, dataset)
    assert (overview.next.name, "no column region" in overview.next.missing) == (
        "Describe",
        True,
    )
    assert "no longer fits this table" in seen(browser(cast.steward), "settings", dataset)
    held = LedgerEntry.objects.count()
    with pytest.raises(Exception, match="no such column"):
        scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.1")
    assert LedgerEntry.objects.count() == held


def test_the_very_same_file_is_noticed(browser: Browser, cast: Cast, dataset: Dataset) -> None:
    answer = post(browser(cast.steward), "replace", dataset, table=table(scene.TABLE))
    assert answer.status_code == 422
    assert "the very table that is there already" in answer.text
    assert TableVersion.objects.filter(dataset=dataset).count() == 1
    assert len(in_vault()) == 2  # of the two datasets of the scene


def test_a_file_does_not_come_under_a_second_budget_by_replacing_another(
    browser: Browser, cast: Cast, played: Scene, dataset: Dataset
) -> None:
    """A new dataset with the same content would have had to ask a custodian, who is told."""
    fresh = played.fresh
    assert (
        replaced(cast, fresh, scene.TABLE).status == "ready"
    )  # no budget of its own yet: whoever grants one is told
    assert ledger.accounts_with_same_content(fresh) == [played.account]
    replaced(cast, fresh, LATER + "south,40,no\n")
    replaced(cast, fresh, LATER)
    scene.ledger.grant(
        custodian=cast.custodian,
        request=played.request,
        reason="Yes.",
        opening=scene.ledger.Opening(separate_reason="Tried with the wrong file."),
    )
    fresh = Dataset.objects.get(pk=fresh.pk)
    kept = in_vault()
    answer = post(browser(cast.steward), "replace", fresh, table=table(scene.TABLE))
    assert answer.status_code == 422
    assert "spends from another budget already" in answer.text
    assert in_vault() == kept
    services.delete(
        actor=cast.steward, dataset=dataset
    )  # what was learned from it stays learned
    with pytest.raises(Conflict, match="another budget"):
        replaced(cast, fresh, scene.TABLE)
    fresh.refresh_from_db()
    assert (fresh.status, vault.path_of(fresh.vault_name).exists()) == ("ready", True)
    assert replaced(cast, fresh, LATER + "south,50,no\n").status == "ready"


@pytest.mark.parametrize("corrected", ["its own", "the other"])
def test_a_look_at_the_same_table_counts_when_a_file_was_replaced_since(
    cast: Cast, played: Scene, dataset: Dataset, corrected: str
) -> None:
    twin = scene.read(
        scene.upload(
            steward=cast.steward, organisation=cast.organisation, name="The same again"
        )
    )
    assert not looked_at_real(played.account)
    preview_store.put(twin, Preview.Kind.REPORT, "abc", {})
    selectors.preview_for(cast.steward, twin, Preview.Kind.REPORT, "abc")
    replaced(cast, dataset if corrected == "its own" else twin)
    assert looked_at_real(played.account)


def test_a_table_that_was_replaced_or_deleted_is_still_recognised(
    cast: Cast, dataset: Dataset
) -> None:
    replaced(cast, dataset)
    again = scene.upload(
        steward=cast.steward, organisation=cast.organisation, table=scene.TABLE, name="Again"
    )
    assert list(selectors.same_content(again)) == [dataset]
    services.delete(actor=cast.steward, dataset=dataset)
    assert list(selectors.same_content(again)) == [dataset]
    assert ledger.accounts_with_same_content(again) == [ledger.account_of(dataset)]


@pytest.mark.parametrize("change", ["replace", "form", "delete"])
def test_nothing_changes_under_a_run_that_is_not_over(
    browser: Browser, cast: Cast, dataset: Dataset, change: str
) -> None:
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.1")
    before = (dataset.vault_name, in_vault())
    forms: dict[str, dict[str, Any]] = {
        "replace": {"table": table(LATER)},
        "form": {"delimiter": "comma", "encoding": "utf-8", "quote": "double", "header": "yes"},
        "delete": {"name": dataset.name},
    }
    answer = post(browser(cast.steward), change, dataset, **forms[change])
    assert answer.status_code in (409, 422)
    assert "wait for it or cancel it first" in answer.text
    dataset.refresh_from_db()
    assert (dataset.vault_name, in_vault(), dataset.status) == (*before, "ready")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == "finished"


def test_no_run_is_submitted_while_a_new_file_is_being_read(
    cast: Cast, dataset: Dataset
) -> None:
    spec = scene.Spec.from_json({"mechanism": "independent", "epsilon": "0.1", "delta": "1e-9"})
    request = planning.ReleaseRequest(dataset=dataset, spec=spec)
    proposal = request.propose()
    with services.Intake("csv") as upload:
        upload.receive(LATER.encode())
        services.replace_file(actor=cast.steward, dataset=dataset, upload=upload)
    with pytest.raises(errors.NotReady, match="not read yet"):
        scene.submit(
            steward=cast.steward, dataset=Dataset.objects.get(pk=dataset.pk), epsilon="0.1"
        )
    with (
        pytest.raises(Conflict, match="being replaced"),
        transaction.atomic(),
    ):  # one that was planned just before
        runs._submit(proposal, steward=cast.steward, name="", request_key="")
    assert not SynthesisRun.objects.filter(state="held").exists()
    assert (
        RunTable.objects.filter(table__dataset=dataset).count() == 2
    )  # of the scene's two runs


def test_a_file_is_not_replaced_while_a_worker_has_it_open(
    cast: Cast, browser: Browser, dataset: Dataset
) -> None:
    runs.request_ingest(dataset=dataset, actor=cast.steward)
    answer = post(browser(cast.steward), "replace", dataset, table=table(LATER))
    assert "worker has this table open" in answer.text
    assert len(in_vault()) == 2


def test_comparisons_with_the_replaced_file_are_kept_with_it(
    cast: Cast, dataset: Dataset, played: Scene, django_capture_on_commit_callbacks: Any
) -> None:
    kept = {"kind": Preview.Kind.REPORT, "subject": played.release.code}
    assert selectors.preview_exists(dataset, **kept)
    with django_capture_on_commit_callbacks(execute=True):
        replaced(cast, dataset)
    assert selectors.preview_exists(dataset, **kept)
    assert Release.objects.filter(dataset=dataset).count() == 1


def test_from_a_file_that_cannot_be_read_one_can_go_back(
    browser: Browser, cast: Cast, dataset: Dataset, django_capture_on_commit_callbacks: Any
) -> None:
    client, before = browser(cast.steward), dataset.vault_name
    with django_capture_on_commit_callbacks(execute=True):
        assert replaced(cast, dataset, "region,age\nnorth,1\nsouth\n").status == "refused"
    assert before in in_vault()
    bad = dataset.vault_name
    assert "Go back to version 1" in seen(client, "upload-status", dataset)
    with django_capture_on_commit_callbacks(execute=True):
        post(client, "go-back", dataset)
    dataset.refresh_from_db()
    assert (dataset.status, dataset.table_number, dataset.vault_name) == ("ready", 1, before)
    assert dataset.dialect == Dialect(delimiter=",").to_json()
    assert bad not in in_vault()
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.1")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == "finished"
    assert replaced(cast, dataset).table_number == 3  # a number is never given twice


def test_there_is_no_way_back_from_a_file_in_force(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    post(browser(cast.steward), "go-back", dataset)
    dataset.refresh_from_db()
    assert (dataset.status, dataset.table_number) == ("ready", 1)


def test_a_refused_upload_is_mended_in_its_place(browser: Browser, cast: Cast) -> None:
    client = browser(cast.steward)
    dataset = upload(client, b"a,b\n1\n", "first.csv")
    assert reverse("pages:replace", args=[dataset.code]) in seen(
        client, "upload-status", dataset
    )
    post(client, "replace", dataset, table=table("a,b\n1,2\n"))
    assert (work(dataset).status, dataset.table_number) == ("ready", 2)


def test_a_late_worker_cannot_speak_for_a_file_that_was_replaced(
    cast: Cast, dataset: Dataset
) -> None:
    late = Dataset.objects.get(pk=dataset.pk)
    replaced(cast, dataset, "region,age\nnorth,1\nsouth\n")
    services.mark_ready(dataset=late)
    services.mark_refused(dataset=late, refusal={"rule": "late"})
    dataset.refresh_from_db()
    assert (dataset.status, dataset.refusal["rule"]) == (
        "refused",
        "a line with more or fewer cells than the 2 of the header",
    )


# --- rename -------------------------------------------------------------------------------------------------
def test_a_dataset_is_renamed(browser: Browser, cast: Cast, dataset: Dataset) -> None:
    post(
        browser(cast.steward),
        "settings",
        dataset,
        name=" Commutes 2019 ",
        description="Of workers.",
    )
    dataset.refresh_from_db()
    assert (dataset.name, dataset.description) == ("Commutes 2019", "Of workers.")
    assert AuditEntry.objects.get(action="dataset.renamed").detail == {"name": "Commutes 2019"}


def test_a_bad_name_keeps_what_was_typed(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    answer = post(
        browser(cast.steward), "settings", dataset, name="", description="Typed with care"
    )
    assert answer.status_code == 422
    assert "Typed with care" in answer.text
    dataset.refresh_from_db()
    assert dataset.name == "Commutes"


# --- delete -------------------------------------------------------------------------------------------------
def test_deleting_erases_the_table_and_all_that_is_real(
    browser: Browser, cast: Cast, dataset: Dataset, django_capture_on_commit_callbacks: Any
) -> None:
    previews = {one.store_name for one in Preview.objects.filter(dataset=dataset)}
    assert len(previews) == 3
    with django_capture_on_commit_callbacks(execute=True):
        answer = post(browser(cast.steward), "delete", dataset, name=dataset.name)
    assert answer.url == reverse("datasets:index")
    dataset.refresh_from_db()
    assert (dataset.status, dataset.deleted_by, dataset.draft) == ("deleted", cast.steward, {})
    assert dataset.vault_name not in in_vault()
    assert not previews & {path.name for path in Path(django_settings.PREVIEW_DIR).iterdir()}
    assert not Preview.objects.filter(dataset=dataset).exists()
    assert AuditEntry.objects.get(action="dataset.deleted").object_code == dataset.code


def test_ledger_receipts_releases_and_descriptions_stay(
    browser: Browser, cast: Cast, dataset: Dataset, played: Scene
) -> None:
    entries, spent = LedgerEntry.objects.count(), ledger.balance(played.account)
    services.delete(actor=cast.steward, dataset=dataset)
    played.account.refresh_from_db()
    assert (LedgerEntry.objects.count(), ledger.balance(played.account).charged) == (
        entries,
        spent.charged,
    )
    assert dataset.domain_versions.count() == 1
    for who in (cast.steward, cast.auditor, played.reader):
        assert (
            browser(who)
            .get(reverse("releases:release", args=[played.release.code]))
            .status_code
            == 200
        )
    sample = reverse("releases:sample-csv", args=[played.release.code, played.sample.code])
    assert browser(played.reader).get(sample).status_code == 200
    assert played.account in ledger.accounts_for(cast.steward)


@pytest.mark.parametrize("typed", ["", "commutes", "Commutes 2"])
def test_the_name_has_to_be_typed(
    browser: Browser, cast: Cast, dataset: Dataset, typed: str
) -> None:
    answer = post(browser(cast.steward), "delete", dataset, name=typed)
    assert answer.status_code == 422
    assert "What stays" in answer.text
    dataset.refresh_from_db()
    assert dataset.status == "ready"


def test_with_a_deleted_dataset_nothing_can_be_done(
    browser: Browser, cast: Cast, dataset: Dataset, played: Scene
) -> None:
    stale = Dataset.objects.get(pk=dataset.pk)
    services.delete(actor=cast.steward, dataset=dataset)
    client = browser(cast.steward)
    for page in (
        "pages:settings",
        "pages:replace",
        "pages:delete",
        "datasets:describe",
        "runs:new",
        "ledger:ask",
    ):
        assert client.get(reverse(page, args=[dataset.code])).status_code == 404, page
    dataset.refresh_from_db()
    with pytest.raises(errors.NotReady, match="deleted"):
        scene.submit(steward=cast.steward, dataset=dataset, epsilon="0.1")
    with pytest.raises(errors.NotReady, match="deleted"):
        runs.request_report(
            release=Release.objects.get(pk=played.release.pk), actor=cast.steward
        )
    with pytest.raises(Http404):
        selectors.dataset_for(cast.steward, dataset.code, Need.SPEND)
    for change in (services.delete, services.go_back):
        with pytest.raises(Conflict, match="deleted"):
            change(actor=cast.steward, dataset=stale)
    with pytest.raises(Conflict, match="deleted"):
        scene.submit(steward=cast.steward, dataset=stale, epsilon="0.1")  # planned just before


def test_lists_leave_deleted_datasets_out_unless_they_are_asked_for(
    browser: Browser, cast: Cast, dataset: Dataset
) -> None:
    services.delete(actor=cast.steward, dataset=dataset)
    client = browser(cast.steward)
    assert dataset.code not in client.get(reverse("datasets:index")).text
    assert dataset.code in client.get(reverse("datasets:index"), {"status": "deleted"}).text
    assert dataset.code not in client.get(reverse("pages:home")).text
    for who in ("steward", "auditor"):
        page = seen(browser(cast.by_name()[who]), "dataset", dataset)
        assert "This dataset was deleted" in page
        assert "Make a release" not in page


def test_deleting_while_a_worker_reads_leaves_nothing_of_what_it_read(
    cast: Cast, dataset: Dataset, django_capture_on_commit_callbacks: Any
) -> None:
    job = runs.request_ingest(dataset=dataset, actor=cast.steward)
    reading = Dataset.objects.get(pk=dataset.pk)
    with django_capture_on_commit_callbacks(execute=True):
        services.delete(actor=cast.steward, dataset=dataset)
        with pytest.raises(preview_store.PreviewError, match="deleted"):
            preview_store.put(reading, Preview.Kind.TABLE, "", {"preview": "real"})
        for _ in range(4):
            worker.table_job(code=job.code)
    job.refresh_from_db()
    dataset.refresh_from_db()
    assert (job.state, dataset.status) == ("failed", "deleted")
    assert not Preview.objects.filter(dataset=dataset).exists()
    assert dataset.vault_name not in in_vault()


# --- whoever dies between the database and the vault --------------------------------------------------------
@pytest.mark.parametrize("change", ["delete", "replace"])
def test_what_a_crash_after_the_commit_left_is_swept(
    cast: Cast, dataset: Dataset, change: str
) -> None:
    """Here nothing that waits for the commit is ever run, as if the process had been killed at that
    moment."""
    if change == "replace":
        # The first file is kept, for its release; of this one there is none.
        replaced(cast, dataset)
    before, previews = dataset.vault_name, set(Path(django_settings.PREVIEW_DIR).iterdir())
    services.delete(actor=cast.steward, dataset=dataset) if change == "delete" else replaced(
        cast, dataset, LATER + "south,40,no\n"
    )
    assert before in in_vault()
    services.sweep()
    assert before not in in_vault()
    assert (dataset.vault_name in in_vault()) == (change == "replace")
    assert previews


@pytest.mark.django_db(transaction=True)
def test_a_change_that_is_not_committed_erases_nothing(cast: Cast, dataset: Dataset) -> None:
    class Killed(BaseException):
        pass

    files = in_vault()
    with pytest.raises(Killed), transaction.atomic():
        services.delete(actor=cast.steward, dataset=dataset)
        raise Killed
    services.sweep()
    dataset.refresh_from_db()
    assert (dataset.status, in_vault()) == ("ready", files)
    assert selectors.preview_exists(dataset)
    with pytest.raises(Killed), transaction.atomic():
        replaced(cast, dataset)
        raise Killed
    services.sweep()
    dataset.refresh_from_db()
    assert stored(dataset) == scene.TABLE.encode()


@pytest.mark.django_db(transaction=True)
def test_a_file_that_cannot_be_erased_now_is_erased_later(
    cast: Cast, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_name: str) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(vault, "erase", killed)
        with pytest.raises(SystemExit):
            services.delete(actor=cast.steward, dataset=dataset)
    dataset.refresh_from_db()
    assert dataset.status == "deleted"
    assert dataset.vault_name in in_vault()
    services.sweep()
    assert dataset.vault_name not in in_vault()


def test_a_replacement_that_fails_leaves_no_file(cast: Cast, dataset: Dataset) -> None:
    files = in_vault()
    for content in (scene.TABLE, ""):
        with pytest.raises(TableError), services.Intake("csv") as upload:
            upload.receive(content.encode())
            services.replace_file(actor=cast.steward, dataset=dataset, upload=upload)
    assert in_vault() == files
