"""A public table beside the answers of a run: imported, chosen, refused, used by the worker, and stated by
the release."""

from __future__ import annotations

import gzip
import hashlib
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from synth_engine import verifier
from synth_engine.errors import SpecError
from synth_engine.spec import Spec
from synthweb.accounts.models import User
from synthweb.accounts.selectors import organisation_of
from synthweb.datasets.models import Dataset
from synthweb.ledger import selectors as ledger
from synthweb.ledger.models import BudgetAccount, LedgerEntry
from synthweb.references import records
from synthweb.references import services as references
from synthweb.references.models import ReferenceTable, ReferenceVersion
from synthweb.releases.models import Release
from synthweb.runs import artefacts, planning, public_tables, ranges, services, worker
from synthweb.runs.models import ReleaseRun, SynthesisRun
from synthweb.runs.planning import ReleaseRequest
from synthweb.runs.public_tables import TableChoice
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of
from tests.web.rest import Caller, assert_problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("places")]

Open = Callable[..., Client]
State = SynthesisRun.State
SPEC = {"mechanism": "auto", "epsilon": "1", "delta": "1e-9"}


def survey(lines: int = 400, *, header: str = "region,AGEP,works", seed: int = 1) -> bytes:
    """A made survey with the columns of `scene.TABLE`; age has another name."""
    rng = random.Random(seed)
    rows = (
        f"{rng.choice(['north', 'south'])},{rng.randrange(90)},{rng.choice(['yes', 'no'])}"
        for _ in range(lines)
    )
    return "\n".join([header, *rows, ""]).encode()


def imported(steward: User, content: bytes = b"", *, name: str = "Survey") -> ReferenceVersion:
    file = references.Brought(data=content or survey(), word="public", has_records=True)
    table = references.add(
        actor=steward, name=name, published="the bureau's page of downloads", file=file
    )
    return table.versions.get()


def chosen(
    steward: User, version: ReferenceVersion, **columns: str
) -> public_tables.StatedTable | None:
    choice = TableChoice(reference=version.reference.code, columns=columns)
    return public_tables.resolve(steward, choice)


def submitted(
    cast: Cast, dataset: Dataset, table: public_tables.StatedTable | None, **spec: Any
) -> SynthesisRun:
    return services.submit(
        ReleaseRequest(
            dataset=dataset,
            spec=Spec.from_json(SPEC | spec),
            facts=planning.PublicFacts(table=table),
        ),
        steward=cast.steward,
        name="Beside a survey",
    )


def finished(run: SynthesisRun) -> Release:
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    return run.release


def spent() -> bool:
    return LedgerEntry.objects.filter(kind=LedgerEntry.Kind.CHARGE).exists()


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


@pytest.fixture
def client(browser: Open, cast: Cast) -> Client:
    return browser(cast.steward)


def typed(**changes: str) -> dict[str, str]:
    return SPEC | {"rows": "", "name": "Mine", "parameters_of": "auto"} | changes


# --- importing ----------------------------------------------------------------------------------------------
def bring(client: Client, content: bytes, *, address: str = "", **said: str) -> Any:
    named = {} if address else {"name": "Survey", "published": "the bureau's page"}
    file = SimpleUploadedFile("survey.csv", content)
    return client.post(
        address or reverse("references:new"),
        {**named, "word": "public", "kind": "records", **said, "file": file},
        follow=True,
    )


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_of_records_is_imported_shown_and_listed(
    client: Client, cast: Cast, *, packed: bool
) -> None:
    content = survey(30)
    page = bring(client, gzip.compress(content) if packed else content).text
    version = ReferenceVersion.objects.get()
    assert (version.kind, version.code_count, version.number) == ("records", 30, 1)
    assert records.file_of(version) == content
    assert "30 records, the first" not in page
    assert "The first 12 of 30 records" in page
    assert "region, AGEP, works" in page
    assert "under “A public table beside the answers”" in page
    listed = html_of(client.get(reverse("references:index")))
    assert re.search(r'<td data-label="Kind">\s*Records\s*</td>', listed)


