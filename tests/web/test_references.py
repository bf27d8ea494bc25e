"""Public reference tables: brought by stewards who say that they are public, shared, versioned, used in
drafts."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from synth_engine.errors import DomainError
from synth_engine.plans import sample_size
from synthweb.accounts.selectors import organisation_of
from synthweb.audit.models import AuditEntry
from synthweb.datasets import preview_store
from synthweb.datasets import services as datasets
from synthweb.datasets.models import Dataset, Preview
from synthweb.ledger import services as ledger
from synthweb.ledger.models import LedgerEntry
from synthweb.references.models import ReferenceTable, ReferenceVersion
from synthweb.runs import worker
from tests.cast import Cast
from tests.engine.test_references import BLOCKS, XWALK
from tests.web import scene
from tests.web.describe_page import DescribePage, line, ready
from tests.web.rest import Caller, assert_problem

pytestmark = pytest.mark.usefixtures("places")

Browser = Callable[..., Client]
COLUMNS: list[dict[str, Any]] = [
    {"name": "home", "kind": "identifier", "why": "All different."},
    {"name": "age", "kind": "integer", "low": 0, "high": 9},
]


@pytest.fixture
def client(browser: Browser, cast: Cast) -> Client:
    return browser(cast.steward)


def bring(
    client: Client, content: bytes, *, address: str = "", word: str = "public", **said: str
) -> Any:
    file = SimpleUploadedFile("places.csv.gz", content)
    named = {} if address else {"name": "Blocks", "published": "lehd.ces.census.gov/data"}
    return client.post(
        address or reverse("references:new"),
        {**named, "word": word, **said, "file": file},
        follow=True,
    )


def brought(client: Client, text: str = XWALK, **said: str) -> ReferenceVersion:
    answer = bring(client, gzip.compress(text.encode()), **said)
    assert answer.status_code == 200, answer.text
    return ReferenceVersion.objects.order_by("-pk")[0]


def described(client: Client, cast: Cast) -> DescribePage:
    """A dataset that was read, of which nothing is typed yet."""
    dataset = ready(cast, COLUMNS)
    preview_store.put(
        dataset, Preview.Kind.COLUMNS, "", {"columns": [item["name"] for item in COLUMNS]}
    )
    return DescribePage(client, dataset)


def use(
    client: Client,
    describe_page: DescribePage,
    version: ReferenceVersion,
    *,
    column: str,
    **more: Any,
) -> Any:
    address = reverse("references:use", args=[describe_page.dataset.code])
    return client.post(
        address, {"column": column, "reference": version.reference.code, **more}, follow=True
    )


# --- bringing -----------------------------------------------------------------------------------------------
def test_a_crosswalk_is_read_kept_shown_and_noted(
    client: Client, browser: Browser, cast: Cast
) -> None:
    version = brought(client)
    assert (version.kind, version.code_count, version.number) == ("gazetteer", 4, 1)
    assert version.partitions == {
        "block group": 4,
        "tract": 3,
        "town": 2,
        "county": 2,
        "state": 1,
    }
    page = (
        browser(cast.auditor)
        .get(reverse("references:detail", args=[version.reference.code]))
        .text
    )
    assert "lehd.ces.census.gov/data" in page
    assert 'id="points-data"' in page
    assert BLOCKS[0] in page
    assert "Add a new version" not in page
    entry = AuditEntry.objects.get(action="reference.declared")
    assert (entry.detail["sha256"], entry.actor) == (version.sha256, cast.steward.username)
    assert "Blocks" in browser(cast.custodian).get(reverse("references:index")).text
    assert not LedgerEntry.objects.exists()


@pytest.mark.parametrize("word", ["", "yes", "publik"])
def test_nothing_is_kept_of_a_file_that_nobody_calls_public(client: Client, word: str) -> None:
    answer = bring(client, XWALK.encode(), word=word)
    assert answer.status_code == 422
    assert not ReferenceTable.objects.exists()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("was", ["the table", "a version of it", "deleted"])
def test_the_table_of_a_dataset_is_refused_packed_or_not_and_after_it_is_gone(
    client: Client, cast: Cast, *, packed: bool, was: str
) -> None:
    table = b"code,latitude,longitude\nn1,41.5,-71.4\n"
    dataset = datasets.store_stream(
        steward=cast.steward,
        organisation=cast.organisation,
        name="Homes",
        file_kind="csv",
        chunks=[table],
    )
    datasets.mark_ready(dataset=dataset)
    if was == "a version of it":
        intake = datasets.Intake("csv")
        intake.receive(b"code,latitude,longitude\nn2,41.6,-71.4\n")
        datasets.replace_file(actor=cast.steward, dataset=dataset, upload=intake)
    if was == "deleted":
        datasets.delete(actor=cast.steward, dataset=dataset)
    answer = bring(client, gzip.compress(table) if packed else table)
    assert answer.status_code == 422
    assert "is the table of a dataset of your organisation" in answer.text
    assert not ReferenceTable.objects.exists()
    assert not AuditEntry.objects.filter(action="reference.declared").exists()


PUBLIC = b"code,latitude,longitude\nn1,41.5,-71.4\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_that_was_called_public_is_refused_when_it_arrives_and_taken_once_nobody_says_so(
    client: Client, cast: Cast, *, packed: bool
) -> None:
    version = brought(client, PUBLIC.decode())
    content = gzip.compress(PUBLIC) if packed else PUBLIC
    name = f"homes.csv{'.gz' if packed else ''}"

    def upload() -> Any:
        return client.post(
            reverse("pages:upload"),
            {"name": "Homes", "table": SimpleUploadedFile(name, content)},
        )

    before = datasets_stored()
    answer = upload()
    assert answer.status_code == 422
    assert "called public here, as the reference table “Blocks”" in answer.text
    assert datasets_stored() == before
    calls = Caller(cast.steward, "read", "spend")
    kind = "application/gzip" if packed else "text/csv"
    problem = calls.client.post("/api/v1/datasets/?name=Homes", content, content_type=kind)
    assert "called public here" in str(assert_problem(problem, status=422))
    assert datasets_stored() == before
    client.post(reverse("references:delete", args=[version.reference.code]))
    assert upload().status_code == 302


def test_a_new_file_of_a_dataset_that_was_called_public_is_refused(
    client: Client, cast: Cast
) -> None:
    brought(client, PUBLIC.decode())
    describe_page = described(client, cast)
    before = datasets_stored()
    address = reverse("pages:replace", args=[describe_page.dataset.code])
    answer = client.post(address, {"table": SimpleUploadedFile("homes.csv", PUBLIC)})
    assert answer.status_code == 422
    assert "called public here" in answer.text
    assert datasets_stored() == before


def test_what_another_organisation_calls_public_is_not_told_to_those_who_upload_it(
    client: Client, cast: Cast
) -> None:
    version = brought(client, PUBLIC.decode())
    ReferenceTable.objects.filter(pk=version.reference_id).update(
        organisation=organisation_of(cast.stranger)
    )
    table = SimpleUploadedFile("homes.csv", PUBLIC)
    assert (
        client.post(reverse("pages:upload"), {"name": "Homes", "table": table}).status_code
        == 302
    )


def datasets_stored() -> tuple[int, int]:
    """Rows, and files in the vault."""
    return Dataset.objects.count(), len(list(Path(settings.VAULT_DIR).glob("*")))


def test_a_table_that_came_at_the_same_moment_is_refused_where_its_public_twin_would_be_used(
    client: Client, cast: Cast
) -> None:
    version = brought(client, PUBLIC.decode())
    describe_page = described(client, cast)
    ReferenceVersion.objects.update(content_key=describe_page.dataset.content_key)
    answer = use(client, describe_page, version, column="home")
    assert answer.status_code == 422
    assert "is the table of a dataset" in answer.text
    assert not describe_page.beside


@pytest.mark.parametrize(
    ("content", "said", "words"),
    [
        (b"a,b\n1,2\n", {}, "do not show which one is the code"),
        (
            b"code,lat,lon\na,0,0\n",
            {},
            r"ine 2, column &#x27;lat&#x27;: a point is at \(0, 0\)",
        ),
        (b"code,lat,lon\na,41\xc2\xb049,-71.4\n", {}, "written in degrees and minutes"),
        (b"code,lat,lon\na,-171.4,41.5\n", {}, "seem to be swapped"),
        (
            b"code,lat,lon\na,41.5,-71.4\n",
            {"code": "geo", "latitude": "lat", "longitude": "lon"},
            "no such column",
        ),
        (
            b"code,lat,lon\na,41.5,-71.4\n",
            {"latitude": "lat", "longitude": "lon"},
            "Say the column of the codes too",
        ),
        (
            b"code,lat,lon\na,41.5,-71.4\n",
            {"code": "code", "parents": "town"},
            "a name, a colon and a column",
        ),
        (b"\x1f\x8b\x00", {}, "packed file (is damaged|ends too early)"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_words(
    client: Client, content: bytes, said: dict[str, str], words: str
) -> None:
    answer = bring(client, content, **said)
    assert answer.status_code == 422
    assert re.search(words, answer.text)
    assert (
        '<details class="mb-3" open>' in answer.text
    )  # the columns can be said where they were not found
    assert not ReferenceTable.objects.exists()


def test_a_new_version_stands_beside_the_old_one_and_the_same_file_twice_is_refused(
    client: Client,
) -> None:
    first = brought(client)
    again = reverse("references:add-version", args=[first.reference.code])
    assert bring(client, XWALK.encode(), address=again).status_code == 422
    shorter = "\n".join(XWALK.splitlines()[:-1]) + "\n"
    assert bring(client, shorter.encode(), address=again).status_code == 200
    assert [one.code_count for one in first.reference.versions.order_by("number")] == [4, 3]
    assert "version 1" in str(first)
    page = client.get(
        reverse("references:detail", args=[first.reference.code]) + "?version=1"
    ).text
    assert first.sha256 in page
    assert (
        "a reference table of this name" in bring(client, b"code,lat,lon\na,41.5,-71.4\n").text
    )


def test_other_organisations_and_analysts_see_nothing(
    client: Client, browser: Browser, cast: Cast
) -> None:
    version = brought(client)
    address = reverse("references:detail", args=[version.reference.code])
    assert browser(cast.analyst).get(address).status_code == 404
    assert (
        browser(cast.custodian)
        .post(reverse("references:delete", args=[version.reference.code]))
        .status_code
        == 403
    )
    assert (
        client.post(reverse("references:delete", args=[version.reference.code])).status_code
        == 302
    )
    assert not ReferenceVersion.objects.exists()


# --- using --------------------------------------------------------------------------------------------------
def test_codes_come_from_a_gazetteer_with_points_and_partitions_and_none_is_confirmed(
    client: Client, cast: Cast
) -> None:
    version = brought(client)
    describe_page = described(client, cast)
    describing = client.get(
        reverse("datasets:describe", args=[describe_page.dataset.code])
    ).text
    assert re.search(
        r'<select [^>]*form="to-reference" name="column".*<option>home</option>', describing
    )
    page = client.get(
        reverse("references:use", args=[describe_page.dataset.code]),
        {"column": "home", "reference": version.reference.code},
    ).text
    assert "4 are copied from the table" in page
    answer = use(client, describe_page, version, column="home", partitions=["town", "county"])
    assert (
        "4 values, points, partitions town, county of home. Nothing is confirmed yet"
        in answer.text
    )
    column = describe_page.draft["columns"]["home"]
    assert (column["kind"], column["confirmed"], column["origin"]) == (
        "categorical",
        False,
        "public-file",
    )
    assert column["fields"]["values"].split() == BLOCKS
    [points] = describe_page.beside["points"]
    assert points["source"] == {"name": "Blocks", "version": "1", "sha256": version.sha256}
    assert points["at"][BLOCKS[3]] == [41.6901, -71.5601]
    assert [each["name"] for each in describe_page.beside["partitions"]] == ["town", "county"]
    assert "4 public points; town, county" in " ".join(describe_page.page().split())
    entry = AuditEntry.objects.get(action="reference.used")
    assert entry.detail == {"reference": version.reference.code, "version": 1, "column": "home"}


def test_codes_of_larger_areas_get_the_middle_of_what_they_hold(
    client: Client, cast: Cast
) -> None:
    version = brought(client)
    describe_page = described(client, cast)
    use(client, describe_page, version, column="home", level="town")
    assert describe_page.draft["columns"]["home"]["fields"]["values"].split() == [
        "4400105140",
        "4400318640",
    ]
    [points] = describe_page.beside["points"]
    assert points["at"]["4400318640"] == [41.6901, -71.5601]
    client.post(
        reverse("references:forget", args=[describe_page.dataset.code]), {"column": "home"}
    )
    assert describe_page.beside == {}


def test_a_press_on_the_describe_page_touches_no_points(client: Client, cast: Cast) -> None:
    version = brought(client)
    describe_page = described(client, cast)
    use(client, describe_page, version, column="home", partitions=["town"])
    with CaptureQueriesContext(connection) as pressed:
        assert (
            describe_page.client.post(
                describe_page.address, {"do": "save"}, headers={"HX-Request": "true"}
            ).status_code
            == 200
        )
    assert not [query for query in pressed if "draftfacts" in query["sql"]]


def test_listed_values_must_all_be_in_the_table_and_columns_must_be_codes(
    client: Client, cast: Cast
) -> None:
    version = brought(client)
    describe_page = described(client, cast)
    fields = {"values": f"{BLOCKS[0]}\n999", "outside": "other"}
    datasets.keep(
        actor=cast.steward,
        dataset=describe_page.dataset,
        changes=datasets.DraftChanges(
            columns={
                "home": {"kind": "categorical", "fields": fields, "place": 0, "whole": True}
            }
        ),
    )
    answer = use(client, describe_page, version, column="home")
    assert answer.status_code == 422
    assert (
        "1 of 2 declared values are not in the reference table, the first of them value 2 of the list"
        in answer.text
    )
    datasets.keep(
        actor=cast.steward,
        dataset=describe_page.dataset,
        changes=datasets.DraftChanges(
            columns={
                "age": {
                    "kind": "integer",
                    "fields": {"low": "0", "high": "9"},
                    "place": 1,
                    "whole": True,
                }
            }
        ),
    )
    assert (
        "this column is described as something else"
        in use(client, describe_page, version, column="age").text
    )
    assert (
        "the table has no such column"
        in use(client, describe_page, version, column="nowhere").text
    )


def test_an_earlier_release_weighs_points_and_a_place_of_two_columns_gets_a_support(
    client: Client, cast: Cast
) -> None:
    blocks = brought(client)
    lines = f"w_geocode,h_geocode,S000\n1,{BLOCKS[0]},4\n2,{BLOCKS[0]},3\n2,{BLOCKS[1]},1\n"
    earlier = brought(client, lines, name="Jobs of 2018")
    describe_page = described(client, cast)
    assert "has none yet" in use(client, describe_page, earlier, column="home").text
    use(client, describe_page, blocks, column="home", partitions=["town"])
    assert (
        "weight of 2 of 4 places is 0"
        in use(client, describe_page, earlier, column="home").text
    )
    use(client, describe_page, earlier, column="home", floor="0.5")
    [points] = describe_page.beside["points"]
    assert [point[2] for point in points["at"].values()] == [7, 1, 0.5, 0.5]
    datasets.keep(
        actor=cast.steward,
        dataset=describe_page.dataset,
        changes=datasets.DraftChanges(table={"places": "shop: lat, lon"}),
    )
    assert (
        "4 points of the place shop" in use(client, describe_page, blocks, column="shop").text
    )
    assert [each.get("place") for each in describe_page.beside["points"]] == [None, "shop"]
    assert describe_page.beside["points"][1]["at"][0] == [41.7501, -71.3201]


# --- programs -----------------------------------------------------------------------------------------------
def test_programs_bring_read_use_and_delete_reference_tables(
    client: Client, cast: Cast
) -> None:
    calls = Caller(cast.steward, "read", "spend")
    query = "?name=Blocks&published=Here&word=public"

    def post(address: str, data: bytes) -> Any:
        return calls.client.post(f"/api/v1{address}", data, content_type="text/csv")

    assert_problem(
        post("/references/?name=Blocks&published=Here&word=no", XWALK.encode()), status=422
    )
    assert_problem(post(f"/references/{query}", b""), status=400)
    made = post(f"/references/{query}", XWALK.encode())
    assert made.status_code == 201, made.text
    code = made.json()["code"]
    assert_problem(post(f"/references/{query}", XWALK.encode()), status=409)
    assert_problem(
        post(f"/references/{code}/versions/?word=public", XWALK.encode()), status=409
    )
    more = post(f"/references/{code}/versions/?word=public&code=c&weight=w", b"c,w\nx,3\n")
    assert (more.status_code, more.json()["number"], more.json()["kind"]) == (201, 2, "density")
    assert (
        calls.get("/references/").json()["results"][0]["versions"][1]["partitions"]["town"] == 2
    )
    for asked, found in {
        # The newest is a density
        "": 1, "name=Blocks": 1, "name=Block": 0, "kind=density": 1, "kind=gazetteer": 0,
        "q=block+here": 1, "q=nowhere": 0, "until=2001-01-01": 0, "sort=-name": 1,
    }.items():  # fmt: skip
        assert calls.get(f"/references/?{asked}").json()["count"] == found, asked
    assert_problem(calls.get("/references/?kinds=density"), status=400)
    assert calls.get(f"/references/{code}/versions/1/").json()["codes"] == BLOCKS
    describe_page = described(client, cast)
    body = {"reference": code, "version": 1, "column": "home", "partitions": ["town"]}
    taken = calls.send(f"/datasets/{describe_page.dataset.code}/domain/draft/reference/", body)
    assert taken.json() == {"taken": ["4 values", "points", "partition town"]}
    nowhere = calls.send(
        f"/datasets/{describe_page.dataset.code}/domain/draft/reference/",
        body | {"column": "nowhere"},
    )
    assert "no such column" in str(assert_problem(nowhere, status=422))
    assert (
        calls.get(f"/datasets/{describe_page.dataset.code}/domain/draft/").json()["points"][0][
            "column"
        ]
        == "home"
    )


# --- totals that everybody knows ----------------------------------------------------------------------------
def test_very_many_codes_with_points_are_for_methods_that_count_none_by_itself(
    client: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_size, "MANY_CODES", 3)
    version, describe_page = brought(client), described(client, cast)
    use(client, describe_page, version, column="home")
    shown = line(describe_page.page(), 0)
    assert (
        "5 codes with public points: methods for places" in shown
        and "below about 10 records" in shown
    )
    pressed = describe_page.press("confirm:0", in_place=True).text
    assert "5 codes with public points" in pressed and "noise outweighs them" not in pressed
    assert "10 codes: at ε = 1" in describe_page.press("confirm:1", in_place=True).text
    client.post(
        reverse("references:forget", args=[describe_page.dataset.code]), {"column": "home"}
    )
    assert "5 codes: at ε = 1" in line(describe_page.page(), 0)


def test_names_of_parts_are_said_with_their_column_by_page_and_by_rest(
    client: Client, cast: Cast
) -> None:
    table = "code,lat,lon,t,n\na,41.1,-71.1,1,Warren\nb,41.2,-71.2,1,Warren\nc,41.3,-71.3,2,Bristol\n"
    said = {"code": "code", "latitude": "lat", "longitude": "lon"}
    version = brought(client, table, **said, parents="town: t: n")
    assert version.roles["names"] == [["town", "n"]]
    page = client.get(reverse("references:detail", args=[version.reference.code])).text
    assert "names of town: n" in page
    assert bring(client, table.encode(), **said, parents="town:").status_code == 422
    query = (
        "word=public&name=Towns&published=here&code=code&latitude=lat&longitude=lon&parents="
    )
    calls = Caller(cast.steward, "spend")
    bad = calls.client.post(
        f"/api/v1/references/?{query}town:t:", table, content_type="text/csv"
    )
    assert_problem(bad, status=400)
    made = calls.client.post(
        f"/api/v1/references/?{query}town:t:n", table, content_type="text/csv"
    )
    assert made.status_code == 201, made.text
    describe_page = described(client, cast)
    use(client, describe_page, version, column="home", partitions=["town"])
    assert describe_page.beside["partitions"][0]["names"] == {"1": "Warren", "2": "Bristol"}


TOTALS = "code,jobs\n" + f"{BLOCKS[0]},30\n{BLOCKS[1]},14\n"


def test_public_totals_come_from_a_table_of_numbers_and_a_release_keeps_them(
    client: Client, cast: Cast
) -> None:
    gazetteer, totals = brought(client), brought(client, TOTALS, name="Jobs by place of work")
    pairs = [(BLOCKS[0], home) for home in BLOCKS for _ in range(7)] + [
        (BLOCKS[1], home) for home in BLOCKS[:2] * 7
    ]
    table = "work,home\n" + "".join(
        f"{work},{home}\n" for work, home in [*pairs, (BLOCKS[0], BLOCKS[3]), pairs[0]]
    )
    dataset = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, table=table)
    )
    describe_page = DescribePage(client, dataset)
    page = client.get(
        reverse("references:use", args=[dataset.code]),
        {"column": "work", "reference": totals.reference.code},
    )
    assert "public totals: the exact number of records of each value" in page.text
    use(client, describe_page, gazetteer, column="home")
    use(client, describe_page, gazetteer, column="work")
    told = use(client, describe_page, totals, column="work", totals="on").text
    assert "public totals of 2 values of work" in told and "choose “Replace one”" in told
    source = {"name": "Jobs by place of work", "version": "1", "sha256": totals.sha256}
    counts = {BLOCKS[0]: 30, BLOCKS[1]: 14}
    assert describe_page.beside["totals"] == {
        "column": "work",
        "counts": counts,
        "source": source,
    }
    assert "public totals" in describe_page.page()
    kept = {
        name: {**column, "confirmed": True}
        for name, column in describe_page.draft["columns"].items()
    }
    datasets.keep(
        actor=cast.steward, dataset=dataset, changes=datasets.DraftChanges(columns=kept)
    )
    assert "public totals need the replace-one relation" in describe_page.press("finish").text
    describe_page.press("finish", relation="replace-one")
    assert (
        "choose “Replace one”"
        not in use(client, describe_page, totals, column="work", totals="on").text
    )
    assert dataset.domain_versions.get().document["totals"]["column"] == "work"
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
    )
    page = client.get(reverse("runs:new", args=[dataset.code]))
    assert re.search(r'value="on-the-map"[^>]* checked', page.text)
    spec = {"mechanism": "on-the-map", "epsilon": "2", "delta": "1e-9", "parameters": {}}
    answer = Caller(cast.steward, "spend").send("/runs/", {"dataset": dataset.code, **spec})
    assert answer.status_code == 202, answer.text
    run = dataset.runs.get()
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    assert run.release.rows == 44
    description = client.get(reverse("datasets:domain", args=[dataset.code, 1])).text
    overview = client.get(reverse("releases:about", args=[run.release.code])).text
    for shown in (description, overview):
        assert (
            "Jobs by place of work, version 1: public totals of work" in shown
            and totals.sha256[:12] in shown
        )
        assert "Blocks, version 1: points of " in shown and "No source is named" not in shown
    cited = Caller(cast.steward, "read").get(f"/releases/{run.release.code}/").json()["sources"]
    assert (
        cited[0] == {"about": ["public totals of work"], **source}
        and cited[1]["name"] == "Blocks"
    )
    assert "points of home" in cited[1]["about"]
    use_forgotten = client.post(
        reverse("references:forget", args=[dataset.code]), {"column": "work"}
    )
    assert use_forgotten.status_code == 302 and "totals" not in describe_page.beside


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (f"{BLOCKS[0]},1.5\n", "1 of 1 totals are no whole numbers"),
        (
            f"{BLOCKS[0]},3\nelsewhere,2\n",
            "1 codes of the table have records and are no declared value",
        ),
        ("elsewhere,2\n", "not in the reference table"),
    ],
)
def test_totals_that_are_none_are_refused(
    client: Client, cast: Cast, lines: str, words: str
) -> None:
    describe_page = described(client, cast)
    use(client, describe_page, brought(client), column="home")
    totals = brought(client, "code,jobs\n" + lines, name="Jobs")
    assert words in use(client, describe_page, totals, column="home", totals="on").text
    assert "totals" not in describe_page.beside


# --- rows that stand for several records --------------------------------------------------------------------
def test_jobs_by_block_of_home_and_work_become_a_release_with_points_partitions_and_counts(
    client: Client, cast: Cast
) -> None:
    version = brought(client)
    lines = [
        f"{work},{home},{times}"
        for work in BLOCKS[:2]
        for home, times in zip(BLOCKS, (9, 1, 4, 30), strict=True)
    ]
    table = "w_geocode,h_geocode,S000\n" + "\n".join(lines) + "\n"
    dataset = scene.read(
        scene.upload(steward=cast.steward, organisation=cast.organisation, table=table)
    )
    describe_page = DescribePage(client, dataset)
    for column in ("w_geocode", "h_geocode"):
        assert (
            "4 values, points, partition town"
            in use(client, describe_page, version, column=column, partitions=["town"]).text
        )
    describe_page.press("finish", repeats_column="S000", repeats_most="50")
    assert not dataset.domain_versions.exists()
    left = {
        "S000": {
            "kind": "identifier",
            "origin": "declared",
            "fields": {},
            "confirmed": True,
            "place": 2,
            "whole": True,
        }
    }
    confirmed = {
        name: {**column, "confirmed": True}
        for name, column in describe_page.draft["columns"].items()
        if name != "S000"
    }
    datasets.keep(
        actor=cast.steward,
        dataset=dataset,
        changes=datasets.DraftChanges(columns={**confirmed, **left}),
    )
    describe_page.press("finish", repeats_column="S000", repeats_most="50")
    document = dataset.domain_versions.get().document
    assert document["repeats"] == {"column": "S000", "most": 50}
    assert [each["column"] for each in document["points"]] == ["w_geocode", "h_geocode"]
    assert document["partitions"][0]["source"]["sha256"] == version.sha256
    page = client.get(reverse("datasets:domain", args=[dataset.code, 1])).text
    assert "as many records as S000 says, at most 50" in page
    assert "4 points; town" in page
    ledger.grant(
        custodian=cast.custodian,
        request=scene.ask(steward=cast.steward, dataset=dataset),
        reason="Agreed.",
    )
    run = scene.submit(steward=cast.steward, dataset=dataset, epsilon="3.9")
    worker.synthesize(code=run.code)
    run.refresh_from_db()
    assert run.release is not None, run.failure
    assert abs(run.release.rows - 2 * 44) < 30  # jobs, not the eight rows
    with pytest.raises(DomainError, match="cannot change any more"):
        datasets.declare_domain(
            actor=cast.steward,
            dataset=dataset,
            document={**document, "repeats": {"column": "S000", "most": 51}},
        )


def test_the_column_of_repeats_must_be_there_and_its_bound_a_number(
    client: Client, cast: Cast
) -> None:
    describe_page = described(client, cast)
    describe_page.press("confirm-open")
    assert (
        "not in this table"
        in describe_page.press("finish", repeats_column="nowhere", repeats_most="5").text
    )
    assert (
        "most records that a row stands for is not a whole number"
        in describe_page.press("finish", repeats_column="home", repeats_most="many").text
    )
    describe_page.press("finish", repeats_column="home", repeats_most="7")
    assert describe_page.dataset.domain_versions.get().document["repeats"] == {
        "column": "home",
        "most": 7,
    }
