"""Criteria: stated before the run, refused in words if they cannot be computed, and judged from noisy and
from paid answers."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest
from django.test import Client

from synth_engine.domain import Domain
from synth_engine.errors import SpecError
from synth_engine.evaluation import criteria
from synth_engine.evaluation.criteria import Criterion
from synth_engine.plans.release_check import CheckedFigure
from synth_engine.spec import Spec
from synthweb.releases import criteria_page
from synthweb.releases.models import Release
from synthweb.runs import choices_file, ranges, released_counts, services, worker
from synthweb.runs.checks import CheckRequest, ReleaseCheck
from synthweb.runs.models import SynthesisRun
from synthweb.runs.planning import PublicFacts, ReleaseRequest
from tests.cast import Cast
from tests.web import scene
from tests.web.html import html_of

pytestmark = pytest.mark.django_db
NEAR = CheckedFigure(kind="counts", columns=("works",), least=20, within=Fraction(1, 2))
EXACT = CheckedFigure(kind="counts", columns=("age",), least=1, within=Fraction(1, 1000))
CRITERIA = (
    Criterion(asked=NEAR),
    Criterion(asked=EXACT),
    Criterion(asked=CheckedFigure(kind="distance", columns=("region",)), most=Fraction(1, 2)),
    Criterion(asked=CheckedFigure(kind="ks", columns=("age",)), most=Fraction(4, 5)),
    Criterion(
        asked=CheckedFigure(kind="auc", columns=("works", "age"), codes=((1,),)),
        at_least=Fraction(1, 1000),
    ),
)
FORM = {
    "mechanism": "independent",
    "epsilon": "1",
    "delta": "0",
    "param-noise": "laplace",
    "parameters_of": "independent",
    "criteria_counts": "works",
    "criteria_least": "20",
    "criteria_within": "50",
    "criteria_distances": "region: 50\nage: 25",
    "criteria_ks": "age: 80",
    "criteria_auc": "works=yes; age, region: 60",
    "request_key": "a press",
}


def spec(mechanism: str = "independent") -> Spec:
    return Spec.from_json({"mechanism": mechanism, "epsilon": "1", "delta": "1e-9"})


def submit(cast: Cast, *stated: Criterion, mechanism: str = "independent") -> SynthesisRun:
    return services.submit(
        ReleaseRequest(
            dataset=scene.funded(cast), spec=spec(mechanism), facts=PublicFacts(criteria=stated)
        ),
        steward=cast.steward,
    )


def test_criteria_are_fixed_with_the_run_and_judged_from_the_noisy_answers(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    run = submit(cast, *CRITERIA)
    assert [Criterion.from_json(each) for each in run.criteria] == list(CRITERIA)
    worker.synthesize(code=run.code)
    release = Release.objects.get()
    assert release.criteria == run.criteria
    waiting = criteria_page.page_of(release)
    assert waiting.waits
    assert {line.private_verdict for line in waiting.lines} == {"cannot-tell"}
    ranges.compute(code=services.request_ranges(release=release).code)
    released_counts.compute(code=services.request_counts(release=release).code)
    page = criteria_page.page_of(release)
    assert not page.waits
    near, exact, distance, gap, area = page.lines
    assert (area.private_verdict, area.private_figure) == ("cannot-tell", None)
    assert near.private_verdict == "met"  # counts of about 150 with noise of about 4
    assert exact.private_verdict != "met"  # no count of noise is known so well
    assert distance.private_verdict == gap.private_verdict == "met"
    assert gap.private_figure is not None
    assert 0 <= gap.private_figure.low <= gap.private_figure.high < 4 / 5
    # The same figures, paid for.
    request = CheckRequest(figures=tuple(each.asked for each in CRITERIA), epsilon=Fraction(2))
    asked = services.submit(
        ReleaseCheck(release=release, request=request), steward=cast.steward
    )
    worker.synthesize(code=asked.code)
    lines = criteria_page.page_of(release).lines
    assert [line.paid_verdict for line in (lines[0], *lines[2:4])] == ["met"] * 3
    assert lines[4].paid_figure is not None
    client = browser(cast.steward)
    html = html_of(client.get(f"/releases/{release.code}/criteria/"))
    assert html.count("data-private=") == 5
    rest = client.get(f"/api/v1/releases/{release.code}/criteria/").json()
    assert [each["private"] for each in rest] == [line.private_verdict for line in lines]
    assert client.get(f"/releases/{release.code}/paid/new/?figures=criteria").status_code == 200
    worker.table_job(code=services.request_report(release=release, actor=cast.steward).code)
    compare = html_of(client.get(f"/releases/{release.code}/compare/all/"))
    assert "data-exact-criteria" in compare
    assert "/criteria/" in html_of(client.get(f"/releases/{release.code}/receipt/"))


@pytest.mark.parametrize(
    ("criterion", "mechanism"),
    [
        (
            Criterion(
                asked=CheckedFigure(kind="distance", columns=("nowhere",)), most=Fraction(1, 2)
            ),
            "independent",
        ),
        (
            Criterion(asked=CheckedFigure(kind="ks", columns=("region",)), most=Fraction(1, 2)),
            "independent",
        ),
        # Independent columns say nothing of pairs.
        (
            Criterion(
                asked=CheckedFigure(kind="mean-distance", columns=("region", "age", "works")),
                most=Fraction(1, 2),
            ),
            "independent",
        ),
        (
            Criterion(
                asked=CheckedFigure(kind="mean-distance", columns=("region", "age")),
                most=Fraction(1, 2),
            ),
            "auto",
        ),
    ],
)
def test_a_criterion_that_cannot_be_computed_is_refused_before_anything_is_held(
    cast: Cast, criterion: Criterion, mechanism: str
) -> None:
    with pytest.raises(SpecError):
        submit(cast, criterion, mechanism=mechanism)
    assert not SynthesisRun.objects.exists()


def test_the_form_states_criteria_and_a_file_of_choices_fills_it_in_again(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    dataset, client = scene.funded(cast), browser(cast.steward)
    address = f"/datasets/{dataset.code}/releases/new/"
    for wrong in (
        {"criteria_distances": "region"},
        {"criteria_distances": "region: many"},
        {"criteria_distances": "nowhere: 5"},
        {"criteria_ks": "age"},
        {"criteria_ks": "region: 5"},
        {"criteria_auc": "works=yes: 60"},
        {"criteria_auc": "works=never; age: 60"},
        {"criteria_auc": "works=yes; age: 0"},
        {"criteria_counts": "age, region, works, more"},
        {"criteria_least": "-1"},
        {"criteria_within": "0"},
        {"criteria_pairs": "5"},
    ):
        page = html_of(client.post(address, FORM | wrong))
        assert 'role="alert"' in page, wrong
        assert not SynthesisRun.objects.exists(), wrong
    # A request that estimates says what the criteria need, and one that asks for more needs more.
    needed = [
        re.search(
            r"data-needed>[^<]*?about ([0-9.]+)",
            html_of(client.post(f"{address}estimate/", FORM | {"criteria_within": per_cent})),
        )
        for per_cent in ("50", "90")
    ]
    assert needed != [None] * 2
    assert float(needed[0][1]) > float(needed[1][1])  # type: ignore[index]
    assert client.post(address, FORM).status_code == 302
    run = SynthesisRun.objects.get()
    assert [each["kind"] for each in run.criteria] == [
        "counts",
        "distance",
        "distance",
        "ks",
        "auc",
    ]
    kept = client.get(f"/runs/{run.code}/choices.json").content
    assert "seed" not in json.loads(kept)
    brought = io.BytesIO(kept)
    brought.name = "choices.json"
    page = html_of(client.post(address, {"choices": brought}))
    assert "region: 50" in page
    assert 'value="laplace" selected' in page
    again = html_of(client.get(f"{address}?like={run.code}"))
    assert "region: 50" in again
    for text in ("age: 80", "works=yes; age, region: 60"):
        assert text in page
        assert text in again
    assert SynthesisRun.objects.count() == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b'{"schema": "synthweb/choices/1"}',
        b'{"schema": "synthweb/choices/1", "mechanism": "auto", "epsilon": "nothing"}',
        b'{"schema": "synthweb/choices/1", "mechanism": "gone", "epsilon": "1"}',
        b'{"schema": "synthweb/choices/1", "mechanism": "auto", "epsilon": "1", "criteria": 3}',
        b'{"schema": "synthweb/choices/1", "mechanism": "auto", "epsilon": "1", "criteria": [{}]}',
        b'{"schema": "synthweb/choices/1", "mechanism": "auto", "epsilon": "1", "seed": "1"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_file_of_choices_is_refused_in_words(content: bytes) -> None:
    with pytest.raises(SpecError):
        choices_file.initial_of(content, Domain.from_json(scene.DOMAIN))


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.7, 0.8, "met"), (0.5, 0.6, "not-met"), (0.6, 0.8, "cannot-tell")],
)
def test_a_classifier_has_to_be_good_enough(low: float, high: float, said: str) -> None:
    criterion = replace(CRITERIA[-1], at_least=Fraction(7, 10))
    assert criteria.verdict(criterion, low=low, high=high, cells=4) == said
    assert Criterion.from_json(criterion.to_json()) == criterion


def test_rest_states_criteria(cast: Cast, browser: Callable[..., Client]) -> None:
    dataset, client = scene.funded(cast), browser(cast.steward)
    send = partial(client.post, "/api/v1/runs/", content_type="application/json")
    body = {"dataset": dataset.code, "mechanism": "independent", "epsilon": "1"}
    stated = [criterion.to_json() for criterion in CRITERIA]
    assert (
        send(body | {"criteria": [{"kind": "distance", "columns": ["age"]}]}).status_code == 422
    )
    classifier = {"kind": "auc", "columns": ["age"], "where": "works=yes", "at_least": "1/1000"}
    for wrong in ({"where": "works=never"}, {"at_least": "2"}, {"most": "0.5"}):
        assert send(body | {"criteria": [classifier | wrong]}).status_code == 422, wrong
    answer = send(body | {"criteria": [*stated[:-1], classifier]})
    assert answer.status_code == 202
    assert answer.json()["criteria"] == stated


def test_private_checks_then_sharing_then_the_exact_look_earn_no_mark(
    cast: Cast, browser: Callable[..., Client]
) -> None:
    """The straight path, in the order of the steps; a check that is asked for after the look says so."""
    played = scene.play(
        steward=cast.steward, custodian=cast.custodian, organisation=cast.organisation
    )
    client, release = browser(cast.steward), played.release
    check = scene.measured(steward=cast.steward, release=release)
    for tab in ("look", "expected", "marginals", "paid"):
        assert client.get(f"/releases/{release.code}/{tab}/").status_code == 200
    assert client.get(f"/releases/{release.code}/compare/").status_code == 200
    receipt = client.get(f"/api/v1/releases/{release.code}/receipt/").json()
    assert not receipt["chosen_after_looking"]
    assert not receipt["marks"]
    assert not check.receipt["chosen_after_looking"]
    assert scene.measured(steward=cast.steward, release=release).receipt["chosen_after_looking"]
