"""Constraints: what is refused, and that every drawn table keeps to all of them, whatever the model."""

from __future__ import annotations

import datetime
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from synth_engine import codec, mechanisms, pipeline, tables
from synth_engine.constraints import values
from synth_engine.domain import (
    Boolean,
    Categorical,
    Constraint,
    Date,
    DateTime,
    Dependency,
    Domain,
    Impossible,
    Integer,
    MissingIff,
    Number,
    Order,
)
from synth_engine.domain import constraints as declared
from synth_engine.domain.conditions import ValueRange
from synth_engine.domain.relations import relation
from synth_engine.errors import DomainError
from synth_engine.evaluation import page
from synth_engine.mechanisms import uniform
from synth_engine.models.model import Model, Node, Table, whole_weights
from synth_engine.spec import Spec

moment = datetime.datetime  # clocks without a zone are meant

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "domain.schema.json").read_text())
ZIP_TABLE = (("02139", "Middlesex"), ("02144", "Middlesex"), ("01002", "Hampshire"))
TOWN = (
    Categorical(name="zip", values=("02139", "02144", "01002"), missing=("",)),
    Categorical(name="county", values=("Middlesex", "Hampshire"), other=True),
    Categorical(name="sex", values=("female", "male"), outside="clamp"),
    Boolean(name="pregnant", true="yes", false="no", missing=("",)),
    Integer(name="age", low=0, high=99, width=10),
    Integer(name="married_at", low=0, high=99, width=5, missing=("",)),
    Number(name="net", low=0, high=10),
    Number(name="gross", low=0, high=20, edges=(0, 5, 20)),
    Date(
        name="born",
        low=datetime.date(2000, 1, 1),
        high=datetime.date(2003, 12, 31),
        step_days=100,
    ),
    Date(
        name="died",
        low=datetime.date(2001, 1, 1),
        high=datetime.date(2004, 12, 31),
        step_days=365,
        missing=("-",),
    ),
    DateTime(
        name="in", low=moment(2024, 1, 1), high=moment(2024, 1, 31), step=15, unit="minutes"
    ),
    DateTime(name="out", low=moment(2024, 1, 1), high=moment(2024, 6, 30), unit="months"),
)
RULES: tuple[Constraint, ...] = (
    Dependency(given="zip", gives="county", table=ZIP_TABLE),
    Impossible(combination={"sex": ("male",), "pregnant": ("yes",)}),
    MissingIff(column="pregnant", when="sex", values=("male",)),
    Impossible(combination={"age": (ValueRange(high=9),), "pregnant": ("yes",)}),
    Order(first="married_at", second="age"),
    Order(first="net", second="gross", strict=True),
    Order(first="born", second="died"),
    Order(first="in", second="out"),
)


def town(*rules: Constraint) -> Domain:
    return Domain(attributes=TOWN, constraints=rules)


def breaking(domain: Domain, frame: pd.DataFrame) -> dict[str, int]:
    """How many rows of a table break each constraint, by its values, without the code that enforces them."""
    found = {}
    for rule in domain.constraints:
        match rule:
            case Order(first=a, second=b, strict=strict):
                x, y = frame[a], frame[b]
                bad = ((x >= y) if strict else (x > y)).fillna(False) & x.notna() & y.notna()
            case Dependency(given=a, gives=b, table=table):
                wanted = frame[a].map({str(k): v for k, v in table})
                bad = wanted.notna() & (wanted != frame[b])
            case MissingIff(column=a, when=b, values=listed):
                bad = frame[a].isna() != frame[b].isin(
                    [v for v in listed if isinstance(v, str)]
                )
            case _:
                codes = codec.encode(domain, dict(codec.as_text(domain, frame).items()))
                bad = pd.Series(
                    ~relation(rule, {a.name: a for a in domain.attributes}).holds(codes)
                )
        found[rule.sentence] = int(bad.sum())
    return found


