"""`on-the-map`: from a description with public totals to a release, its receipt and its forecast; and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, pipeline
from synth_engine.domain import Categorical, Domain, Points, Totals
from synth_engine.errors import DomainError, PrivacyError, SpecError, VerificationError
from synth_engine.marginals import decay
from synth_engine.measurement import Answers
from synth_engine.mechanisms.model import Model
from synth_engine.mechanisms.plan import Plan
from synth_engine.privacy import receipt, resampling, verify
from synth_engine.privacy.unit import Relation
from synth_engine.spec import Spec

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
            Points(column="home", at=tuple((*AT[home], 1.0) for home in HOMES)),
            Points(column="work", at=tuple((*WORK_AT[work], 1.0) for work in WORKS)),
        )
        if points
        else (),
    )


def table() -> pd.DataFrame:
    """Those in the north live in D, E and F, those in the south in A and B."""
    homes = ["D"] * 100 + ["E"] * 250 + ["F"] * 50 + ["A"] * 60 + ["B"] * 30
    return pd.DataFrame({"home": homes, "work": ["north"] * 400 + ["south"] * 90})


def plan_of(domain: Domain, epsilon: str = "2", delta: str = "1e-6", **parameters: Any) -> Plan:
    spec = Spec(mechanism="on-the-map", epsilon=Fraction(epsilon), delta=Fraction(delta), parameters=parameters)
    return mechanisms.plan(domain, spec)


def released(tmp_path: Path, plan: Plan) -> tuple[Answers, Model]:
    path = tmp_path / "commutes.csv"
    table().to_csv(path, index=False)
    answers = pipeline.measure(path, plan=plan)
    return answers, plan.fit(answers)


@pytest.mark.parametrize("points", [True, False])
def test_a_release_keeps_the_totals_exactly_and_the_homes_of_large_groups(tmp_path: Path, points: bool) -> None:
    answers, model = released(tmp_path, plan_of(domain_of(points=points), "4"))
    drawn = mechanisms.draw_table(model, model.rows, "seed")
    assert drawn["work"].value_counts().to_dict() == {"north": 400, "south": 90}
    assert drawn.equals(mechanisms.draw_table(model, model.rows, "seed"))
    found = pd.crosstab(drawn["work"], drawn["home"]).reindex(columns=list(HOMES), fill_value=0)
    truth = pd.crosstab(table()["work"], table()["home"]).reindex(columns=list(HOMES), fill_value=0)
    assert (found - truth).abs().to_numpy().sum() / 2 < 0.25 * len(drawn)
    assert answers.resampled is not None
    if not points:
        assert (found.loc[["north", "south"]].to_numpy() == answers.resampled.values[:2]).all()


def test_the_filter_moves_what_the_prior_put_far_away(tmp_path: Path) -> None:
    plan = plan_of(domain_of(), "1", decay_miles=5)
    answers, model = released(tmp_path, plan)
    plain = plan_of(domain_of(), "1", filter=False).fit(answers)

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


def test_distances_decay_and_rounding() -> None:
    """Providence to Newport is 21.7 miles as the crow flies."""
    apart = decay.miles(np.array([[41.824, -71.413]]), np.array([[41.490, -71.313], [41.824, -71.413]]))
    assert apart[0] == pytest.approx([23.6, 0], abs=0.1)
    shares = decay.likely(np.array([[0.0, 6.0]]), np.array([1.0, 2.0]), scale=6.0)
    assert shares[0] == pytest.approx(np.array([1, 2 / np.e]) / (1 + 2 / np.e))
    filtered = decay.filtered(np.array([[6.0, 4.0]]), np.array([[0.5, 0.5]]), alpha=np.array([5.0]))
    assert filtered[0] == pytest.approx([3 + 2.5, 2 + 2.5])
    assert decay.rounded(np.array([[1.6, 2.7, 0.7]])).tolist() == [[1.0, 3.0, 1.0]]
    with pytest.raises(SpecError, match="farthest"):
        decay.likely(np.array([[5.0, 6.0]]), np.array([1.0, 1.0]), scale=6.0, farthest=3.0)


@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_the_receipt_is_verified_and_says_what_is_kept(tmp_path: Path, delta: str) -> None:
    plan = plan_of(domain_of(), "2", delta)
    answers, _ = released(tmp_path, plan)
    document = plan.receipt(answers)
    found = verify.verify(document)
    assert (found.epsilon, found.delta, found.certificate) == (2, Fraction(delta), "basic")
    assert document["guarantee"]["sentence"].endswith("for one record replaced, its work kept.")
    assert "How many records have each work is public and exact, and is not protected." in found.sentences


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
    digests = {"sha256": receipt.digest(plan), "calls_sha256": receipt.digest([call]), "cap": None}
    return receipt.seal(document | {"calls": [call], "plan": digests})


def test_a_forged_prior_does_not_verify() -> None:
    plan = plan_of(domain_of())
    document = plan.receipt(Answers(measurements=(), calls=plan.calls))
    noise = document["calls"][0]["noise"]
    assert verify.verify(resealed(document, {}))
    smaller = [[size, weight * 9 // 10] for size, weight in noise["priors"]]
    with pytest.raises(VerificationError, match="too small"):
        verify.verify(resealed(document, {"priors": smaller}))
    with pytest.raises(VerificationError, match="adds up to more than is claimed"):
        verify.verify(resealed(document, {"delta": "1/1000"}))
    with pytest.raises(VerificationError, match="below what the calls add up to"):
        verify.verify(resealed(document, {"epsilon": "5/2"}))


@pytest.mark.parametrize("prior", ["programme", "zero-sample"])
def test_priors_of_the_paper_are_larger_and_verify(prior: str) -> None:
    least, published = plan_of(domain_of()), plan_of(domain_of(), prior=prior)
    (one,), (other,) = least.events, published.events
    assert all(a[1] <= b[1] for a, b in zip(one.priors, other.priors, strict=True))  # type: ignore[union-attr]
    assert one.priors != other.priors  # type: ignore[union-attr]
    pipeline.confirm(published)


def test_the_forecast_says_how_much_comes_from_the_prior() -> None:
    shares = [plan_of(domain_of(), epsilon).prior_share for epsilon in ("0.6", "2", "6")]  # type: ignore[attr-defined]
    assert 1 > shares[0] > shares[1] > shares[2] > 0
    found = plan_of(domain_of()).expected_error()
    assert found["attributes"]["work"] == 0
    assert 0 < found["mean"] < found["mean_pairs"] < 1


def test_it_is_offered_for_tables_with_public_totals_alone() -> None:
    assert "on-the-map" in [one["id"] for one in mechanisms.describe(domain_of())]
    assert "on-the-map" not in [one["id"] for one in mechanisms.describe(domain_of(totals=None))]


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
    spec = Spec(mechanism="on-the-map", epsilon=Fraction(2), delta=Fraction(1, 10**6), parameters={})
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


def test_the_command_line_from_table_to_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table().to_csv(tmp_path / "commutes.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(domain_of().to_json()))
    names = {
        name: str(tmp_path / name) for name in ("commutes.csv", "domain.json", "out.csv", "receipt.json", "model.json")
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
        cli.main(["sample", names["model.json"], "--rows", "50", "--seed", "t", "--out", str(tmp_path / "more.csv")])
        == 0
    )
    assert len(pd.read_csv(tmp_path / "more.csv")) == 50


def test_the_example_of_commutes_is_described_soundly() -> None:
    root = Path(__file__).parents[2] / "examples" / "commutes"
    domain = Domain.from_json(json.loads((root / "towns.domain.json").read_text()))
    counts = pd.read_parquet(root / "commutes.parquet", columns=["work_town"])["work_town"].value_counts()
    totals = domain.totals
    assert totals is not None
    assert dict(zip(domain.attribute("work_town").labels, totals.counts, strict=True)) == counts.to_dict()
    sizes = resampling.groups(totals.counts)
    assert len(sizes) == 39
