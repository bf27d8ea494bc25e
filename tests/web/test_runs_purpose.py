"""What a release is for, in the form: a column to predict, weights, tables; without scripts, and kept
whatever happens."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from django.http import HttpResponse, QueryDict
from django.test import Client
from django.urls import reverse

from synth_engine import mechanisms
from synth_engine.domain import Domain
from synth_engine.mechanisms.independent import Independent
from synth_engine.plans.workload import PROPERTIES, Weighted
from synthweb.datasets.models import Dataset
from synthweb.ledger.amounts import Amount
from synthweb.ledger.models import Rule
from synthweb.ledger.selectors import Balance
from synthweb.runs import methods, screens, typed_columns
from synthweb.runs.forms import ReleaseForm, choices_of
from synthweb.runs.models import SynthesisRun
from tests.cast import Cast
from tests.web import rest, scene
from tests.web.html import html_of

Open = Callable[..., Client]
DOMAIN = Domain.from_json(scene.DOMAIN)


@dataclass(frozen=True, kw_only=True)
class Purposeful(Weighted, Independent):
    """`independent`, but told what it is for."""

    id: ClassVar[str] = "purposeful"
    title: ClassVar[str] = "Purposeful columns"
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {**PROPERTIES, **Independent.parameters["properties"]},
        "additionalProperties": False,
    }


@pytest.fixture(autouse=True)
def purposeful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(mechanisms.REGISTRY, "purposeful", Purposeful)


@pytest.fixture
def dataset(cast: Cast) -> Dataset:
    return scene.funded(cast)


def typed(**changes: str) -> dict[str, str]:
    given = {
        name.replace("param_", "param-").replace("__", ":").replace("pick_", "pick-"): changes[
            name
        ]
        for name in changes
    }
    return {
        "mechanism": "purposeful",
        "epsilon": "1",
        "delta": "1e-9",
        "rows": "",
        "name": "Mine",
    } | given


def form_of(**changes: str) -> ReleaseForm:
    data = QueryDict(mutable=True)
    data.update(typed(**changes))
    return ReleaseForm(data, domain=DOMAIN)


def parameters(**changes: str) -> dict[str, Any]:
    form = form_of(**changes)
    assert form.is_valid(), form.errors
    found: dict[str, Any] = form.cleaned_data["spec"].parameters
    return found


# --- what is read -------------------------------------------------------------------------------------------
def test_weights_are_those_of_the_lines_and_one_is_nothing_said() -> None:
    found = parameters(
        param_target="age",
        param_weights__age="2",
        param_weights__works="0,5",
        param_weights__region="1",
    )
    assert (found["target"], found["weights"]) == ("age", {"age": 2.0, "works": 0.5})


@pytest.mark.parametrize(
    "weight", ["abc", "-1", "1e3", "nan", "１", "0x1", "1001", "9999", "1/2"]
)
def test_a_weight_that_is_none_is_refused_by_its_column_and_stays_typed(weight: str) -> None:
    form = form_of(param_weights__age=weight, param_weights__region="3")
    assert not form.is_valid()
    assert "“age”: write a weight like 2" in str(form.errors["param-weights"])
    assert "region" not in str(form.errors["param-weights"])
    assert json.loads(form["param-weights"].value()) == {"age": weight, "region": "3"}


def test_a_table_is_added_and_taken_away_by_a_button() -> None:
    listed = '[["age", "works"]]'
    added = form_of(
        edit="add:param-marginals", param_marginals=listed, pick_1="region", pick_3="age"
    )
    assert json.loads(added["param-marginals"].value()) == [["age", "works"], ["region", "age"]]
    assert [picked for _, picked in added.picks()] == ["", "", ""]
    gone = form_of(
        edit="remove:param-marginals:0", param_marginals='[["age", "works"], ["region", "age"]]'
    )
    assert json.loads(gone["param-marginals"].value()) == [["region", "age"]]


@pytest.mark.parametrize(
    ("picks", "words"),
    [
        ({"pick_1": "age"}, "two or three different"),
        ({}, "two or three different"),
        ({"pick_1": "age", "pick_2": "age"}, "two or three different"),
        ({"pick_1": "works", "pick_2": "age"}, "listed already"),
    ],
)
def test_what_cannot_be_added_says_why_and_stays_picked(
    picks: dict[str, str], words: str
) -> None:
    form = form_of(edit="add:param-marginals", param_marginals='[["age", "works"]]', **picks)
    assert not form.is_valid()
    assert words in str(form.errors["param-marginals"])
    assert {
        f"pick_{i + 1}": picked for i, (_, picked) in enumerate(form.picks()) if picked
    } == picks
    assert json.loads(form["param-marginals"].value()) == [["age", "works"]]


@pytest.mark.parametrize(
    "asked",
    [
        "remove:param-marginals:7",
        "remove:param-marginals:x",
        f"remove:param-marginals:{'9' * 5000}",
        "add",
        "add:epsilon",
        ":::",
        "x",
    ],
)
def test_a_button_that_nobody_has_changes_nothing(asked: str) -> None:
    form = form_of(edit=asked, param_marginals='[["age", "works"]]')
    assert json.loads(form["param-marginals"].value()) == [["age", "works"]]
    assert form["epsilon"].value() == "1"


@pytest.mark.parametrize(
    "text",
    ["[", "7", '{"a": 1}', "[" * 5000, '[["age"]]', '[["age", "nobody"]]', '"x"', "null"],
)
def test_json_that_is_no_list_of_tables_is_never_an_error_of_the_server(
    browser: Open, cast: Cast, dataset: Dataset, text: str
) -> None:
    for edit in ({}, {"edit": "add:param-marginals"}, {"edit": "remove:param-marginals:0"}):
        answer = browser(cast.steward).post(
            reverse("runs:estimate", args=[dataset.code]),
            typed() | {"param-marginals": text, "param-weights": text} | edit,
        )
        assert answer.status_code == 200


# --- the page -----------------------------------------------------------------------------------------------
pytestmark = pytest.mark.django_db


def page_of(answer: HttpResponse) -> str:
    assert answer.status_code == 200
    return html.unescape(html_of(answer))


def test_the_page_has_a_list_of_columns_a_line_for_each_and_buttons_that_send_the_form(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:new", args=[dataset.code])
    page = page_of(client.post(address, typed(edit="look")))
    assert re.findall(r'<option value="([^"]*)"',
        page.split('name="param-target"')[1].split("</select>")[0]) == [
        "", "region", "age", "works"
    ]  # fmt: skip
    for column in ("region", "age", "works"):
        assert f'name="param-weights:{column}"' in page
        assert (
            f'<option value="{column}"' in page.split('name="pick-1"')[1]
        )  # else blanks in a name would be lost
    assert 'name="edit" value="add:param-marginals"' in page
    assert not SynthesisRun.objects.exists()


def test_without_a_script_tables_are_listed_before_the_button_spends_anything(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:new", args=[dataset.code])
    given = typed(
        param_target="works",
        param_weights__age="3",
        pick_1="age",
        pick_2="works",
        edit="add:param-marginals",
    )
    page = page_of(client.post(address, given))
    assert "age × works" in page
    assert 'value="[["age", "works"]]"' in page
    assert re.search(r'name="param-weights:age" value="3"', page)
    assert re.search(r'<option value="works" selected>', page)
    assert not SynthesisRun.objects.exists()
    answer = client.post(
        address,
        typed(
            param_target="works", param_weights__age="3", param_marginals='[["age", "works"]]'
        ),
    )
    assert answer.status_code == 302
    spec = SynthesisRun.objects.get().spec
    assert spec["parameters"] | {"noise": ""} == {
        "target": "works", "weights": {"age": 3.0}, "marginals": [["age", "works"]], "noise": ""
    }  # fmt: skip


def test_columns_that_were_picked_and_not_added_are_not_dropped_in_silence(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    given = typed(pick_1="age", pick_2="works", request_key="")
    page = page_of(browser(cast.steward).post(reverse("runs:new", args=[dataset.code]), given))
    assert "did not add it" in page
    assert not SynthesisRun.objects.exists()


def test_what_is_asked_for_twice_is_carried_over(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:new", args=[dataset.code])
    page = page_of(
        client.post(
            address,
            typed(epsilon="3", param_weights__age="3", param_marginals='[["age", "works"]]'),
        )
    )
    hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="(.*?)">', page))
    assert client.post(address, hidden).status_code == 302
    kept = SynthesisRun.objects.get().spec["parameters"]
    assert (kept["weights"], kept["marginals"]) == ({"age": 3.0}, [["age", "works"]])


def test_an_error_of_the_engine_stands_at_its_field_and_everything_typed_is_kept(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    given = typed(
        param_target="nobody", param_weights__age="3", param_marginals='[["age", "works"]]'
    )
    page = page_of(browser(cast.steward).post(reverse("runs:new", args=[dataset.code]), given))
    assert re.search(r'id="param-target-errors"><div class="invalid-feedback', page)
    assert '<option value="nobody" selected>nobody (no longer a column)' in page
    assert 'name="param-weights:age" value="3"' in page
    assert "age × works" in page


def test_a_run_is_asked_for_again_with_all_of_it(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:new", args=[dataset.code])
    client.post(
        address,
        typed(
            param_target="age", param_weights__works="0.5", param_marginals='[["age", "works"]]'
        ),
    )
    run = SynthesisRun.objects.get()
    page = page_of(client.get(address, {"like": run.code}))
    assert '<option value="age" selected>' in page
    assert 'name="param-weights:works" value="0.5"' in page
    assert "age × works" in page
    again = ReleaseForm(domain=DOMAIN, **choices_of(run.spec)).as_suggested()
    assert again.is_valid(), again.errors
    assert mechanisms.plan(DOMAIN, again.cleaned_data["spec"]).digest == run.plan_digest


def test_a_weight_of_a_column_that_is_gone_is_shown_and_refused() -> None:
    form = form_of(param_weights='{"city": 2.0, "age": 3}')
    assert [(line.column, line.weight, line.known) for line in form_lines(form)] == [
        ("region", "", True), ("age", "3", True), ("works", "", True), ("city", "2", False)
    ]  # fmt: skip


def form_lines(form: ReleaseForm) -> list[Any]:
    return typed_columns.lines(form["param-weights"].value(), form.columns)


def test_the_moving_part_brings_the_list_of_tables_back_in_place(
    browser: Open, cast: Cast, dataset: Dataset
) -> None:
    client, address = browser(cast.steward), reverse("runs:estimate", args=[dataset.code])
    given = typed(
        edit="add:param-marginals", pick_1="age", pick_2="works", parameters_of="purposeful"
    )
    page = page_of(client.post(address, given))
    assert re.search(r'id="param-marginals-fold" hx-swap-oob="true" open', page)
    assert "age × works" in page
    assert 'id="param-marginals-fold"' not in page_of(
        client.post(address, typed(parameters_of="purposeful"))
    )


# --- the choice of a method ---------------------------------------------------------------------------------
def described(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "title": name} for name in names]


def test_the_form_begins_with_ours_and_falls_back_while_it_is_absent() -> None:
    assert (
        methods.preferred(described("independent", "mst", "auto"), recommended="auto") == "auto"
    )
    assert (
        methods.preferred(described("independent", "mst"), recommended="auto") == "independent"
    )


BLOCKS = ["a", "b", "c"]
HOME: dict[str, Any] = {"name": "home", "kind": "categorical", "values": BLOCKS, "other": True}
AGE: dict[str, Any] = {"name": "age", "kind": "integer", "low": 0, "high": 9}
WORDS: dict[str, Any] = {
    "name": "term",
    "kind": "weak",
    "values": {"set": "strings", "alphabet": "abc", "min_length": 1, "max_length": 4},
}
AT = [{"column": "home", "at": {block: [41 + at, -71] for at, block in enumerate(BLOCKS)}}]
TOTALS = {"relation": "replace-one", "totals": {"column": "home", "counts": {"a": 5}}}


@pytest.mark.parametrize(
    ("document", "first"),
    [
        ({"attributes": [HOME], "points": AT}, "adaptive"),
        ({"attributes": [HOME, AGE], "points": AT}, "auto"),
        ({"attributes": [WORDS]}, "adaptive"),
        ({"attributes": [HOME, AGE], "points": AT, **TOTALS}, "on-the-map"),
    ],
)
def test_the_form_begins_with_the_method_made_for_such_tables(
    document: dict[str, Any], first: str
) -> None:
    form = ReleaseForm(domain=Domain.from_json(document))
    assert bool(form.beyond_forecast) == (first != "auto")
    recommended, *others = form.families()
    assert form.chosen == recommended.methods[0]["id"] == first
    assert recommended.words == methods.WHY[first]
    assert {one["id"] for one in recommended.methods} <= {first, "adaptive", "auto"}
    assert first not in {one["id"] for family in others for one in family.methods}


@pytest.mark.parametrize(
    ("rule", "totals", "delta"),
    [(Rule.ZCDP, TOTALS, "0"), (Rule.ZCDP, {}, "1e-9"), (Rule.BASIC, TOTALS, "1e-9")],
)
def test_a_form_begins_with_a_delta_that_the_recommended_method_may_have(
    rule: Rule, totals: dict[str, Any], delta: str
) -> None:
    cap = Amount(epsilon=4 * 10**9, delta=10**12, rho=10**9)
    balance = Balance(rule=rule, cap=cap, held=Amount(), charged=Amount())
    domain = Domain.from_json({"attributes": [HOME, AGE], "points": AT, **totals})
    assert screens.suggested(balance, domain)["delta"] == delta


def test_nine_methods_come_in_three_groups_of_which_the_chosen_one_is_open() -> None:
    nine = described(
        "independent",
        "bayesian-network",
        "random",
        "weak-domain",
        "auto",
        "mst",
        "privsyn",
        "aim",
        "dpsyn",
    )
    found = methods.families(nine, first="auto", chosen="mst")
    assert [[one["id"] for one in family.methods] for family in found] == [
        ["auto"],
        ["bayesian-network", "mst", "privsyn", "aim", "dpsyn"],
        ["independent", "random", "weak-domain"],
    ]
    assert [family.folded for family in found] == [False, False, True]
    assert [
        family.folded for family in methods.families(nine, first="auto", chosen="auto")
    ] == [False, True, True]


# --- REST ---------------------------------------------------------------------------------------------------
def test_rest_takes_lists_and_objects_and_gives_them_back(cast: Cast, dataset: Dataset) -> None:
    asked = {"target": "age", "weights": {"works": 2}, "marginals": [["age", "works"]]}
    body = {
        "dataset": dataset.code,
        "mechanism": "purposeful",
        "epsilon": "0.5",
        "parameters": asked,
    }
    answer = rest.Caller(cast.steward, "spend").send("/runs/", body)
    assert answer.status_code == 202, answer.content
    assert asked.items() <= answer.json()["spec"]["parameters"].items()


@pytest.mark.parametrize(
    ("wrong", "pointer", "status"),
    [
        ({"weights": {"works": "2"}}, "/parameters/weights", 400),
        ({"weights": '{"works": 2}'}, "/parameters/weights", 400),
        ({"marginals": "[]"}, "/parameters/marginals", 400),
        ({"marginals": [["age", 1]]}, "/parameters/marginals", 400),
        ({"marginals": [["age"]]}, "/parameters/marginals", 422),
        ({"marginals": [["age", "nobody"]]}, "/parameters/marginals", 422),
        ({"target": "nobody"}, "/parameters/target", 422),
        ({"weights": {"works": 1001}}, "/parameters/weights", 422),
    ],
)
def test_rest_is_strict_with_their_types_and_says_where(
    cast: Cast, dataset: Dataset, wrong: dict[str, Any], pointer: str, status: int
) -> None:
    body = {
        "dataset": dataset.code,
        "mechanism": "purposeful",
        "epsilon": "0.5",
        "parameters": wrong,
    }
    answer = rest.Caller(cast.steward, "spend").send("/runs/", body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (status, pointer)
    assert "nobody" not in html_of(answer)


@pytest.mark.parametrize(
    ("completed", "partial"),
    [({}, "marked"), ({"completions": {"set": "list", "values": ["abc"]}}, "completed")],
)
def test_beginnings_of_texts_are_marked_where_no_public_texts_complete_them(
    completed: dict[str, Any], partial: str
) -> None:
    form = ReleaseForm(domain=Domain.from_json({"attributes": [WORDS | completed]}))
    assert form["param-partial"].value() == partial
    places = Domain.from_json({"attributes": [HOME, AGE], "points": AT})
    chosen = ReleaseForm({"mechanism": "adaptive"}, domain=places)
    assert chosen["param-partial"].value() == "completed"
    assert chosen.beyond_forecast.startswith(
        "What the chosen method is for is not in these figures"
    )
    assert not ReleaseForm(domain=places).beyond_forecast
