"""`on-the-map`: from a description with public totals to a release, its receipt and its forecast; and what it
refuses."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, pipeline, verifier
from synth_engine.domain import Categorical, Domain, Partition, PointSet, Totals
from synth_engine.domain.resolution import parting_of
from synth_engine.errors import (
    DomainError,
    InputError,
    PrivacyError,
    SpecError,
    VerificationError,
)
from synth_engine.inference.geography import Geography
from synth_engine.measurement import Answers
from synth_engine.mechanisms.on_the_map import resolution as parted_by
from synth_engine.models import description
from synth_engine.models.model import Model
from synth_engine.plans.plan import Plan
from synth_engine.privacy import receipt, resampling
from synth_engine.privacy.events import DirichletMultinomial
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec
from tests.engine import great_circle

HOMES, WORKS = tuple("ABCDEF"), ("north", "south", "nobody")
TOTALS = (400, 90, 0)
AT = {
    "A": (41.0, -71.0),
    "B": (41.1, -71.0),
    "C": (41.2, -71.0),
    "D": (41.6, -71.4),
    "E": (41.7, -71.4),
    "F": (41.8, -71.4),
}
WORK_AT = {"north": (41.75, -71.4), "south": (41.05, -71.0), "nobody": (41.5, -71.2)}


def domain_of(*, points: bool = True, totals: tuple[int, ...] | None = TOTALS) -> Domain:
    return Domain(
        attributes=(
            Categorical(name="home", values=HOMES, outside="clamp"),
            Categorical(name="work", values=WORKS, outside="clamp"),
        ),
        relation=Relation.REPLACE_ONE,
        totals=None if totals is None else Totals(column="work", counts=totals),
        points=(
            PointSet(column="home", at=tuple((*AT[home], 1.0) for home in HOMES)),
            PointSet(column="work", at=tuple((*WORK_AT[work], 1.0) for work in WORKS)),
        )
        if points
        else (),
    )


def table(times: int = 1) -> pd.DataFrame:
    """Those in the north live in D, E and F, those in the south in A and B; each row so many times."""
    homes = ["D"] * 100 + ["E"] * 250 + ["F"] * 50 + ["A"] * 60 + ["B"] * 30
    return pd.DataFrame(
        {"home": homes * times, "work": (["north"] * 400 + ["south"] * 90) * times}
    )


def plan_of(domain: Domain, epsilon: str = "2", delta: str = "1e-6", **parameters: Any) -> Plan:
    spec = Spec(
        mechanism="on-the-map",
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        parameters=parameters,
    )
    return mechanisms.plan(domain, spec)


def released(tmp_path: Path, plan: Plan, *, times: int = 1) -> tuple[Answers, Model]:
    path = tmp_path / "commutes.csv"
    table(times).to_csv(path, index=False)
    answers = pipeline.measure(path, plan=plan)
    return answers, plan.fit(answers)


@pytest.mark.parametrize("points", [True, False])
def test_a_release_keeps_the_totals_exactly_and_the_homes_of_large_groups(
    tmp_path: Path, points: bool
) -> None:
    answers, model = released(tmp_path, plan_of(domain_of(points=points), "4"))
    drawn = mechanisms.draw_table(model, model.rows, "seed")
    assert drawn["work"].value_counts().to_dict() == {"north": 400, "south": 90}
    assert drawn.equals(mechanisms.draw_table(model, model.rows, "seed"))
    found = pd.crosstab(drawn["work"], drawn["home"]).reindex(columns=list(HOMES), fill_value=0)
    truth = pd.crosstab(table()["work"], table()["home"]).reindex(
        columns=list(HOMES), fill_value=0
    )
    assert (found - truth).abs().to_numpy().sum() / 2 < 0.25 * len(drawn)
    assert answers.resampled is not None
    if not points:
        assert (found.loc[["north", "south"]].to_numpy() == answers.resampled.values[:2]).all()


@pytest.mark.parametrize("points", [True, False])
def test_several_records_are_drawn_for_each_with_the_totals_as_many_times(
    tmp_path: Path, points: bool
) -> None:
    plan, one = (plan_of(domain_of(points=points), "4", copies=copies) for copies in (3, 1))
    answers, model = released(tmp_path, plan)
    drawn = mechanisms.draw_table(model, model.rows, "seed")
    assert drawn["work"].value_counts().to_dict() == {"north": 1_200, "south": 270}
    (event,), (single,) = plan.events, one.events
    assert all(
        more[1] > less[1]
        for more, less in zip(event.priors, single.priors, strict=True)  # type: ignore[union-attr]
    )
    found = verifier.verify(plan.receipt(answers))
    assert (found.epsilon, found.delta) == (4, Fraction("1e-6"))
    assert "copies" not in one.receipt()["calls"][0]["noise"]
    forged = resealed(plan.receipt(), {"copies": 4})
    with pytest.raises(VerificationError, match="too small"):
        verifier.verify(forged)


def test_the_papers_priors_are_for_one_record_each() -> None:
    with pytest.raises(SpecError, match="as many records as there are"):
        plan_of(domain_of(), copies=2, prior="programme")


def test_the_filter_moves_what_the_prior_put_far_away(tmp_path: Path) -> None:
    """At this budget the prior of the south is 209 records for its 90: it puts 31 of them in D, E and F, and
    5 or fewer once in 10⁸ times."""
    plan = plan_of(domain_of(), "0.6", decay_miles=5)
    answers, model = released(tmp_path, plan)
    plain = plan_of(domain_of(), "0.6", filter=False).fit(answers)

    def far(one: Model) -> int:
        drawn = mechanisms.draw_table(one, one.rows, "seed")
        return int(((drawn["work"] == "south") & drawn["home"].isin(list("DEF"))).sum())

    assert far(plain) > 5
    assert far(model) < far(plain) / 3


def test_pairs_beyond_the_farthest_distance_are_not_drawn(tmp_path: Path) -> None:
    _, model = released(tmp_path, plan_of(domain_of(), "0.6", farthest_miles=20))
    drawn = mechanisms.draw_table(model, model.rows, "seed")
    assert not ((drawn["work"] == "south") & drawn["home"].isin(list("DEF"))).any()
    assert drawn["work"].value_counts().to_dict() == {"north": 400, "south": 90}


def test_distances_and_the_farthest_one() -> None:
    """Providence to Newport is 21.7 miles as the crow flies."""
    apart = great_circle.miles(
        np.array([[41.824, -71.413]]), np.array([[41.490, -71.313], [41.824, -71.413]])
    )
    assert apart[0] == pytest.approx([23.6, 0], abs=0.1)
    place = Geography(
        groups=np.array([[41.824, -71.413]]),
        origins=np.array([[41.490, -71.313]]),
        weights=np.ones(1),
        part=np.zeros(1, dtype=np.int64),
        parts=1,
        scale=6.0,
        farthest=3.0,
    )
    with pytest.raises(SpecError, match="farthest"):
        place.view_from(place.vectors[0])


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_the_receipt_is_verified_and_says_what_is_kept(tmp_path: Path, delta: str) -> None:
    plan = plan_of(domain_of(), "2", delta)
    answers, _ = released(tmp_path, plan)
    document = plan.receipt(answers)
    found = verifier.verify(document)
    assert (found.epsilon, found.delta, found.certificate) == (2, Fraction(delta), "basic")
    # Half of the squared epsilon bounds a pure loss alone.
    rho = None if Fraction(delta) else Fraction(2)
    assert found.rho == rho
    assert document["guarantee"].get("rho") == (None if rho is None else "2/1")
    assert document["guarantee"]["sentence"].endswith("for one record replaced, its work kept.")
    assert (
        "How many records have each work is public and exact, and is not protected."
        in found.sentences
    )


def resealed(document: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    call = document["calls"][0]
    call = call | {"noise": call["noise"] | change}
    call["cost"] = {name: call["noise"][name] for name in ("epsilon", "delta")}
    event = call["noise"] | call["sensitivity"]
    plan = {
        "schema": "synth_engine/plan/3",
        "mechanism": "on-the-map",
        "parameters": document["mechanism"]["parameters"],
        "domain": document["domain_sha256"],
        "facts": document["domain_facts"],
        "relation": document["relation"],
        "unit": document["unit"],
        "invariants": document["invariants"],
        "target": [document["target"]["epsilon"], document["target"]["delta"]],
        "calls": [{"query": call["query"], "event": event}],
        "cap": None,
        "certificate": document["guarantee"]["certificate"],
    }
    digests = {
        "sha256": receipt.digest(plan),
        "calls_sha256": receipt.digest([call]),
        "cap": None,
    }
    return receipt.seal(document | {"calls": [call], "plan": digests})


@pytest.mark.parametrize("rho", ["2/1", "1000/1"])
def test_a_rho_that_is_claimed_beside_a_delta_does_not_verify(rho: str) -> None:
    document = plan_of(domain_of()).receipt()
    claim = document["guarantee"] | {"rho": rho}
    with pytest.raises(VerificationError, match="none does from a delta"):
        verifier.verify(receipt.seal(document | {"guarantee": claim}))


def test_without_its_rho_a_pure_claim_does_not_verify() -> None:
    document = plan_of(domain_of(), delta="0").receipt()
    claim = {name: part for name, part in document["guarantee"].items() if name != "rho"}
    with pytest.raises(VerificationError, match="where one follows"):
        verifier.verify(receipt.seal(document | {"guarantee": claim}))


def test_a_forged_prior_does_not_verify() -> None:
    plan = plan_of(domain_of())
    document = plan.receipt()
    noise = document["calls"][0]["noise"]
    assert verifier.verify(resealed(document, {}))
    smaller = [[size, weight * 9 // 10] for size, weight in noise["priors"]]
    with pytest.raises(VerificationError, match="too small"):
        verifier.verify(resealed(document, {"priors": smaller}))
    with pytest.raises(VerificationError, match="adds up to more than is claimed"):
        verifier.verify(resealed(document, {"delta": "1/1000"}))
    with pytest.raises(VerificationError, match="below what the calls add up to"):
        verifier.verify(resealed(document, {"epsilon": "5/2"}))


@pytest.mark.parametrize("prior", ["programme", "zero-sample"])
def test_priors_of_the_paper_are_larger_and_verify(prior: str) -> None:
    least, published = plan_of(domain_of()), plan_of(domain_of(), prior=prior)
    (one,), (other,) = least.events, published.events
    assert all(a[1] <= b[1] for a, b in zip(one.priors, other.priors, strict=True))
    assert one.priors != other.priors  # type: ignore[union-attr]
    pipeline.confirm(published)


def test_the_forecast_says_how_much_comes_from_the_prior() -> None:
    shares = [plan_of(domain_of(), epsilon).prior_share for epsilon in ("0.6", "2", "6")]
    assert 1 > shares[0] > shares[1] > shares[2] > 0
    found = plan_of(domain_of()).expected_error()
    assert found.attributes["work"] == 0
    assert 0 < found.mean < found.mean_pairs < 1


def test_it_is_offered_for_tables_with_public_totals_alone() -> None:
    assert "on-the-map" in [one["id"] for one in mechanisms.describe(domain_of())]
    assert "on-the-map" not in [
        one["id"] for one in mechanisms.describe(domain_of(totals=None))
    ]


def test_what_it_is_not_for_is_refused() -> None:
    with pytest.raises(SpecError, match="public totals of one"):
        plan_of(replace(domain_of(totals=None), rows=490))
    third = Categorical(name="third", values=("x", "y"), outside="clamp")
    domain = domain_of()
    with pytest.raises(SpecError, match="two columns"):
        plan_of(replace(domain, attributes=(*domain.attributes, third)))
    with pytest.raises(SpecError, match=r"ln 3.*Theorem 4\.1"):
        plan_of(domain, "1.05", prior="zero-sample")
    with pytest.raises(SpecError, match="delta above 0"):
        plan_of(domain, delta="0", prior="programme")
    with pytest.raises(SpecError, match=r"epsilon 0\.5"):
        plan_of(domain, "0.4")
    spec = Spec(
        mechanism="on-the-map", epsilon=Fraction(2), delta=Fraction(1, 10**6), parameters={}
    )
    with pytest.raises(SpecError, match="account of rho"):
        mechanisms.plan(domain, spec, rule="zcdp")
    assert mechanisms.plan(domain, spec).cost("basic") == (2 * 10**9, 10**12, 0)


def test_a_table_with_other_totals_is_refused_without_saying_which(tmp_path: Path) -> None:
    path = tmp_path / "commutes.csv"
    table().iloc[1:].to_csv(path, index=False)
    with pytest.raises(PrivacyError, match="declared public") as refused:
        pipeline.measure(path, plan=plan_of(domain_of()))
    assert "north" not in str(refused.value)


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        ({"A": [41, -71]}, "one for each declared value"),
        ({key: [0, 0] for key in HOMES}, r"\(0, 0\)"),
        ({key: [-171.4, 41.8] for key in HOMES}, "no latitude"),
        ({key: [41, "71W"] for key in HOMES}, "two or three numbers"),
        ({key: [41, -71, 0] for key in HOMES}, "weight"),
    ],
)
def test_a_gazetteer_that_cannot_be_right_is_refused(at: dict[str, Any], reason: str) -> None:
    document = domain_of().to_json() | {"points": [{"column": "home", "at": at}]}
    with pytest.raises(DomainError, match=reason):
        Domain.from_json(document)


def test_points_belong_to_the_description() -> None:
    domain = domain_of()
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    assert domain.digest != domain_of(points=False).digest


AREAS = Partition(
    name="shore", column="home", of=("east", "east", "east", "west", "west", "west")
)


def parted(domain: Domain, **more: Any) -> Domain:
    return replace(domain, partitions=(AREAS,), **more)


def test_counted_by_a_partition_there_is_less_prior_and_the_values_come_back(
    tmp_path: Path,
) -> None:
    plan = plan_of(parted(domain_of()), "1", parts="shore")
    (call,) = plan.calls
    assert (call.query.parting, call.query.cells, call.event.origins) == ("shore", 6, 2)
    answers, model = released(tmp_path, plan)
    assert answers.resampled is not None
    assert answers.resampled.shape == (3, 2)
    drawn = mechanisms.draw_table(model, model.rows, "seed")
    assert drawn["work"].value_counts().to_dict() == {"north": 400, "south": 90}
    assert drawn["home"].nunique() > 3
    assert verifier.verify(plan.receipt(answers)).epsilon == 1


@pytest.mark.parametrize("points", [True, False])
def test_small_groups_are_counted_by_larger_parts(tmp_path: Path, points: bool) -> None:
    domain = parted(domain_of(points=points, totals=(4_000, 900, 0)))
    plan = plan_of(domain, "3", parts="shore; values from 1000")
    (call,) = plan.calls
    assert (call.query.parting, call.query.cells) == ("shore; values from 1000", 18)
    small, large = (
        plan_of(domain, "3", parts=name).calls[0].event for name in ("shore", "values")
    )
    priors = call.event.by_size  # type: ignore[union-attr]
    for size, other in ((900, small.by_size[900]), (4_000, large.by_size[4_000])):  # type: ignore[union-attr]
        assert priors[size] == pytest.approx(other, rel=1e-5)
    answers, model = released(tmp_path, plan, times=10)
    assert answers.resampled is not None
    assert not answers.resampled.values[1, 2:].any()
    drawn = mechanisms.draw_table(model, model.rows, "seed")
    assert drawn["work"].value_counts().to_dict() == {"north": 4_000, "south": 900}
    north = drawn[drawn["work"] == "north"]["home"].value_counts()
    assert (
        2_000 < north["E"] < 3_000
    )  # 2,497 with a deviation of 43: that of its beta-binomial law
    document = plan.receipt(answers)
    assert verifier.verify(document).epsilon == 3
    assert plan.expected_error().assumes.startswith(
        "Counted in up to 6 parts (shore; values from 1000)"
    )


def test_values_within_a_part_are_as_likely_as_each_other_without_points(
    tmp_path: Path,
) -> None:
    _, model = released(tmp_path, plan_of(parted(domain_of(points=False)), "4", parts="shore"))
    drawn = mechanisms.draw_table(model, model.rows, "seed")
    north = drawn[drawn["work"] == "north"]["home"].value_counts()
    assert north[["D", "E", "F"]].max() - north[["D", "E", "F"]].min() <= 2


def state() -> Domain:
    """A column of 240 homes in 40 towns of 5 counties, and 300 places of work with 10 to 800 jobs."""
    homes = Categorical(
        name="home", values=tuple(f"h{number}" for number in range(240)), other=True
    )
    works = Categorical(
        name="work", values=tuple(f"w{number}" for number in range(300)), other=True
    )
    towns = (
        Partition(
            name=name, column="home", of=tuple(f"{number // each}" for number in range(240))
        )
        for name, each in (("town", 6), ("county", 48))
    )
    counts = (*[10] * 200, *[40] * 60, *[200] * 20, *[800] * 20, 0)
    return Domain(
        attributes=(homes, works),
        relation=Relation.REPLACE_ONE,
        totals=Totals(column="work", counts=counts),
        partitions=tuple(towns),
    )


def test_parts_are_finer_for_more_budget_and_for_large_groups_first() -> None:
    chosen = [plan_of(state(), epsilon).calls[0] for epsilon in ("0.5", "2", "4", "4.5", "6")]
    # the town and not the county, whose prior is smaller
    named = ["town", "town", "town; values from 800", "town; values from 200", ""]
    assert [call.query.parting for call in chosen] == named
    event, by_hand = (
        chosen[3].event,
        plan_of(state(), "4.5", parts="town; values from 200").calls[0].event,
    )
    assert isinstance(event, DirichletMultinomial) and isinstance(by_hand, DirichletMultinomial)
    for size, (prior, origins) in event.by_size.items():
        assert (prior, origins) == (
            pytest.approx(by_hand.by_size[size][0], rel=1e-4),
            by_hand.by_size[size][1],
        )


def test_the_choice_of_parts_is_what_loses_least_of_all_that_can_be_named() -> None:
    sizes = (1, 10, 100, 1000)
    looked = [
        parted_by.Resolution(
            name=name, parts=parts, priors=dict(zip(sizes, priors, strict=True)), unit=100
        )
        for name, parts, priors in (
            ("few", 10, (1, 3, 8, 20)),
            ("some", 60, (3, 9, 40, 30)),
            ("many", 500, (90, 90, 50, 1)),
        )
    ]
    for totals in (
        (1, 10, 100, 1000),
        (1, 1, 1, 0),
        (1000,) * 3,
        (10, 10, 100),
        (1, 10, 10, 100, 1000, 1000),
    ):
        found = parted_by.best(looked, totals)
        by_name = {way.name: way for way in looked}

        def lost(
            ways: tuple[tuple[int, str], ...],
            totals: tuple[int, ...] = totals,
            by: Any = by_name,
        ) -> float:
            return sum(n * by[parting_of(n, ways)].lost(n) for n in totals if n)

        single = min(lost(((0, way.name),)) for way in looked)
        mixed = [
            lost(((0, one.name), (least, other.name)))
            for one, other in itertools.combinations(looked, 2)
            for least in sizes[1:]
        ]
        assert lost(found) == pytest.approx(min(mixed) if len(found) == 2 else single)
        assert (len(found) == 2) == (min(mixed) < single * 11 / 12)


def test_two_parts_whose_name_would_be_read_otherwise_are_not_mixed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = state()
    odd = tuple(
        replace(each, name="a; b") if each.name == "county" else each
        for each in domain.partitions
    )
    monkeypatch.setattr(parted_by, "best", lambda *_: ((0, "town"), (200, "a; b")))
    assert plan_of(replace(domain, partitions=odd), "4.5").calls[0].query.parting == "town"


def test_other_and_missing_lie_nowhere_and_are_kept(tmp_path: Path) -> None:
    homes = Categorical(name="home", values=HOMES, other=True, missing=("",))
    works = Categorical(name="work", values=WORKS, other=True)
    totals = (1_600, 360, 0, 120)
    domain = replace(
        parted(domain_of()),
        attributes=(homes, works),
        rows=None,
        totals=Totals(column="work", counts=totals),
    )
    rows = pd.concat(
        [
            table(4),
            pd.DataFrame({"home": ["", "elsewhere", "A"] * 40, "work": ["abroad"] * 120}),
        ]
    )
    rows = rows.reset_index(drop=True)
    rows.loc[rows.index[rows["work"] == "north"][:160], "home"] = ""
    rows.to_csv(tmp_path / "commutes.csv", index=False)
    for parts in ("values", "shore"):
        plan = plan_of(domain, "5", parts=parts)
        model = plan.fit(pipeline.measure(tmp_path / "commutes.csv", plan=plan))
        found = model.sample(2_080, seed="s")
        assert np.bincount(found["work"]).tolist() == list(totals)
        missing = np.bincount(found["home"], minlength=8)[7]
        assert (
            60 < missing < 440
        )  # of 200, with a deviation of 18: that of the beta-binomial laws of the three groups


def test_a_table_with_too_many_cells_is_kept_by_those_that_are_not_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(domain_of(), "4")
    answers, dense = released(tmp_path, plan)
    monkeypatch.setattr("synth_engine.mechanisms.on_the_map.on_the_map.MAX_DENSE_CELLS", 5)
    model = plan.fit(answers)
    assert model.tables == ()
    assert model.cells is not None
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    drawn = mechanisms.draw_table(again, again.rows, "seed")
    assert drawn.equals(mechanisms.draw_table(model, model.rows, "seed"))
    same = mechanisms.draw_table(dense, dense.rows, "seed")
    assert pd.crosstab(drawn["work"], drawn["home"]).equals(
        pd.crosstab(same["work"], same["home"])
    )
    document = model.to_json()
    document["cells"]["cells"][0] = 10**6
    with pytest.raises(InputError, match="malformed"):
        Model.from_json(document)
    monkeypatch.setattr("synth_engine.models.described_cells.MAX_DENSE_CELLS", 5)
    described = description.read(json.loads(json.dumps(description.write(model))))
    assert described.to_json() == model.to_json()


def test_blocks_of_a_state_are_drawn_by_cells_that_are_not_empty(tmp_path: Path) -> None:
    """20,000 origins by 2,000 groups: a table of all cells would be 320 MB."""
    rng = np.random.default_rng(1)
    homes, works = tuple(f"h{i}" for i in range(20_000)), tuple(f"w{i}" for i in range(2_000))
    at = [(41 + 0.5 * a, -71 - 0.5 * b, 1.0) for a, b in rng.random((20_000, 2)).tolist()]
    work = np.minimum(rng.geometric(0.004, 6_000) - 1, 1_999)
    domain = Domain(
        attributes=(
            Categorical(name="home", values=homes, outside="clamp"),
            Categorical(name="work", values=works, outside="clamp"),
        ),
        relation=Relation.REPLACE_ONE,
        totals=Totals(column="work", counts=tuple(np.bincount(work, minlength=2_000).tolist())),
        points=(
            PointSet(column="home", at=tuple(at)),
            PointSet(column="work", at=tuple(at[:2_000])),
        ),
    )
    rows = pd.DataFrame(
        {
            "home": [homes[i] for i in rng.integers(0, 20_000, 6_000)],
            "work": [works[i] for i in work],
        }
    )
    rows.to_csv(tmp_path / "commutes.csv", index=False)
    plan = plan_of(domain, "8", "1e-5", parts="values")
    assert plan.needs().memory_bytes < 200e6
    answers = pipeline.measure(tmp_path / "commutes.csv", plan=plan)
    assert answers.resampled is not None
    assert answers.resampled.cells.size <= 6_000
    assert plan_of(domain, "3", "1e-5").calls[0].query.parting.endswith(" cells")


def test_the_forecast_says_how_origins_are_counted_and_warns_of_a_large_delta() -> None:
    assumes = plan_of(parted(domain_of()), "1", parts="shore").expected_error().assumes
    assert assumes.startswith("Counted in 2 parts (shore): the prior is ")
    assert "publishes a record" not in assumes
    assert "publishes a record" in plan_of(domain_of(), "1", "0.01").expected_error().assumes


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"parts": "county"}, "no such partition"),
        ({"parts": "0 cells"}, "no such partition"),
        ({"parts": "values; county from 9"}, "no such partition"),
        ({"parts": "values; values from 0"}, "no such partition"),
        ({"shape": [1, 0]}, "shape"),
        ({"decay": "steep"}, "decay"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        plan_of(domain_of(), **parameters)


def test_the_command_line_from_table_to_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table().to_csv(tmp_path / "commutes.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(domain_of().to_json()))
    names = {
        name: str(tmp_path / name)
        for name in ("commutes.csv", "domain.json", "out.csv", "receipt.json", "model.json")
    }
    made = cli.main(
        [
            "synthesize",
            names["commutes.csv"],
            "--domain",
            names["domain.json"],
            "--mechanism",
            "on-the-map",
            "--epsilon",
            "2",
            "--delta",
            "1e-6",
            "--out",
            names["out.csv"],
            "--param",
            "decay_miles=8",
            "--receipt",
            names["receipt.json"],
            "--model",
            names["model.json"],
            "--seed",
            "s",
        ]
    )
    assert made == 0
    assert cli.main(["verify", names["receipt.json"]]) == 0
    assert "its work kept" in capsys.readouterr().out
    assert (
        cli.main(
            [
                "sample",
                names["model.json"],
                "--rows",
                "50",
                "--seed",
                "t",
                "--out",
                str(tmp_path / "more.csv"),
            ]
        )
        == 0
    )
    assert len(pd.read_csv(tmp_path / "more.csv")) == 50


def test_the_example_of_commutes_is_described_soundly() -> None:
    root = Path(__file__).parents[2] / "examples" / "commutes"
    domain = Domain.from_json(json.loads((root / "towns.domain.json").read_text()))
    counts = pd.read_parquet(root / "commutes.parquet", columns=["work_town"])[
        "work_town"
    ].value_counts()
    totals = domain.totals
    assert totals is not None
    assert (
        dict(zip(domain.attribute("work_town").labels, totals.counts, strict=True))
        == counts.to_dict()
    )
    sizes = resampling.groups(totals.counts)
    assert len(sizes) == 39
