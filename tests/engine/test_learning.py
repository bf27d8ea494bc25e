"""Columns that are not known beforehand: how they are declared, learned and used, and what is refused."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import codec, mechanisms, pipeline, verifier
from synth_engine.domain import (
    Categorical,
    Date,
    Domain,
    Integer,
    NotFound,
    Number,
    Range,
    Weak,
    parse_attribute,
)
from synth_engine.errors import DomainError, InputError, SpecError
from synth_engine.indexing import resolving
from synth_engine.kinds import grids as grids
from synth_engine.measurement import Answers, Discovery, Noise
from synth_engine.plans import domain_learning
from synth_engine.plans.two_stage import StagedPlan
from synth_engine.spec import Spec
from synth_engine.values import Listed
from tests.answers import replaced

LETTERS = "abcdefghijklmnopqrstuvwxyz"
STRINGS = {"set": "strings", "alphabet": LETTERS, "min_length": 1, "max_length": 12}
DELTA = Fraction(1, 10**9)
DAYS = (datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))


def weak(**changes: Any) -> Weak:
    found = parse_attribute(
        {"name": "job", "kind": "weak", "values": STRINGS, "missing": [""]} | changes
    )
    assert isinstance(found, Weak)
    return found


def wide(**changes: Any) -> Range:
    document = {
        "name": "pay",
        "kind": "range",
        "of": "integer",
        "low": 0,
        "high": 10**7,
    } | changes
    found = parse_attribute(document)
    assert isinstance(found, Range)
    return found


def table(path: Path, *, records: int = 6_000) -> Path:
    rng = np.random.default_rng(3)
    jobs = rng.choice(
        ["clerk", "cook", "smith", "", "?!"], p=[0.5, 0.3, 0.1, 0.05, 0.05], size=records
    )
    pay = np.where(
        rng.random(records) < 0.2, 0, np.rint(np.exp(rng.normal(8, 0.5, records))).astype(int)
    )
    days = np.datetime64("1990-01-01") + rng.integers(0, 3_650, records)
    lines = [
        f"{job},{amount},{day},{level}"
        for job, amount, day, level in zip(jobs, pay, days, pay % 3, strict=True)
    ]
    path.write_text("\n".join(["job,pay,day,level", *lines]) + "\n")
    return path


def described() -> Domain:
    day = Range(name="day", of="date", low=DAYS[0], high=DAYS[1], bins=10)
    return Domain(attributes=(weak(), wide(), day, Integer(name="level", low=0, high=2)))


# ---- declaring
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {
                "values": {
                    "set": "strings",
                    "alphabet": LETTERS,
                    "min_length": 1,
                    "max_length": 60,
                }
            },
            "2\\^256",
        ),
        ({"values": {"set": "integers", "low": 0, "high": 10**400}}, "2\\^256"),
        ({"values": {"set": "list", "values": []}}, "empty"),
        ({"values": {"set": "list", "values": ["a", "b", "a"]}}, "twice"),
        ({"values": {"set": "pattern", "pattern": "[a-z]+"}}, "infinite|end"),
        ({"values": {"set": "everything"}}, "known kind"),
        ({"values": "words"}, "known kind"),
        ({"values": None}, "not given"),
        ({"values": STRINGS | {"size": 7}}, "size"),
        ({"rho": 0}, "rho"),
        ({"rho": 1.0}, "rho"),
        ({"rho": -0.5}, "rho"),
        ({"rho": "0.9"}, "rho"),
        ({"outside": "clamp"}, "outside"),
        ({"missing": ["abc"]}, "missing marker"),
    ],
)
def test_a_weak_column_that_cannot_be_is_refused_by_name(
    changes: dict[str, Any], rule: str
) -> None:
    with pytest.raises(DomainError, match=rule) as refused:
        weak(**changes)
    assert refused.value.column == "job"
    assert refused.value.repair


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"of": "text"}, "low|scale"),
        ({"of": None}, "not given"),
        ({"low": 5, "high": 5}, "below high"),
        ({"low": 9, "high": 5}, "below high"),
        ({"high": 2**60}, "2\\^53"),
        ({"bins": 1}, "bins"),
        ({"bins": 10**6}, "bins"),
        ({"low": "1900-01-01"}, "whole number"),
        ({"format": "%d.%m.%Y"}, "format"),
        ({"missing": ["7"]}, "missing marker"),
    ],
)
def test_a_range_that_cannot_be_is_refused_by_name(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(DomainError, match=rule) as refused:
        wide(**changes)
    assert refused.value.column == "pay"


def test_open_columns_survive_json_and_equal_themselves() -> None:
    domain = described()
    again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert again.digest == domain.digest
    assert [attribute.name for attribute in again.undeclared] == ["job", "pay", "day"]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 3),
        (0, 1_000),
        (0, 10**9),
        (-50, 10**6),
        (10**6, 10**6 + 5_000),
        (-(10**9), -(10**8)),
    ],
)
def test_a_grid_of_whole_numbers_covers_its_range_in_few_cells(low: int, high: int) -> None:
    edges = grids.whole_grid(low, high)
    assert (edges[0], edges[-1]) == (low, high)
    assert all(a < b for a, b in pairwise(edges))
    assert len(edges) <= 2_000
    number = grids.number_grid(float(low), float(high))
    assert (number[0], number[-1]) == (low, high)
    assert all(a < b for a, b in pairwise(number))
    assert len(number) <= 4_000


# ---- from what is open to what was learned
# -----------------------------------------------------------------------


def test_what_is_not_found_is_other_and_what_is_missing_stays_missing() -> None:
    attribute = weak()
    settled = attribute.from_ranks(
        [attribute.rank("clerk"), attribute.rank("cook"), attribute.population - 1]
    )
    assert isinstance(settled, Categorical)
    assert settled.values == ("cook", "clerk")  # shorter texts come first in this set
    assert settled.facts["values"] == "learned"
    ranks = [attribute.rank(text) for text in ("clerk", "cook", "smith", "?!", "", None)]
    assert [settled.labels[code] for code in resolving.resolved_codes(attribute, settled, ranks)] == [
        "clerk", "cook", "(other)", "(other)", "(missing)", "(missing)",
    ]  # fmt: skip
    texts = np.array(["clerk", "cook", "smith", "?!", ""], dtype=object)
    encoded = codec.encode_column(settled, texts)
    assert encoded.tolist() == resolving.resolved_codes(attribute, settled, ranks[:5]).tolist()


def test_a_column_of_which_nothing_was_found_still_has_a_place_for_every_value() -> None:
    attribute = weak(outside="other")
    settled = attribute.from_ranks([])
    assert not settled.is_found
    assert attribute.admits(settled)
    codes = resolving.resolved_codes(
        attribute, settled, [attribute.rank(text) for text in ("clerk", "?!", None)]
    )
    assert max(codes) < settled.size
    assert codes[2] == settled.missing_code
    assert codes[0] != settled.missing_code


def test_a_column_without_other_values_of_which_nothing_was_found_is_empty() -> None:
    attribute = weak(outside="missing")
    settled = attribute.from_ranks([])
    assert settled == NotFound.of(attribute)
    assert (settled.is_found, settled.size, settled.in_table) == (False, 0, True)


@pytest.mark.parametrize(
    "attribute",
    [
        wide(missing=[""]),
        wide(high=99),
        wide(of="number", low=-1.5, high=10.0**6, missing=["?"]),
        wide(of="date", low="1900-01-01", high="2100-12-31", format="%d.%m.%Y"),
        wide(of="date", low="2024-01-01", high="2024-03-01"),
    ],
)
def test_recoding_cells_is_encoding_again(attribute: Range) -> None:
    rng = np.random.default_rng(1)
    for _ in range(8):
        places = sorted(
            {int(place) for place in rng.integers(0, attribute.value_count + 1, size=8)}
        )
        if len(places) < 2:
            continue
        settled = attribute.cut(places)
        assert attribute.admits(settled)
        assert settled.facts["bounds"] == "learned"
        texts = codec.as_text(
            Domain(attributes=(attribute.grid,)),
            codec.decode(
                Domain(attributes=(attribute.grid,)),
                {attribute.name: rng.integers(0, attribute.grid.value_count, size=200)},
                rng,
            ),
        )[attribute.name].to_numpy(dtype=object)
        by_cells = resolving.resolved_cells(attribute, settled)[
            codec.encode_column(attribute, texts)
        ]
        assert by_cells.tolist() == codec.encode_column(settled, texts).tolist()


def test_something_else_than_what_was_declared_is_not_admitted() -> None:
    domain = described()
    good = domain_learning.expected_domain(domain)
    others = [
        ("job", Categorical(name="job", values=("Not in the set",), other=True, missing=("",))),
        ("job", Categorical(name="job", values=("cook",), other=True)),
        ("pay", Integer(name="pay", low=0, high=10**7, edges=(0, 12_345, 10**7))),
        ("pay", Number(name="pay", low=0, high=10)),
        ("day", Date(name="day", low=DAYS[0], high=DAYS[1], step_days=31)),
        ("level", Integer(name="level", low=0, high=1)),
    ]
    for name, other in others:
        learned = {a.name: good.attribute(a.name) for a in domain.undeclared} | {name: other}
        with pytest.raises(DomainError):
            domain.resolve(learned)


def test_bins_follow_the_records_and_frequent_values_get_their_own() -> None:
    attribute = wide(bins=12)
    rng = np.random.default_rng(5)
    noise = Noise(law="discrete-laplace", scale=Fraction(20))
    truth = np.zeros(attribute.size, dtype=np.int64)
    texts = np.array(
        [
            str(int(pay))
            for pay in np.where(rng.random(20_000) < 0.3, 0, np.exp(rng.normal(9, 0.4, 20_000)))
        ]
    )
    np.add.at(truth, codec.encode_column(attribute, texts.astype(object)), 1)
    noisy = truth + rng.laplace(scale=20, size=truth.size).round().astype(np.int64)
    settled = attribute.cut(
        domain_learning.bin_edges(
            noisy, noise=noise, along=attribute.value_count, bins=attribute.bins
        )
    )
    assert isinstance(settled, Integer)
    assert settled.value_labels[0] == "0"
    assert 10_000 < settled.high < 200_000  # and not ten millions
    shares = np.bincount(
        codec.encode_column(settled, texts.astype(object)), minlength=settled.size
    ) / len(texts)
    assert shares[1:].max() < 0.2


def test_of_a_grid_without_records_nothing_is_found() -> None:
    noise = Noise(law="discrete-laplace", scale=Fraction(50))
    rng, found = np.random.default_rng(0), []
    for _ in range(20):
        noisy = rng.laplace(scale=50, size=1_000).round().astype(np.int64)
        found.append(domain_learning.bin_edges(noisy, noise=noise, along=1_000, bins=4))
    assert found.count(None) >= 19


# ---- whole runs
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
@pytest.mark.parametrize(
    "mechanism",
    ["independent", "bayesian-network", "weak-domain", "random", "contingency-table"],
)
def test_a_run_learns_first_stays_within_its_budget_and_can_be_fitted_again(
    mechanism: str, delta: Fraction, tmp_path: Path
) -> None:
    """Of hundreds of empty cells one seems to hold records in some thousand runs, and bounds then reach as
    far, whatever the budget; but for one so large that noise is less than a record."""
    domain = described()
    spec = Spec(mechanism=mechanism, epsilon=Fraction(100), delta=delta)
    release = pipeline.synthesize(table(tmp_path / "people.csv"), domain=domain, spec=spec)
    verified = verifier.verify(json.loads(json.dumps(release.plan.receipt(release.answers))))
    assert verified.epsilon <= 100
    assert release.plan.kind == ("static" if mechanism == "weak-domain" else "adaptive")
    found = release.model.domain
    assert not found.undeclared
    assert {"clerk", "cook"} <= set(found.attribute("job").labels)
    bounds = [getattr(found.attribute(name), "high", None) for name in ("pay", "day")]
    assert bounds[0] < 10**6
    assert bounds[1] < datetime.date(2001, 1, 1)
    release.answers.save(tmp_path / "answers.npz")
    again = Answers.load(tmp_path / "answers.npz")
    assert again.digest == release.answers.digest
    assert release.plan.fit(again).to_json() == release.model.to_json()
    drawn = mechanisms.draw_table(release.model, 500, "seed")
    assert list(drawn.columns) == ["job", "pay", "day", "level"]


@pytest.mark.parametrize(
    ("mechanism", "megabytes"),
    [("mst", 1), ("aim", 1), ("privsyn", 1), ("dpsyn", 1), ("auto", 200)],
)
def test_more_values_than_there_is_memory_for_do_not_end_a_run_that_was_paid_for(
    mechanism: str, megabytes: int, tmp_path: Path
) -> None:
    path, names = tmp_path / "table.csv", [f"v{number}" for number in range(600)]
    values = {"set": "list", "values": names}
    rng = np.random.default_rng(5)
    drawn = np.where(rng.random(12_000) < 0.2, 0, rng.integers(0, 600, 12_000)).tolist()
    path.write_text(
        "\n".join(
            [
                "job,place,a,b,c",
                *(f"v{n},v{n * 7 % 600},{n % 20},{n % 3},{n % 7}" for n in drawn),
            ]
        )
    )
    others = (
        Integer(name=name, low=0, high=high) for name, high in (("a", 19), ("b", 2), ("c", 6))
    )
    domain = Domain(
        attributes=(weak(values=values), weak(name="place", values=values), *others)
    )
    spec = Spec(
        mechanism=mechanism,
        epsilon=Fraction(900),
        delta=DELTA,
        parameters={"memory_mb": megabytes},
    )
    plan = mechanisms.plan(domain, spec)
    answers = pipeline.measure(path, plan=plan)
    model = plan.fit(answers)
    assert plan.fit(answers).to_json() == model.to_json()
    job = model.domain.attribute("job")
    assert isinstance(job, Categorical)
    assert "v0" in job.values
    assert len(job.values) >= domain_learning.EXPECTED_CATEGORIES


def test_the_report_compares_under_what_was_learned(tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv")
    spec = Spec(mechanism="weak-domain", epsilon=Fraction(4))
    release = pipeline.synthesize(path, domain=described(), spec=spec)
    report = pipeline.report(path, model=release.model, rows=2_000, seed="seed")
    job = next(one for one in report["attributes"] if one["name"] == "job")
    assert {"clerk", "cook"} <= set(job["labels"])


def test_answers_of_another_run_are_refused(tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv")
    one = pipeline.synthesize(
        path, domain=described(), spec=Spec(mechanism="independent", epsilon=Fraction(4))
    )
    few = replaced(one.answers, Discovery, ())
    with pytest.raises(InputError, match="not of this plan"):
        one.plan.fit(few)


def test_what_was_found_is_kept_in_order_and_above_its_threshold() -> None:
    noise = Noise(law="discrete-laplace", scale=Fraction(1))
    for found in (((3, 9), (2, 9)), ((2, 4),), ((-1, 9),), ((2, 9.5),)):
        with pytest.raises(TypeError):
            Discovery(attribute="job", noise=noise, threshold=5, ranked_counts=found)


def test_a_forecast_says_what_learning_costs() -> None:
    plan = mechanisms.plan(described(), Spec(mechanism="independent", epsilon=Fraction(1)))
    assert isinstance(plan, StagedPlan)
    found = plan.expected_error(rows=5_000)
    assert found.learning.share == 0.2
    job = found.learning.columns["job"]
    assert job.cells == weak().population
    assert job.threshold > 100
    assert json.dumps(asdict(found))


def test_every_method_for_open_columns_has_a_forecast() -> None:
    fitting = [
        name for name, mechanism in mechanisms.REGISTRY.items() if mechanism.suits(described())
    ]
    others = 6  # one is for public totals, five for points or one column of texts
    assert len(fitting) == len(mechanisms.REGISTRY) - others
    for name in fitting:
        spec = Spec(mechanism=name, epsilon=Fraction(1), delta=DELTA)
        found = mechanisms.plan(described(), spec).expected_error(rows=5_000)
        assert 0 < found.mean <= 1


def test_weak_domain_is_offered_for_tables_with_a_weak_column() -> None:
    known = Domain(attributes=(wide(),))
    assert "weak-domain" not in [one["id"] for one in mechanisms.describe(known)]
    assert "weak-domain" in [one["id"] for one in mechanisms.describe(described())]


def test_a_rho_that_would_publish_noise_is_refused_before_anything_is_asked() -> None:
    tiny = Weak(name="word", values=Listed(["a", "b"]), rho=1e-30)
    mechanisms.plan(
        Domain(attributes=(tiny,)), Spec(mechanism="independent", epsilon=Fraction(1))
    )  # two cannot be forty
    with pytest.raises(SpecError, match="by chance"):
        mechanisms.plan(
            Domain(attributes=(weak(rho=1e-30),)),
            Spec(mechanism="independent", epsilon=Fraction(1)),
        )
