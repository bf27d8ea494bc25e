"""How cells are written is proposed from them, and becomes a part of the description by confirming alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from synth_engine.formats import Dialect, Marks
from synthweb.datasets import preview_store
from synthweb.datasets.evidence import Cells
from synthweb.datasets.models import DomainVersion, Preview
from tests.cast import Cast
from tests.web.describe_page import DescribePage, ready


@pytest.mark.parametrize(
    ("texts", "marks", "of_days", "proposed"),
    [
        (["2,385,000", "0", " -  "], Marks(thousands=","), False, {"grouped": "on"}),
        (["$5.00", "$10.50"], Marks(units=("$",)), False, {"decimals": "2", "before": "$"}),
        (["5 kg", "7 kg", "?"], Marks(units=("kg",)), False, {"after": " kg"}),
        (["007", "120"], Marks(), False, {"digits_wide": "3"}),
        (["1.5", "2"], Marks(), False, {}),
        (["1,5", "2,0"], Marks(decimal=","), False, {"decimals": "1"}),
        (["-1", "12"], Marks(), False, {}),
        (["2/9/21", "12/10/20"], Marks(), True, {"unpadded": "on"}),
        (["02/09/21", "2021-02-09 5:00"], Marks(), True, {}),
        (["", "x"], Marks(thousands="."), False, {}),
    ],
)
def test_the_form_of_cells_is_recognised(
    texts: list[str], marks: Marks, of_days: bool, proposed: dict[str, str]
) -> None:
    cells = Cells(texts=texts, counts=[1] * len(texts), marks=marks)
    assert cells.written(of_days=of_days) == proposed


@pytest.fixture
def describe_page(cast: Cast, browser: Callable[..., Client]) -> DescribePage:
    """Prices with commas between thousands, and days of one digit."""
    columns = [
        {"name": "price", "kind": "scale", "of": "integer"},
        {"name": "sold", "kind": "scale", "of": "date", "format": "%m/%d/%y"},
    ]
    dataset = ready(cast, columns)
    stored = preview_store.latest(dataset, Preview.Kind.TABLE, "")
    assert stored is not None
    payload = preview_store.read(stored)
    payload["cells"] = {
        "price": {"texts": ["2,385,000", "950,000"], "counts": [3, 2]},
        "sold": {"texts": ["2/9/21", "11/30/20"], "counts": [3, 2]},
    }
    payload["dialect"] = Dialect(thousands=",").to_json()
    preview_store.put(dataset, Preview.Kind.TABLE, "", payload)
    return DescribePage(browser(cast.steward), dataset)


@pytest.mark.django_db
def test_a_proposed_form_is_typed_by_one_press_and_confirmed_with_the_column(
    describe_page: DescribePage,
) -> None:
    assert "Thousands have the sign of the file between them" in describe_page.page("?column=0")
    answer = describe_page.press("written:0", in_place=True)
    assert 'data-written="0"' not in answer.text  # it is described so now
    column = describe_page.draft["columns"]["price"]
    assert (column["fields"], column["confirmed"]) == ({"grouped": "on"}, False)
    describe_page.press("confirm:0")
    describe_page.press("confirm:1")
    describe_page.press("finish")
    attributes = {
        each["name"]: each for each in DomainVersion.objects.get().document["attributes"]
    }
    assert attributes["price"]["written"] == {"grouped": True}
    assert "written" not in attributes["sold"]  # nobody took that proposal


@pytest.mark.django_db
@pytest.mark.parametrize("sent", ["", "[1]", '{"low": "1"}', '{"grouped": {"a": 1}}', "{"])
def test_a_proposal_that_was_altered_on_its_way_describes_nothing_else(
    describe_page: DescribePage, sent: str
) -> None:
    answer = describe_page.press("written:0", in_place=True, **{"0-written": sent})
    assert answer.status_code == 200
    fields = (describe_page.draft["columns"].get("price") or {"fields": {}})["fields"]
    assert set(fields) <= {"grouped"}
