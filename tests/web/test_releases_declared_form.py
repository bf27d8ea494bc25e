"""A dirty file from upload to sample: its form is confirmed once, and a sample can be downloaded as the file
came in."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO

import pytest
from django.test import Client
from django.urls import reverse

from synth_engine.domain import Domain
from synth_engine.formats import Dialect
from synthweb.datasets import draft as drafts
from synthweb.datasets.draft_to_attribute import attribute_of
from synthweb.datasets.models import Dataset, DomainVersion
from synthweb.releases import services, spool
from synthweb.releases.models import Release, Sample
from synthweb.runs import worker
from tests.cast import Cast
from tests.web import scene
from tests.web.describe_page import DescribePage, ready

Open = Callable[..., Client]
pytestmark = pytest.mark.django_db


def with_form(sample: Sample) -> Sample:
    """The sample of a release whose description states the form of its file."""
    release = sample.release
    domain = release.model["domain"]
    domain["file"] = {
        "delimiter": ";",
        "encoding": "utf-16",
        "quoting": "all",
        "line_end": "crlf",
    }
    release.model["domain"] = Domain.from_json(domain).to_json()
    release.save()
    return Sample.objects.get(pk=sample.pk)


@pytest.fixture
def sample(cast: Cast) -> Sample:
    made = scene.funded(cast)
    worker.synthesize(code=scene.submit(steward=cast.steward, dataset=made).code)
    return services.draw_sample(user=cast.steward, release=Release.objects.get(), rows=30)


def address(sample: Sample, name: str = "sample-csv") -> str:
    return reverse(f"releases:{name}", args=[sample.release.code, sample.code])


def test_a_sample_as_it_came_in_has_the_declared_form(
    sample: Sample, cast: Cast, browser: Open
) -> None:
    sample = with_form(sample)
    answer = browser(cast.steward).get(address(sample) + "?as=declared")
    assert answer["Content-Type"] == "text/csv; charset=utf-16"
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    lines = content.decode("utf-16").split("\r\n")
    clean = b"".join(spool.Download(sample)).decode().splitlines()
    assert len(lines) == 32
    assert lines[-1] == ""
    assert lines[0] == ";".join(f'"{name}"' for name in clean[0].split(","))
    page = browser(cast.steward).get(address(sample, "sample")).content.decode()
    assert "data-as-declared" in page


def test_without_a_stated_form_no_other_one_is_offered(
    sample: Sample, cast: Cast, browser: Open
) -> None:
    client = browser(cast.steward)
    assert "data-as-declared" not in client.get(address(sample, "sample")).content.decode()
    declared = b"".join(spool.Download(sample, format="declared"))
    assert declared == b"".join(spool.Download(sample))


def test_a_large_table_in_the_declared_form_is_the_same_drawn_elsewhere(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = with_form(sample)
    for form in ("declared", "xlsx"):
        here = b"".join(spool.Download(sample, format=form))
        with monkeypatch.context() as patch:
            patch.setattr(spool, "SMALL", 0)
            assert b"".join(spool.Download(sample, format=form)) == here


def test_a_sample_as_a_workbook(sample: Sample, cast: Cast, browser: Open) -> None:
    answer = browser(cast.steward).get(address(sample, "sample-xlsx"))
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(BytesIO(content)) as archive:
        assert archive.read("xl/worksheets/sheet1.xml").count(b"<row>") == 31
    Sample.objects.filter(pk=sample.pk).update(rows=1_048_576)
    assert browser(cast.steward).get(address(sample, "sample-xlsx")).status_code == 404
    page = browser(cast.steward).get(address(sample, "sample")).content.decode()
    assert "table.xlsx" not in page


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "integer", "low": 0, "high": 9, "written": {"width": 5, "before": "EUR "}},
        {"kind": "number", "low": 0, "high": 9, "written": {"grouped": True, "decimals": 2}},
        {"kind": "scale", "of": "number", "written": {"grouped": True, "after": " kg"}},
        {"kind": "scale", "of": "date", "format": "%m/%d/%y", "written": {"unpadded": True}},
        {
            "kind": "date",
            "low": "2020-01-01",
            "high": "2021-12-31",
            "format": "%m/%d/%y",
            "written": {"unpadded": True},
        },
    ],
)
def test_the_editor_keeps_how_cells_are_written(document: dict[str, object]) -> None:
    column = drafts.typed_from({"name": "a", **document})
    assert attribute_of("a", column).to_json()["written"] == document["written"]


@pytest.mark.parametrize(
    "document",
    [
        {"rule": "sum", "of": ["net", "a, b"], "decimals": 2, "written": {"grouped": True}},
        {"rule": "weekday", "of": ["sold"], "marker": "?"},
        {"rule": "lookup", "of": ["block"], "table": [["1", "Rome, Italy"], ["2", "Paris"]]},
    ],
)
def test_the_editor_keeps_how_a_column_is_computed(document: dict[str, object]) -> None:
    column = drafts.typed_from({"name": "a", "kind": "derived", **document})
    again = attribute_of("a", column).to_json()
    assert {key: again[key] for key in document} == document


def test_a_column_that_is_computed_costs_nothing_and_is_in_the_sample(
    cast: Cast, browser: Open
) -> None:
    columns = [
        {"name": "net", "kind": "integer", "low": 0, "high": 9, "width": 1},
        {"name": "tax", "kind": "integer", "low": 0, "high": 9, "width": 1},
        {"name": "total", "kind": "integer", "low": 0, "high": 18, "width": 1},
    ]
    describe_page = DescribePage(browser(cast.steward), ready(cast, columns))
    describe_page.press("confirm-open")
    describe_page.press(
        "confirm:2", edit="2", _2_kind="derived", _2_function="sum", _2_sources="net, tax"
    )
    describe_page.press("finish")
    version = DomainVersion.objects.get()
    (total,) = (one for one in version.document["attributes"] if one["name"] == "total")
    assert (total["kind"], total["of"]) == ("derived", ["net", "tax"])
    assert Domain.from_json(version.document).names == ("net", "tax")


def test_confirming_a_description_confirms_the_form_of_its_file(
    cast: Cast, browser: Open
) -> None:
    columns = [{"name": "net", "kind": "integer", "low": 0, "high": 9999, "width": 99}]
    dataset = ready(cast, columns)
    form = Dialect(delimiter=";", encoding="cp1252", thousands="'", quote="'")
    Dataset.objects.filter(pk=dataset.pk).update(dialect=form.to_json())
    describe_page = DescribePage(browser(cast.steward), Dataset.objects.get())
    describe_page.press("confirm:0", edit="0", _0_grouped="on")
    rule = {
        f"rule-impossible-{key}": text
        for key, text in (("column1", "net"), ("values1", "0 to 98"))
    }
    assert describe_page.press("rule-add-impossible", **rule).status_code == 302
    describe_page.press("finish")
    document = DomainVersion.objects.get().document
    assert document["file"]["thousands"] == "'"
    assert document["file"]["encoding"] == "cp1252"
    assert document["attributes"][0]["written"] == {"grouped": True}


def test_line_ends_and_quotation_marks_of_the_file_are_said_on_the_page(
    cast: Cast, browser: Open
) -> None:
    columns = [{"name": "net", "kind": "integer", "low": 0, "high": 9999, "width": 99}]
    dataset = ready(cast, columns)
    Dataset.objects.filter(pk=dataset.pk).update(dialect=Dialect(delimiter=";").to_json())
    describe_page = DescribePage(browser(cast.steward), Dataset.objects.get())
    describe_page.press("confirm:0")
    describe_page.press("save", quoting="texts", line_end="crlf")
    assert '<option value="crlf" selected>' in describe_page.page()
    describe_page.press("finish")
    written = DomainVersion.objects.get().document["file"]
    assert (written["quoting"], written["line_end"]) == ("texts", "crlf")
    refused = describe_page.press("finish", line_end="cr")
    assert refused.status_code == 422
    assert "line_end of the form of the file" in refused.text