def flat(domain: Domain, *, seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    tables = tuple(
        Table(clique=(n,), weights=whole_weights(rng.exponential(size=k)))
        for n, k in domain.sizes.items()
    )
    return Model(mechanism="independent", domain=domain, rows=4_000, tables=tables)


def network(domain: Domain, parents: dict[str, tuple[str, ...]], *, seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    nodes = tuple(Node(attribute=name, parents=parents.get(name, ())) for name in domain.names)
    tables = tuple(
        Table(
            clique=(*node.parents, node.attribute),
            weights=whole_weights(
                rng.exponential(size=domain.shape((*node.parents, node.attribute)))
            ),
        )
        for node in nodes
    )
    return Model(
        mechanism="bayesian-network", domain=domain, rows=4_000, tables=tables, network=nodes
    )


PARENTS = {
    "county": ("zip",),
    "pregnant": ("zip", "county"),
    "married_at": ("age",),
    "gross": ("sex",),
    "died": ("net",),
}
MODELS = {
    "independent": flat,
    "bayesian-network": lambda domain: network(domain, PARENTS),
    "random": lambda domain: uniform.model(domain, rows=4_000),
}


@pytest.mark.parametrize("mechanism", MODELS)
def test_every_row_keeps_to_every_constraint(mechanism: str) -> None:
    domain = town(*RULES)
    model = MODELS[mechanism](domain)
    drawn = mechanisms.draw_table(model, 3_000, "seed")
    assert breaking(domain, drawn) == dict.fromkeys((rule.sentence for rule in RULES), 0)
    plain = codec.decode(
        domain, model.unconstrained.sample(3_000, seed="seed"), np.random.default_rng(0)
    )
    assert all(count > 0 for count in breaking(domain, plain).values()), (
        "nothing was to be mended"
    )


@pytest.mark.parametrize("mechanism", MODELS)
def test_the_same_seed_gives_the_same_table_and_files_keep_to_the_constraints(
    mechanism: str, tmp_path: Path
) -> None:
    domain = town(*RULES)
    model = MODELS[mechanism](domain)
    again = Model.from_json(json.loads(json.dumps(model.to_json())))
    for name in ("a.csv", "a.parquet"):
        first = tables.write(model, 500, seed="s", path=tmp_path / name)
        assert tables.write(again, 500, seed="s", path=tmp_path / name) == first
    read = pq.read_table(tmp_path / "a.parquet").to_pandas()
    assert (read["in"] <= read["out"]).all()
    texts = pd.read_csv(tmp_path / "a.csv", dtype=str, keep_default_na=False)
    codes = codec.encode(domain, dict(texts.items()))
    for component in domain.components:
        assert component.holds(codes).all()


@pytest.mark.parametrize("mechanism", MODELS)
def test_columns_that_no_constraint_is_about_are_as_they_were(mechanism: str) -> None:
    rules = (
        Order(first="net", second="gross", strict=True),
        Impossible(combination={"sex": ("male",), "pregnant": ("yes",)}),
    )
    domain = town(*rules)
    model = MODELS[mechanism](domain)
    before, after = (one.sample(2_000, seed="s") for one in (model.unconstrained, model))
    touched = {name for rule in rules for name in rule.columns}
    for name in (
        set(domain.names) - touched - {"died"}
    ):  # what is drawn from a mended table follows it
        assert np.array_equal(before[name], after[name]), name


def test_in_one_table_the_histograms_that_were_measured_stay() -> None:
    """Where order and both histograms can be had, all are."""
    attributes = (Integer(name="a", low=0, high=9), Integer(name="b", low=0, high=9))
    domain = Domain(attributes=attributes, constraints=(Order(first="a", second="b"),))
    falling = np.linspace(10, 1, 10)
    tables_ = tuple(
        Table(clique=(n,), weights=whole_weights(w))
        for n, w in (("a", falling), ("b", falling[::-1]))
    )
    model = Model(mechanism="independent", domain=domain, rows=10_000, tables=tables_)
    codes = model.sample(10_000, seed="s")
    assert (codes["a"] <= codes["b"]).all()
    for name, wanted in (("a", falling), ("b", falling[::-1])):
        share = np.bincount(codes[name], minlength=10) / 10_000
        assert np.abs(share - wanted / wanted.sum()).sum() / 2 < 0.001


def test_random_values_are_uniform_among_those_that_can_be() -> None:
    attributes = (Integer(name="a", low=0, high=3), Integer(name="b", low=0, high=3))
    domain = Domain(attributes=attributes, constraints=(Order(first="a", second="b"),))
    codes = uniform.model(domain, rows=10_000).sample(10_000, seed="s")
    counts = np.bincount(codes["a"] * 4 + codes["b"], minlength=16).reshape(4, 4)
    assert (counts[np.tril_indices(4, -1)] == 0).all()
    assert (counts[np.triu_indices(4)] == 1_000).all()


def test_values_in_one_bin_are_uniform_among_the_ordered() -> None:
    attributes = (
        Integer(name="a", low=0, high=3, width=4),
        Integer(name="b", low=0, high=3, width=4),
    )
    domain = Domain(attributes=attributes, constraints=(Order(first="a", second="b"),))
    drawn = mechanisms.draw_table(uniform.model(domain, rows=1), 60_000, "s")
    counts = np.bincount(drawn["a"] * 4 + drawn["b"], minlength=16).reshape(4, 4)
    assert counts[np.tril_indices(4, -1)].sum() == 0
    # Among 16 pairs 10 are in order; one that is not is drawn again, so that each of the 10 has one chance in
    # 10.
    assert np.abs(counts[np.triu_indices(4)] - 6_000).max() < 400


def test_a_chain_is_kept_within_bins_where_pairs_alone_would_not_do() -> None:
    """a = 5 to 9, b = 0 to 9, c = 0 to 4: each neighbour fits, and all three do not."""
    a = Integer(name="a", low=0, high=9, width=5)
    b = Integer(name="b", low=0, high=9, width=10)
    c = Integer(name="c", low=0, high=9, width=5)
    rules = (Order(first="a", second="b"), Order(first="b", second="c", strict=True))
    domain = Domain(attributes=(a, b, c), constraints=rules)
    (component,) = domain.components
    codes = {"a": np.array([1, 0]), "b": np.array([0, 0]), "c": np.array([0, 0])}
    assert component.holds(codes).tolist() == [False, True]
    drawn = mechanisms.draw_table(uniform.model(domain, rows=1), 2_000, "s")
    assert breaking(domain, drawn) == {"a ≤ b": 0, "b < c": 0}


def test_what_is_left_after_drawing_again_takes_the_smallest_values_in_order() -> None:
    """Bins that have one number in common: almost every draw is out of order."""
    a = Integer(name="a", low=1_000, high=2_000, width=1_001)
    b = Integer(name="b", low=0, high=1_000, width=1_001, missing=("",))
    domain = Domain(attributes=(a, b), constraints=(Order(first="a", second="b"),))
    frame = mechanisms.draw_table(uniform.model(domain, rows=1), 500, "s")
    both = frame[frame["b"].notna()]
    assert len(both) > 100
    assert (both["a"] == 1_000).all() and (both["b"] == 1_000).all()


@pytest.mark.parametrize(
    ("rules", "column", "says"),
    [
        ([{"kind": "order", "first": "age", "second": "nobody"}], "nobody", "not described"),
        ([{"kind": "order", "first": "sex", "second": "age"}], "sex", "no number, date"),
        ([{"kind": "order", "first": "age", "second": "age"}], "age", "itself"),
        ([{"kind": "order", "first": "born", "second": "in"}], "born", "do not compare"),
        (
            [
                {"kind": "order", "first": "net", "second": "gross"},
                {"kind": "order", "first": "gross", "second": "net"},
            ],
            None,
            "circle",
        ),
        (
            [{"kind": "impossible", "columns": {"sex": ["Norfolk"]}}],
            "sex",
            "value 1 of a constraint is not declared",
        ),
        ([{"kind": "impossible", "columns": {"sex": [None]}}], "sex", "cannot have"),
        ([{"kind": "impossible", "columns": {"sex": [{"from": 1}]}}], "sex", "no scale"),
        ([{"kind": "impossible", "columns": {"age": [{"to": 14}]}}], "age", "cuts a bin"),
        (
            [{"kind": "impossible", "columns": {"age": [{"from": 200}]}}],
            "age",
            "holds no value",
        ),
        (
            [{"kind": "impossible", "columns": {"sex": ["female", "male"]}}],
            "sex",
            "no record possible",
        ),
        ([{"kind": "impossible", "columns": {"sex": ["male"]}}], "sex", "exclude value 2"),
        ([{"kind": "impossible", "columns": {}}], None, "names no columns"),
        (
            [{"kind": "missing-iff", "column": "sex", "when": "age", "values": [{"to": 9}]}],
            "sex",
            "cannot have",
        ),
        (
            [{"kind": "missing-iff", "column": "zip", "when": "zip", "values": [None]}],
            "zip",
            "itself",
        ),
        (
            [
                {
                    "kind": "dependency",
                    "from": "zip",
                    "to": "county",
                    "table": [["02139", "Norfolk"]],
                }
            ],
            "county",
            "declared",
        ),
        (
            [
                {
                    "kind": "dependency",
                    "from": "zip",
                    "to": "county",
                    "table": [["9", "Hampshire"]],
                }
            ],
            "zip",
            "declared",
        ),
        (
            [
                {
                    "kind": "dependency",
                    "from": "zip",
                    "to": "county",
                    "table": [["02139", "Hampshire"], ["02139", "(other)"]],
                }
            ],
            "zip",
            "pair 2",
        ),
        (
            [
                {
                    "kind": "dependency",
                    "from": "zip",
                    "to": "county",
                    "table": [["02139", "Hampshire"]],
                },
                {
                    "kind": "dependency",
                    "from": "zip",
                    "to": "county",
                    "table": [["02139", "Middlesex"]],
                },
            ],
            "zip",
            "two dependencies",
        ),
        (
            [
                {"kind": "impossible", "columns": {"sex": ["male"], "county": ["Middlesex"]}},
                {"kind": "impossible", "columns": {"sex": ["female"], "county": ["Middlesex"]}},
            ],
            "county",
            "exclude value 1",
        ),
        (
            [{"kind": "order", "first": "net", "second": "gross", "provenance": "suggested"}],
            "net",
            "neither declared",
        ),
        (
            [{"kind": "order", "first": "net", "second": "gross", "provenance": "learned"}],
            "net",
            "neither declared",
        ),
        ([{"kind": "unheard-of"}], None, "unknown kind"),
        (
            [{"kind": "order", "first": "net", "second": "gross", "more": 1}],
            None,
            "unknown field",
        ),
        (["net <= gross"], None, "not an object"),
    ],
)
def test_a_bad_constraint_is_refused(rules: list[Any], column: str | None, says: str) -> None:
    document = town().to_json() | {"constraints": rules}
    with pytest.raises(DomainError, match=says) as caught:
        Domain.from_json(document)
    assert caught.value.repair
    assert column is None or caught.value.column == column
    for value in ("Middlesex", "02139", "Norfolk"):
        assert value not in caught.value.text


def test_an_order_that_the_bounds_exclude_is_refused_even_where_a_value_may_be_missing() -> (
    None
):
    early = Integer(name="early", low=0, high=9, missing=("",))
    middle = Integer(name="middle", low=0, high=99)
    late = Integer(name="late", low=10, high=19)
    with pytest.raises(DomainError, match="bounds"):
        Domain(attributes=(early, late), constraints=(Order(first="late", second="early"),))
    chain = (Order(first="late", second="middle"), Order(first="middle", second="early"))
    with pytest.raises(DomainError, match="bounds"):
        Domain(attributes=(early, middle, late), constraints=chain)


def _all_unlike(columns: int, *, values: int) -> Domain:
    digits = tuple("12345678"[:values])
    attributes = tuple(
        Categorical(name=f"c{place}", values=digits, outside="clamp")
        for place in range(columns)
    )
    rules = tuple(
        Impossible(combination={a.name: (digit,), b.name: (digit,)})
        for a, b in itertools.combinations(attributes, 2)
        for digit in digits
    )
    return Domain(attributes=attributes, constraints=rules)


def test_a_search_that_ends_in_nothing_says_so() -> None:
    """Nine columns, no two alike, in eight values: nothing is possible, and to see that takes too many
    steps."""
    assert _all_unlike(8, values=8).constraints
    with pytest.raises(DomainError, match="no record possible"):
        _all_unlike(5, values=4)
    with pytest.raises(DomainError, match="not found out in 200,000 steps"):
        _all_unlike(9, values=8)


def test_constraints_survive_json_and_a_domain_without_any_keeps_its_digest() -> None:
    full, none = town(*RULES), town()
    document = json.loads(json.dumps(full.to_json()))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert Domain.from_json(document) == full
    assert Domain.from_json(document).digest == full.digest != none.digest
    assert "constraints" not in none.to_json()
    assert full.facts["declared"] == none.facts["declared"] + len(RULES)


# --- any small domain, any model, any constraints -----------------------------------------------------------
def _attribute(draw: st.DrawFn, name: str) -> Any:
    missing = draw(st.sampled_from([None, ("?",)]))
    kind = draw(st.sampled_from(["categorical", "integer", "number", "date", "datetime"]))
    match kind:
        case "categorical":
            count = draw(st.integers(1, 3))
            return Categorical(
                name=name, values=tuple("abc"[:count]), other=True, missing=missing
            )
        case "integer":
            low = draw(st.integers(-3, 3))
            return Integer(
                name=name,
                low=low,
                high=low + draw(st.integers(0, 8)),
                width=draw(st.integers(1, 4)),
                missing=missing,
            )
        case "number":
            low = draw(st.sampled_from([-1.0, 0.0, 0.5]))
            return Number(
                name=name,
                low=low,
                high=low + 2,
                edges=(low, low + 0.7, low + 2),
                missing=missing,
            )
        case "date":
            day = datetime.date(2020, 1, draw(st.integers(1, 9)))
            return Date(
                name=name,
                low=day,
                high=datetime.date(2020, 1, 12),
                step_days=draw(st.integers(1, 5)),
                missing=missing,
            )
    start = moment(2020, 1, draw(st.integers(1, 3)), 12)
    unit = draw(st.sampled_from(["hours", "days", "months"]))
    return DateTime(
        name=name, low=start, high=moment(2020, 5, 7), step=draw(st.integers(1, 7)), unit=unit,
        width=draw(st.integers(500, 900)) if unit == "hours" else 2, missing=missing,
    )  # fmt: skip


def _values(draw: st.DrawFn, attribute: Any) -> tuple[str | None, ...]:
    labels = [None if label == "(missing)" else label for label in attribute.labels]
    return tuple(draw(st.lists(st.sampled_from(labels), min_size=1, max_size=3, unique=True)))


@st.composite
def _rule(draw: st.DrawFn, attributes: list[Any]) -> Constraint:
    first, second = draw(st.permutations(attributes))[:2]
    match draw(st.sampled_from(["order", "impossible", "dependency", "missing-iff"])):
        case "order":
            return Order(first=first.name, second=second.name, strict=draw(st.booleans()))
        case "dependency":
            given_ = _values(draw, first)
            return Dependency(
                given=first.name,
                gives=second.name,
                table=tuple((v, _values(draw, second)[0]) for v in given_),
            )
        case "missing-iff":
            return MissingIff(column=first.name, when=second.name, values=_values(draw, second))
    return Impossible(
        combination={first.name: _values(draw, first), second.name: _values(draw, second)}
    )


@st.composite
def constrained_models(draw: st.DrawFn) -> Model:
    attributes = [_attribute(draw, f"c{place}") for place in range(draw(st.integers(2, 4)))]
    kept: tuple[Constraint, ...] = ()
    for rule in draw(st.lists(_rule(attributes), min_size=1, max_size=4)):
        try:
            Domain(attributes=tuple(attributes), constraints=(*kept, rule))
        except DomainError:
            continue
        kept = (*kept, rule)
    assume(kept)
    domain = Domain(attributes=tuple(attributes), constraints=kept)
    seed = draw(st.integers(0, 2**16))
    match draw(st.sampled_from(["independent", "random", "network"])):
        case "independent":
            return flat(domain, seed=seed)
        case "random":
            return uniform.model(domain, rows=200)
    names = domain.names
    parents = {
        n: tuple(draw(st.sets(st.sampled_from(names[:i]), max_size=2)))
        for i, n in enumerate(names)
        if i
    }
    return network(domain, parents, seed=seed)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(model=constrained_models(), rows=st.integers(0, 200), joins=st.booleans())
def test_no_constraint_is_ever_broken(model: Model, rows: int, joins: bool) -> None:
    domain = model.domain
    with pytest.MonkeyPatch.context() as patch:
        if (
            not joins
        ):  # as where tables are too large to be joined: records are mended one by one
            patch.setattr("synth_engine.constraints.tables.MAX_JOINED_CELLS", 1)
        codes = model.sample(rows, seed="s")
        untouched = set(domain.names) - {
            name for rule in domain.constraints for name in rule.columns
        }
        plain = model.unconstrained.sample(rows, seed="s")
        frame = mechanisms.draw_table(model, rows, "s")
    for component in domain.components:
        assert np.all(component.holds({name: codes[name] for name in component.columns}))
        for orders in component.orders:
            assert not values.breaking(domain, orders, frame).any()
    if not model.network:
        assert all(np.array_equal(codes[name], plain[name]) for name in untouched)
    read = codec.encode(domain, dict(codec.as_text(domain, frame).items()))
    assert all(np.array_equal(read[name], codes[name]) for name in domain.names), (
        "a value left its bin"
    )


# --- what the steward reads ---------------------------------------------------------------------------------
def test_the_stewards_report_counts_records_that_break_a_constraint(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b,m\n" + "1,2,x\n" * 200 + "2,1,x\n" * 7 + "0,0,\n" * 100 + "2,2,\n" * 3)
    rules = (Order(first="a", second="b"), MissingIff(column="m", when="a", values=("0",)))
    attributes = (
        Integer(name="a", low=0, high=2),
        Integer(name="b", low=0, high=2),
        Categorical(name="m", values=("x", "y"), missing=("",)),
    )
    domain = Domain(attributes=attributes, constraints=rules)
    spec = Spec(mechanism="independent", epsilon=Fraction(50), seed="s")
    release = pipeline.synthesize(path, domain=domain, spec=spec)
    found = pipeline.report(path, model=release.model, rows=300, seed="s")
    assert [entry["sentence"] for entry in found["constraints"]] == [
        "a ≤ b",
        "m is missing exactly where a is 0",
        "any of these",
    ]
    assert [entry["records"]["real"] for entry in found["constraints"]] == [7, 3, 10]
    assert [entry["records"]["synthetic"] for entry in found["constraints"]] == [0, 0, 0]
    assert all(entry["records"]["unenforced"] > 20 for entry in found["constraints"])
    assert found["private"] is False
    text = page.html(found)
    assert "a ≤ b" in text
    assert "some real records do not" in text
    (tmp_path / "drawn.csv").write_bytes(
        b"".join(tables.csv_pieces(tables.Drawing(model=release.model, rows=300, seed="s")))
    )
    compared = pipeline.compare(path, tmp_path / "drawn.csv", domain=domain)
    assert [entry["records"] for entry in compared["constraints"]][-1] == {
        "real": 10,
        "unenforced": None,
        "synthetic": 0,
    }


def test_constraints_change_neither_what_is_asked_nor_what_it_costs() -> None:
    spec = Spec(mechanism="bayesian-network", epsilon=Fraction(1))
    with_, without = mechanisms.plan(town(*RULES), spec), mechanisms.plan(town(), spec)
    assert with_.loss == without.loss
    assert with_.calls == without.calls
    spec = Spec(mechanism="independent", epsilon=Fraction(1))
    assert mechanisms.plan(town(*RULES), spec).calls == mechanisms.plan(town(), spec).calls


def test_the_order_of_fields_in_a_document_means_nothing() -> None:
    """A database may keep an object's fields in an order of its own."""
    columns = {"works": ["yes"], "region": ["south"]}
    one, other = (
        declared.parse([{"kind": "impossible", "columns": dict(items)}])[0]
        for items in (columns.items(), reversed(columns.items()))
    )
    assert one.columns == other.columns == ("region", "works")
    assert one.sentence == other.sentence
