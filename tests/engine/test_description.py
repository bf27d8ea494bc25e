"""Descriptions: a model for people to read and edit; what nobody edited is the model, what is wrong is
said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_engine import mechanisms
from synth_engine.cli import main
from synth_engine.domain import Boolean, Categorical, Domain, Identifier, Integer, Number
from synth_engine.errors import InputError
from synth_engine.models import description
from synth_engine.models.model import WHOLE, Model, Node, Table, whole_weights
from synth_engine.privacy.unit import PrivacyUnit

Document = dict[str, Any]
DOMAIN = Domain(
    attributes=(
        Identifier(name="who", regenerate="uuid"),
        Categorical(name="job", values=("clerk", "cook"), other=True, missing=("?",)),
        Boolean(name="member", true="yes", false="no"),
        Integer(name="age", low=0, high=29, width=10),
    ),
    unit=PrivacyUnit(max_records=3, column="who"),
)


def random_weights(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Weights of all sizes, some of them zero."""
    return whole_weights(rng.exponential(size=shape) ** 4 * (rng.random(shape) < 0.8))


def flat(seed: int = 1) -> Model:
    rng = np.random.default_rng(seed)
    tables = tuple(
        Table(clique=(n,), weights=random_weights((s,), rng)) for n, s in DOMAIN.sizes.items()
    )
    return Model(
        mechanism="independent",
        domain=DOMAIN,
        rows=400,
        tables=tables,
        groups=whole_weights(np.array([3.0, 1])),
    )


def network(seed: int = 1) -> Model:
    rng = np.random.default_rng(seed)
    nodes = (
        Node(attribute="age", parents=()),
        Node(attribute="job", parents=("age",)),
        Node(attribute="member", parents=("job", "age")),
    )
    tables = tuple(
        Table(
            clique=(*n.parents, n.attribute),
            weights=random_weights(DOMAIN.shape((*n.parents, n.attribute)), rng),
        )
        for n in nodes
    )
    return Model(
        mechanism="bayesian-network", domain=DOMAIN, rows=400, tables=tables, network=nodes
    )


def stored(model: Model) -> Document:
    """As it comes out of a file."""
    document: Document = json.loads(json.dumps(description.write(model)))
    return document


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32), make=st.sampled_from([flat, network]))
def test_what_nobody_edited_is_the_model_that_it_was_written_from(
    seed: int, make: Callable[[int], Model]
) -> None:
    model = make(seed)
    document = stored(model)
    read = description.read(document)
    assert read.to_json() == model.to_json()
    assert not description.edited(document, read)


def test_a_description_says_labels_and_shares() -> None:
    document = stored(network())
    assert [entry["column"] for entry in document["columns"]] == ["age", "job", "member"]
    assert set(document["columns"][0]["shares"]) <= {"0 to 9", "10 to 19", "20 to 29"}
    table = document["columns"][2]["tables"][0]
    assert table["when"]["job"] in {"clerk", "cook", "(other)", "(missing)"}
    assert set(table["shares"]) <= {"yes", "no"}
    for entry in document["columns"]:
        for one in entry.get("tables", [entry]):
            assert sum(one["shares"].values()) == pytest.approx(1)


def test_edited_shares_are_what_is_drawn() -> None:
    document = stored(network())
    document["columns"][0]["shares"] = {"0 to 9": 0.25, "20 to 29": 0.75}
    document["columns"][1] = {"column": "job", "given": [], "shares": {"cook": 1}}
    model = description.read(document)
    assert description.edited(document, model)
    table = mechanisms.draw_table(model, 400, "a seed")
    assert set(table["job"]) == {"cook"}
    assert int((table["age"] < 10).sum()) == 100
    assert int((table["age"] >= 20).sum()) == 300


def test_edited_rows_a_person_are_what_is_drawn() -> None:
    document = stored(flat())
    document["rows_a_person"] = {"3": 1}
    table = mechanisms.draw_table(description.read(document), 300, "a seed")
    assert set(table["who"].value_counts()) == {3}