@pytest.mark.parametrize(
    ("content", "said", "words"),
    [
        (b"a,b\n", {}, "no line below its header"),
        (b"a,b\n1\n", {}, "another number of cells"),
        (b"a,a\n1,2\n", {}, "wo columns have one name"),
        (b"a,b\n1,2\n", {"code": "a", "weight": "b"}, "Columns of records have no roles"),
        (b"a,b\n1,2\n", {"word": "mine"}, "Type the word|Type “public”"),
        (b"a,b\n1,2\n", {"kind": "cells"}, "Select a valid choice"),
        (",".join(f"c{n}" for n in range(1_001)).encode() + b"\n", {}, "1,001 columns, and at most 1,000"),
    ],
)  # fmt: skip
def test_a_file_of_records_that_cannot_be_used_is_refused_with_the_number(
    client: Client, content: bytes, said: dict[str, str], words: str
) -> None:
    answer = bring(client, content, **said)
    assert answer.status_code == 422
    assert re.search(words, answer.text), answer.text
    assert not ReferenceTable.objects.exists()


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
def test_too_many_cells_are_refused_before_they_are_read(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, ending: str
) -> None:
    monkeypatch.setattr(records, "MOST_CELLS", 8)
    lines = ["a,b", *["1,2"] * 4]
    references.add(
        actor=cast.steward,
        name="Just enough",
        published="here",
        file=references.Brought(
            data=ending.join([*lines, ""]).encode(), word="public", has_records=True
        ),
    )
    with pytest.raises(Exception, match="up to 10 cells, and at most 8 are read"):
        references.add(
            actor=cast.steward,
            name="Too many",
            published="here",
            file=references.Brought(
                data=ending.join([*lines, "1,2", ""]).encode(), word="public", has_records=True
            ),
        )


def test_versions_have_all_codes_or_all_records(client: Client, cast: Cast) -> None:
    version = imported(cast.steward)
    again = reverse("references:add-version", args=[version.reference.code])
    codes = b"code,lat,lon\nnorth,54,10\n"
    answer = bring(client, codes, address=again, kind="")
    assert answer.status_code == 422
    assert "all codes or all records" in answer.text
    assert bring(client, survey(), address=again).status_code == 422  # the same file
    assert bring(client, survey(20), address=again).status_code == 200
    assert version.reference.versions.count() == 2


def test_the_table_of_a_dataset_is_no_table_of_records(
    client: Client, dataset: Dataset
) -> None:
    answer = bring(client, scene.TABLE.encode())
    assert answer.status_code == 422
    assert "is the table of a dataset of your organisation" in answer.text