def test_an_edited_domain_may_have_values_that_nobody_measured() -> None:
    document = stored(flat())
    job = next(a for a in document["domain"]["attributes"] if a["name"] == "job")
    job["values"].append("astronaut")
    entry = next(entry for entry in document["columns"] if entry["column"] == "job")
    entry["shares"] = {"astronaut": 1}
    assert set(mechanisms.draw_table(description.read(document), 20, "s")["job"]) == {
        "astronaut"
    }


def test_labels_that_stand_for_two_codes_are_told_apart() -> None:
    near = Number(name="x", low=0, high=1, edges=(0, 1e-12, 2e-12, 1))
    assert len(set(description.labels(near))) == 3
    clash = Categorical(name="y", values=("(missing)", "b"), missing=("",))
    assert description.labels(clash) == ("(missing)", "b", "(missing) (2)")


def test_shares_that_people_rounded_are_mended() -> None:
    document = stored(flat())
    document["columns"][2]["shares"] = {
        "0 to 9": 0.3333333,
        "10 to 19": 0.3333333,
        "20 to 29": 0.3333333,
    }
    weights = description.read(document).tables[2].weights
    assert int(weights.sum()) == WHOLE
    assert weights.tolist() == pytest.approx([WHOLE / 3] * 3, abs=1)


def put(path: tuple[Any, ...], value: object) -> Callable[[Document], None]:
    def act(document: Document) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return act


def drop(*path: Any) -> Callable[[Document], None]:
    def act(document: Document) -> None:
        place: Any = document
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]

    return act


def double(document: Document) -> None:
    document["columns"].append(document["columns"][0])


def double_table(document: Document) -> None:
    document["columns"][1]["tables"].append(document["columns"][1]["tables"][0])


WRONG = [
    pytest.param(put(("schema",), "other"), "no description", None, id="schema"),
    pytest.param(put(("more",), 1), "unknown field", None, id="unknown field"),
    pytest.param(put(("rows",), 1.5), "rows", None, id="rows"),
    pytest.param(put(("rows",), True), "rows", None, id="rows as a truth value"),
    pytest.param(put(("rows",), 10**10), "rows", None, id="too many rows"),
    pytest.param(put(("mechanism",), ""), "mechanism", None, id="mechanism"),
    pytest.param(put(("domain",), None), "domain", None, id="domain"),
    pytest.param(
        put(("domain", "attributes", 1, "provenance"), "suggested"),
        "suggested",
        "job",
        id="a suggestion",
    ),
    pytest.param(put(("columns",), {}), "columns", None, id="columns"),
    pytest.param(double, "twice", "age", id="a column twice"),
    pytest.param(drop("columns", 2), "not described", "member", id="a column lacks"),
    pytest.param(
        put(("columns", 0, "column"), "nobody"), "no column", None, id="unknown column"
    ),
    pytest.param(put(("columns", 0, "column"), "who"), "no column", None, id="an identifier"),
    pytest.param(
        put(("columns", 0, "note"), "x"), "unknown field", "age", id="unknown field of a column"
    ),
    pytest.param(drop("columns", 0, "given"), "given", "age", id="given here and not there"),
    pytest.param(put(("columns", 1, "given"), ["member"]), "before", "job", id="given later"),
    pytest.param(
        put(("columns", 1, "given"), ["age", "age"]), "before", "job", id="given twice"
    ),
    pytest.param(put(("columns", 1, "given"), "age"), "list", "job", id="given is a text"),
    pytest.param(put(("columns", 0, "shares"), {}), "no shares", "age", id="no shares"),
    pytest.param(
        put(("columns", 0, "shares"), {"0 to 9": 0.9}), "add up", "age", id="sum below 1"
    ),
    pytest.param(
        put(("columns", 0, "shares"), {"0 to 9": 1, "10 to 19": 1}),
        "add up",
        "age",
        id="sum above 1",
    ),
    pytest.param(
        put(("columns", 0, "shares"), {"0 to 9": -0.5, "10 to 19": 1}),
        "share 1",
        "age",
        id="below zero",
    ),
    pytest.param(put(("columns", 0, "shares"), {"0 to 9": "1"}), "share 1", "age", id="a text"),
    pytest.param(
        put(("columns", 0, "shares"), {"0 to 9": True}), "share 1", "age", id="a truth value"
    ),
    pytest.param(
        put(("columns", 0, "shares"), {"0 to 9": float("nan")}),
        "share 1",
        "age",
        id="no number",
    ),
    pytest.param(
        put(("columns", 0, "shares"), {"0-9": 1}), "label 1", "age", id="unknown label"
    ),
    pytest.param(put(("columns", 1, "tables"), []), "tables", "job", id="no tables"),
    pytest.param(double_table, "twice", "job", id="a combination twice"),
    pytest.param(
        put(("columns", 1, "tables", 0, "when"), {}), "table 1", "job", id="when names nothing"
    ),
    pytest.param(
        put(("columns", 1, "tables", 0, "when"), {"age": "x"}),
        "table 1",
        "job",
        id="when has no label",
    ),
    pytest.param(
        put(("columns", 1, "tables", 0, "when"), {"age": ["x"]}),
        "table 1",
        "job",
        id="when has a list",
    ),
    pytest.param(
        put(("columns", 1, "tables", 0, "share"), 0), "table 1", "job", id="share of nothing"
    ),
    pytest.param(
        put(("columns", 1, "tables", 0, "share"), 1), "add up", "job", id="shares of tables"
    ),
    pytest.param(
        put(("columns", 1, "tables", 0, "shares"), {"cook": 2}),
        "table 1",
        "job",
        id="share in a table",
    ),
    pytest.param(
        drop("columns", 1, "tables", 0, "share"), "table 1", "job", id="a table without share"
    ),
    pytest.param(
        put(("rows_a_person",), {"4": 1}),
        "rows_a_person",
        "who",
        id="more rows than a person may have",
    ),
    pytest.param(
        put(("rows_a_person",), {"1": 0.5}), "rows_a_person", "who", id="persons do not add up"
    ),
    pytest.param(put(("rows_a_person",), []), "rows_a_person", "who", id="persons as a list"),
]