def test_a_table_of_records_gives_no_codes_to_a_description(
    client: Client, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    address = reverse("references:use", args=[dataset.code])
    assert version.reference.code not in client.get(address).text
    answer = client.post(address, {"column": "region", "reference": version.reference.code})
    assert answer.status_code == 422
    assert "has records, and no codes" in answer.text
    caller = Caller(cast.steward, "read", "spend")
    body = {"reference": version.reference.code, "column": "region"}
    problem = caller.send(f"/datasets/{dataset.code}/domain/draft/reference/", body)
    assert "has records, and no codes" in assert_problem(problem, status=422)["detail"]


# --- the form -----------------------------------------------------------------------------------------------
def new_page(client: Client, dataset: Dataset, query: str = "") -> str:
    return html_of(client.get(reverse("runs:new", args=[dataset.code]) + query))


def test_the_form_offers_tables_of_records_and_releases_folded_until_one_is_chosen(
    client: Client, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    page = new_page(client, dataset)
    value = f"reference:{version.reference.code}:1"
    assert f'<option value="{value}">Survey, version 1</option>' in page
    assert re.search(r'<details class="fold" id="public-table"\s*>', page)
    address = reverse("runs:estimate", args=[dataset.code])
    shown = html_of(client.post(address, typed(prior=value, prior_columns="age = AGEP")))
    assert "Survey, version 1 has 400 records and shares 3 of 3 columns" in shown
    shown = html_of(client.post(address, typed(prior=value)))
    assert "shares 2 of 3 columns" in shown
    assert "Not in the table: age." in shown
    assert not SynthesisRun.objects.exists()


def test_other_methods_show_no_public_table_and_refuse_one(
    client: Client, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    address = reverse("runs:estimate", args=[dataset.code])
    other = typed(mechanism="independent", parameters_of="auto")
    assert 'id="public-table"' not in html_of(client.post(address, other))
    value = f"reference:{version.reference.code}:1"
    page = html_of(client.post(address, other | {"prior": value}))
    assert 'id="public-table" open' in page
    assert "independent reads no public table; leave it out, or use auto" in page


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"prior": "reference:nosuch:1"}, "prior", "no such public table in your organisation"),
        ({"prior": "reference:CODE:7"}, "prior", "no such public table in your organisation"),
        ({"prior": "reference:CODE:1234567"}, "prior", "no such public table"),
        ({"prior": "release:nosuch"}, "prior", "no such public table in your organisation"),
        ({"prior": "file:/etc/passwd"}, "prior", "no such public table"),
        ({"prior": "GAZETTEER"}, "prior", "a reference table of codes, not of records"),
        ({"prior_columns": "age = AGEP"}, "prior", "choose a public table, or clear them"),
        ({"prior": "reference:CODE:1", "prior_columns": "age AGEP"}, "prior_columns", "not two names"),
        ({"prior": "reference:CODE:1", "prior_columns": "age = YEARS"}, "prior_columns", "no such column"),
        ({"prior": "reference:CODE:1", "prior_columns": "years = AGEP"}, "prior_columns",
            "not in the description"),
        ({"prior": "reference:CODE:1", "prior_columns": "age = AGEP\nage = works"}, "prior_columns",
            "stands in two lines"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_choice_is_said_at_its_field_and_nothing_is_held(
    client: Client,
    cast: Cast,
    dataset: Dataset,
    changes: dict[str, str],
    field: str,
    words: str,
) -> None:
    version = imported(cast.steward)
    gazetteer = references.add(
        actor=cast.steward,
        name="Regions",
        published="Everywhere",
        file=references.Brought(data=b"code,lat,lon\nnorth,54,10\n", word="public"),
    )
    changes = {
        name: text.replace("CODE", version.reference.code).replace(
            "GAZETTEER", f"reference:{gazetteer.code}:1"
        )
        for name, text in changes.items()
    }
    page = html_of(client.post(reverse("runs:new", args=[dataset.code]), typed(**changes)))
    fault = re.search(rf'<div id="{field}-errors"\s*>(.*?)</div>\s*</div>', page, re.DOTALL)
    assert fault, page
    assert words in fault.group(1)
    assert 'id="public-table" open' in page
    assert not SynthesisRun.objects.exists()


def test_a_table_without_a_shared_column_is_refused_with_the_numbers(
    client: Client, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward, b"zone,sex\nA,B\nC,D\n")
    changes = {"prior": f"reference:{version.reference.code}:1"}
    answer = client.post(reverse("runs:new", args=[dataset.code]), typed(**changes))
    page = html_of(answer)
    assert "shares none of the 3 columns of the description: its 2 columns" in page
    assert not SynthesisRun.objects.exists()


def test_a_table_of_three_hundred_columns_is_read_for_the_shared_ones(
    cast: Cast, dataset: Dataset
) -> None:
    names = ["region", "works", *(f"c{number}" for number in range(298))]
    line = ",".join(["north", "yes", *["1"] * 298])
    content = "\n".join([",".join(names), *[line] * 20, ""]).encode()
    table = chosen(cast.steward, imported(cast.steward, content))
    proposal = ReleaseRequest(
        dataset=dataset, spec=Spec.from_json(SPEC), facts=planning.PublicFacts(table=table)
    ).propose()
    assert proposal.plan.spec.parameters["prior"]["columns"] == ["region", "works"]


def test_other_organisations_choose_and_see_none_of_them(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    value = f"reference:{version.reference.code}:1"
    theirs = organisation_of(cast.stranger)
    ReferenceTable.objects.update(organisation=theirs)
    page = new_page(browser(cast.steward), dataset)
    assert value not in page
    assert "Survey" not in page
    with pytest.raises(Exception, match="no such public table in your organisation"):
        chosen(cast.steward, version)
    # Nor by a stored choice that names it.
    stated = public_tables.StatedTable(
        name="Survey",
        published="here",
        sha256=version.sha256,
        reference=version.reference.code,
        version=1,
    )
    with pytest.raises(SpecError, match="was deleted"):
        public_tables.load(stated, organisation=dataset.organisation)


# --- the run ------------------------------------------------------------------------------------------------
def test_a_run_beside_a_table_gives_a_release_whose_receipt_states_it(
    client: Client, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    answer = client.post(
        reverse("runs:new", args=[dataset.code]),
        typed(prior=f"reference:{version.reference.code}:1", prior_columns="age = AGEP"),
    )
    assert answer.status_code == 302, html_of(answer)
    run = SynthesisRun.objects.get()
    assert run.prior["sha256"] == version.sha256
    assert "Survey, version 1" in html_of(client.get(reverse("runs:run", args=[run.code])))
    release = finished(run)
    stated = release.receipt["mechanism"]["parameters"]["prior"]
    assert stated == {
        "name": "Survey",
        "version": "1",
        "sha256": version.sha256,
        "published": "the bureau's page of downloads",
        "records": 400,
        "columns": ["region", "age", "works"],
    }
    assert verifier.verify(release.receipt).core == release.receipt["digest"]
    for name in ("about", "receipt"):
        page = html_of(client.get(reverse(f"releases:{name}", args=[release.code])))
        assert "The public table beside the answers" in page
        assert "the bureau&#x27;s page of downloads" in page
        assert version.sha256 in page
    # Other pages of a release read its request, too.
    for name in ("measured", "description", "samples"):
        assert client.get(reverse(f"releases:{name}", args=[release.code])).status_code == 200
    ranges.compute(code=services.request_ranges(release=release).code)
    assert client.get(reverse("releases:expected", args=[release.code])).status_code == 200
    again = new_page(client, dataset, f"?like={run.code}")
    assert 'id="public-table" open' in again
    assert f'value="reference:{version.reference.code}:1" selected' in again
    assert "age = AGEP" in again
    assert "shares 3 of 3 columns" in again


def test_the_loss_and_the_questions_are_those_of_a_run_without_the_table(
    cast: Cast, dataset: Dataset
) -> None:
    table = chosen(cast.steward, imported(cast.steward))
    spec = Spec.from_json(SPEC)
    plain = ReleaseRequest(dataset=dataset, spec=spec).propose()
    beside = ReleaseRequest(
        dataset=dataset, spec=spec, facts=planning.PublicFacts(table=table)
    ).propose()
    assert (plain.price, plain.plan.events) == (beside.price, beside.plan.events)
    assert plain.plan.digest != beside.plan.digest
    assert beside.plan.needs().seconds > plain.plan.needs().seconds


def test_a_deleted_table_fails_a_waiting_run_before_anything_is_spent_and_its_hold_is_released(
    client: Client, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    run = submitted(cast, dataset, chosen(cast.steward, version))
    references.delete(actor=cast.steward, reference=version.reference)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "“Survey”, version 1, was deleted" in run.failure["text"]
    assert version.sha256 in run.failure["text"]
    assert not spent()
    assert ledger.balance(BudgetAccount.objects.get()).held.epsilon == 0
    page = new_page(client, dataset, f"?like={run.code}")
    assert "Its public table, Survey, version 1, was deleted since" in page
    assert re.search(r'<details class="fold" id="public-table"\s*>', page)
    # The same file under any name is the same table.
    imported(cast.steward, name="Survey, again")
    assert ReleaseRequest.plan_of(run).digest == run.plan_digest


def test_a_table_that_became_one_to_protect_fails_a_waiting_run_before_anything_is_spent(
    cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    run = submitted(cast, dataset, chosen(cast.steward, version))
    ReferenceVersion.objects.update(content_key=dataset.content_key)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "is the table of a dataset of your organisation" in run.failure["text"]
    assert not spent()


def test_a_newer_version_does_not_change_a_run_that_waits(cast: Cast, dataset: Dataset) -> None:
    version = imported(cast.steward)
    run = submitted(cast, dataset, chosen(cast.steward, version))
    file = references.Brought(data=survey(50, seed=2), word="public", has_records=True)
    references.add_version(actor=cast.steward, reference=version.reference, file=file)
    release = finished(run)
    assert release.receipt["mechanism"]["parameters"]["prior"]["sha256"] == version.sha256


def test_a_fit_without_its_table_fails_and_is_resumed_once_the_file_is_there_again(
    monkeypatch: pytest.MonkeyPatch, cast: Cast, dataset: Dataset
) -> None:
    version = imported(cast.steward)
    run = submitted(cast, dataset, chosen(cast.steward, version, age="AGEP"))

    def lose(*_: Any, **__: Any) -> None:
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(artefacts, "read", lose)
        worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert (run.state, bool(run.answers_digest)) == (State.FAILED, True)
    references.delete(actor=cast.steward, reference=version.reference)
    services.resume(actor=cast.steward, run=run)
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "was deleted" in run.failure["text"]
    imported(cast.steward, name="Survey, again")
    services.resume(actor=cast.steward, run=run)
    release = finished(run)
    stated = release.receipt["mechanism"]["parameters"]["prior"]
    assert (stated["name"], stated["version"]) == ("Survey", "1")
    assert release.receipt["plan"]["sha256"] == run.plan_digest


# --- an earlier release -------------------------------------------------------------------------------------
@pytest.fixture
def earlier(cast: Cast, dataset: Dataset) -> Release:
    return finished(scene.submit(steward=cast.steward, dataset=dataset))


def test_an_earlier_release_is_a_public_table_whose_receipt_is_named(
    client: Client, cast: Cast, dataset: Dataset, earlier: Release
) -> None:
    page = new_page(client, dataset)
    assert f'value="release:{earlier.code}"' in page
    address = reverse("runs:estimate", args=[dataset.code])
    shown = html_of(client.post(address, typed(prior=f"release:{earlier.code}")))
    assert "The loss of that release is not a part of this one" in shown
    table = public_tables.resolve(cast.steward, TableChoice(release=earlier.code))
    run = submitted(cast, dataset, table)
    release = finished(run)
    stated = release.receipt["mechanism"]["parameters"]["prior"]
    assert stated["release"] == {
        "core": earlier.receipt["digest"],
        "guarantee": earlier.receipt["guarantee"]["sentence"],
    }
    assert stated["version"] == earlier.code
    assert "drawn with the seed prior/" in stated["published"]
    verifier.verify(release.receipt)
    page = html_of(client.get(reverse("releases:receipt", args=[release.code])))
    assert "Its own guarantee" in page
    assert earlier.receipt["digest"] in page


def test_the_table_of_a_release_is_the_sample_with_the_seed_that_is_stated(
    cast: Cast, earlier: Release
) -> None:
    table = public_tables.resolve(cast.steward, TableChoice(release=earlier.code))
    assert table is not None
    caller = Caller(cast.steward, "read")
    body = {"rows": table.rows, "seed": table.seed}
    sample = caller.send(f"/releases/{earlier.code}/samples/", body).json()
    answer = caller.client.get(sample["csv"])
    content = b"".join(answer.streaming_content)
    assert hashlib.sha256(content).hexdigest() == table.sha256


def test_a_release_that_gives_another_table_by_now_is_refused(
    cast: Cast, dataset: Dataset, earlier: Release
) -> None:
    table = public_tables.resolve(cast.steward, TableChoice(release=earlier.code))
    run = submitted(cast, dataset, table)
    ReleaseRun.objects.filter(run=run).update(prior=run.prior | {"sha256": "0" * 64})
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert "which now gives another one" in run.failure["text"]
    assert LedgerEntry.objects.filter(kind="CHARGE").count() == 1  # that of the earlier release


# --- REST ---------------------------------------------------------------------------------------------------
@pytest.fixture
def caller(cast: Cast) -> Caller:
    return Caller(cast.steward, "read", "spend")


def test_rest_imports_lists_gives_back_and_uses_a_table(
    caller: Caller, dataset: Dataset
) -> None:
    content = survey(60)
    answer = caller.client.post(
        "/api/v1/references/?name=Survey&published=here&word=public&kind=records",
        content,
        content_type="text/csv",
    )
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["versions"][0]["kind"], made["versions"][0]["code_count"]) == ("records", 60)
    assert caller.get("/references/?kind=records").json()["count"] == 1
    back = caller.get(f"/references/{made['code']}/versions/1/")
    assert (back.content, back["Content-Type"]) == (content, "text/csv; charset=utf-8")
    prior = {"reference": made["code"], "columns": {"age": "AGEP"}}
    run = caller.send("/runs/", {"dataset": dataset.code, **SPEC, "prior": prior})
    assert run.status_code == 202, run.content
    body = run.json()
    assert body["prior"]["reference"] == made["code"]
    assert (body["prior"]["version"], body["prior"]["columns"]) == (1, {"age": "AGEP"})
    release = finished(SynthesisRun.objects.get(code=body["code"]))
    shared = release.receipt["mechanism"]["parameters"]["prior"]["columns"]
    assert shared == ["region", "age", "works"]


@pytest.mark.parametrize(
    ("prior", "status", "words"),
    [
        ({}, 400, "Give the code of a reference table or of a release"),
        ({"reference": "CODE", "release": "CODE"}, 400, "Give the code"),
        ({"release": "CODE", "version": 1}, 400, "A release has no versions"),
        ({"reference": "CODE", "versoin": 1}, 400, "no such field"),
        ({"reference": "CODE", "version": "1"}, 400, "integer"),
        ({"reference": "CODE", "version": 10**9}, 400, "less than or equal"),
        ({"reference": "CODE", "columns": {"age": 3}}, 400, "string"),
        ({"reference": "CODE", "columns": ["age"]}, 400, "dictionary"),
        ({"reference": "CODE", "version": 2}, 422, "no such public table"),
        ({"reference": "nosuch"}, 422, "no such public table"),
        ({"reference": "CODE", "columns": {"age": "YEARS"}}, 422, "no such column"),
        ({"reference": "CODE", "columns": {"years": "AGEP"}}, 422, "not in the description"),
        ({"reference": "CODE", "columns": {f"c{n}": "AGEP" for n in range(1_001)}}, 422,
            "1,001 renamed columns, and at most 1,000"),
    ],
)  # fmt: skip
def test_rest_refuses_what_is_wrong_and_holds_nothing(
    caller: Caller, cast: Cast, dataset: Dataset, prior: Any, status: int, words: str
) -> None:
    code = imported(cast.steward).reference.code
    prior = {name: code if text == "CODE" else text for name, text in prior.items()}
    answer = caller.send("/runs/", {"dataset": dataset.code, **SPEC, "prior": prior})
    problem = assert_problem(answer, status=status)
    assert words in str(problem), problem
    assert not SynthesisRun.objects.exists()


def test_rest_refuses_a_public_table_for_a_method_that_reads_none(
    caller: Caller, cast: Cast, dataset: Dataset
) -> None:
    prior = {"reference": imported(cast.steward).reference.code}
    asked = SPEC | {"mechanism": "independent", "prior": prior, "dataset": dataset.code}
    problem = assert_problem(caller.send("/runs/", asked), status=422)
    assert "independent reads no public table" in problem["detail"]
    # A statement in place of a choice is none that a table would meet.
    asked = SPEC | {"parameters": {"prior": {"sha256": "0" * 64}}, "dataset": dataset.code}
    problem = assert_problem(caller.send("/runs/", asked), status=422)
    assert "the request states a public table" in problem["detail"]


def test_the_same_key_with_another_table_is_another_request(
    caller: Caller, cast: Cast, dataset: Dataset
) -> None:
    prior = {"reference": imported(cast.steward).reference.code}
    asked = SPEC | {"dataset": dataset.code}
    key = {"headers": {"Idempotency-Key": "k" * 20}}
    assert caller.send("/runs/", asked | {"prior": prior}, **key).status_code == 202
    assert caller.send("/runs/", asked | {"prior": prior}, **key).status_code == 202
    assert_problem(caller.send("/runs/", asked, **key), status=409)
    assert SynthesisRun.objects.count() == 1