@pytest.mark.parametrize(("spoil", "words", "column"), WRONG)
def test_what_is_wrong_is_said_with_column_rule_and_repair(
    spoil: Callable[[Document], None], words: str, column: str | None
) -> None:
    document = stored(network())
    spoil(document)
    with pytest.raises(InputError, match=words) as caught:
        description.read(document)
    assert caught.value.column == column
    assert caught.value.repair


def test_a_column_of_too_many_combinations_is_refused_before_any_is_made() -> None:
    domain = Domain.from_json({"a": 2_000, "b": 2_000})
    one = {"0": 1}
    document = stored(flat()) | {
        "domain": domain.to_json(),
        "columns": [
            {"column": "a", "given": [], "shares": one},
            {
                "column": "b",
                "given": ["a"],
                "tables": [{"when": {"a": "0"}, "share": 1, "shares": one}],
            },
        ],
    }
    del document["rows_a_person"]
    with pytest.raises(InputError, match="1,000,000 cells"):
        description.read(document)


def test_all_tables_together_are_bounded_too() -> None:
    domain = Domain.from_json({f"c{number}": 1_000 for number in range(7)})
    columns: list[Document] = [{"column": "c0", "given": [], "shares": {"0": 1}}]
    for number in range(1, 7):
        tables = [{"when": {"c0": "0"}, "share": 1, "shares": {"0": 1}}]
        columns.append({"column": f"c{number}", "given": ["c0"], "tables": tables})
    document = stored(flat()) | {"domain": domain.to_json(), "columns": columns}
    del document["rows_a_person"]
    with pytest.raises(InputError, match="4,000,000 cells"):
        description.read(document)


def test_a_column_that_is_still_to_be_learned_is_refused() -> None:
    document = stored(flat())
    job = next(a for a in document["domain"]["attributes"] if a["name"] == "job")
    values = {"set": "list", "values": ["clerk", "cook"]}
    job |= {"kind": "weak", "values": values}
    del job["other"]
    with pytest.raises(InputError, match="learned") as caught:
        description.read(document)
    assert caught.value.column == "job"


def joint_model() -> Model:
    domain = Domain.from_json({"a": 2, "b": 3})
    weights = whole_weights(np.array([[1.0, 0.0, 2.0], [4.0, 5.0, 0.0]]))
    together = Table(clique=("b", "a"), weights=weights.T.copy())
    return Model(mechanism="x", domain=domain, rows=4, tables=(together,))


def test_one_table_of_all_columns_is_described_by_its_cells() -> None:
    model = joint_model()
    document = json.loads(json.dumps(description.write(model)))
    assert document["cells"]["columns"] == ["b", "a"]
    assert len(document["cells"]["shares"]) == 4
    again = description.read(document)
    assert again.to_json() == model.to_json() and not description.edited(document, again)
    document["cells"]["shares"].reverse()
    assert description.read(document).to_json() == model.to_json()
    first, *others = document["cells"]["shares"]
    first["share"] += sum(line["share"] for line in others)
    document["cells"]["shares"] = [first]
    edited = description.read(document)
    assert description.edited(document, edited)
    assert len(np.flatnonzero(edited.tables[0].weights)) == 1


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"cells": 3}, "not an object"),
        ({"columns": ["a", "a"]}, "not those of the domain"),
        ({"columns": ["a"]}, "not those of the domain"),
        ({"shares": []}, "lists no share"),
        ({"shares": [{"values": ["0", "0"], "share": 2}]}, "from 0 to 1"),
        ({"shares": [{"values": ["0", "9"], "share": 1}]}, "value that its column lacks"),
        ({"shares": [{"values": ["0"], "share": 1}]}, "a value for each column"),
        ({"shares": [{"share": 1}]}, "missing or unknown fields"),
        ({"shares": [{"values": ["0", "0"], "share": 0.5}]}, "do not add up"),
        ({"shares": [{"values": ["0", "0"], "share": 0.5}] * 2}, "twice"),
        ({"targets": []}, "described together"),
    ],
    ids=str,
)
def test_cells_that_are_wrong_are_refused(change: dict[str, Any], rule: str) -> None:
    document = json.loads(json.dumps(description.write(joint_model())))
    for key, value in change.items():
        if key in ("columns", "shares"):
            document["cells"][key] = value
        else:
            document[key] = value
    with pytest.raises(InputError, match=rule):
        description.read(document)


def test_a_table_of_some_columns_without_an_order_is_kept_as_a_model() -> None:
    domain = Domain.from_json({"a": 2, "b": 2, "c": 2})
    tables = (
        Table(clique=("a", "b"), weights=whole_weights(np.ones((2, 2)))),
        Table(clique=("c",), weights=whole_weights(np.ones(2))),
    )
    with pytest.raises(InputError, match="order"):
        description.write(Model(mechanism="x", domain=domain, rows=4, tables=tables))


def test_the_command_line_writes_descriptions_and_samples_from_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, described = tmp_path / "model.json", tmp_path / "description.json"
    model.write_text(json.dumps(network().to_json()))
    assert main(["describe", str(model), "--out", str(described)]) == 0
    for source, out in ((model, "a.csv"), (described, "b.csv")):
        assert (
            main(
                [
                    "sample",
                    str(source),
                    "--rows",
                    "50",
                    "--seed",
                    "7",
                    "--out",
                    str(tmp_path / out),
                ]
            )
            == 0
        )
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert capsys.readouterr().err == ""
    document = json.loads(described.read_text())
    document["columns"][0]["shares"] = {"0 to 9": 1}
    described.write_text(json.dumps(document))
    assert (
        main(
            [
                "sample",
                str(described),
                "--rows",
                "50",
                "--seed",
                "7",
                "--out",
                str(tmp_path / "c.csv"),
            ]
        )
        == 0
    )
    assert "edited" in capsys.readouterr().err
    document["columns"][0]["shares"] = {"0 to 9": 2}
    described.write_text(json.dumps(document))
    assert (
        main(
            [
                "sample",
                str(described),
                "--rows",
                "50",
                "--seed",
                "7",
                "--out",
                str(tmp_path / "d.csv"),
            ]
        )
        == 2
    )
    assert "'age'" in capsys.readouterr().err
