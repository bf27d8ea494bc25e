"""Chosen rows: conditions and quotas hold, what remains is distributed as the model has it, and refusals say
why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from synth_engine import cli, mechanisms, row_selection
from synth_engine.domain import Categorical, Domain, Identifier, Integer
from synth_engine.errors import InputError, SpecError, SynthError
from synth_engine.models.model import WHOLE, Model, Table, whole_weights
from synth_engine.row_selection import RowSelection
from synth_engine.tables import Drawing
from tests.engine.test_targets import counted, distance
from tests.engine.test_targets import model as refining

SHARES = {"north": 0.7, "south": 0.2995, "isle": 0.0005}


def plain() -> Model:
    """Independent columns: a region with a rare value, an age with missing cells, a day, and a number for
    each row."""
    domain = Domain(
        attributes=(
            Identifier(name="id", regenerate="sequence"),
            Categorical(name="region", values=tuple(SHARES), outside="clamp"),
            Integer(name="age", low=0, high=99, width=10, missing=("?",)),
            Integer(name="day", low=1, high=10, width=1),
        )
    )
    sizes = domain.sizes
    weights = {"region": np.array(list(SHARES.values()))}
    return Model(
        mechanism="independent",
        domain=domain,
        rows=20_000,
        tables=tuple(
            Table(
                clique=(name,),
                weights=whole_weights(weights.get(name, np.ones(sizes[name]))),
            )
            for name in sizes
        ),
    )


def table(model: Model, document: dict[str, Any], rows: int, seed: str = "s") -> pd.DataFrame:
    draw = Drawing(
        model=model, rows=rows, seed=seed, selection=RowSelection.from_json(document)
    )
    return pd.concat(list(draw.blocks()), ignore_index=True)


def test_every_row_keeps_to_every_condition() -> None:
    where = [
        {"column": "region", "values": ["south", "isle"]},
        {"column": "age", "values": [{"from": 20, "to": 39}, None, "77"]},
    ]
    rows = table(plain(), {"where": where}, 500)
    assert len(rows) == 500
    assert set(rows["region"]) <= {"south", "isle"}
    ages = rows["age"]
    assert (ages.isna() | ages.between(20, 39) | (ages == 77)).all()
    assert ages.isna().any() and (ages == 77).any()


def test_quotas_are_met_exactly_under_conditions_too() -> None:
    document = {
        "where": [{"column": "age", "values": [{"from": 50}]}],
        "quotas": {"column": "region", "rows": {"south": 70, "north": 30}},
    }
    rows = table(plain(), document, 100)
    assert rows["region"].value_counts().to_dict() == {"south": 70, "north": 30}
    assert rows["age"].ge(50).all()


def test_identifiers_are_made_anew_without_a_gap() -> None:
    document = {"where": [{"column": "region", "values": ["isle"]}]}
    rows = table(plain(), document, 60)  # from more than one round
    assert rows["id"].astype(int).tolist() == list(range(1, 61))


def test_other_columns_are_distributed_as_in_the_model_given_the_conditions() -> None:
    """Of a refined model, against the rows of a whole table that keep to the condition."""
    whole = mechanisms.draw_table(refining(), 200_000, "other")
    document = {"where": [{"column": "shop", "values": ["a"]}]}
    rows = table(refining(), document, 20_000)
    given = whole[whole["shop"] == "a"]
    for name in ("size", "low", "high"):
        shares = [one[name].value_counts(normalize=True) for one in (rows, given)]
        # The largest share is about .4: this is more than 8 standard deviations of 20,000 rows.
        assert shares[0].sub(shares[1], fill_value=0).abs().max() < 0.03


def codes_of(model: Model, frame: pd.DataFrame) -> dict[str, npt.NDArray[np.uint16]]:
    """The codes of a table of a model whose columns are labels and whole numbers from 0."""
    return {
        one.name: (
            pd.Index(one.value_labels).get_indexer(frame[one.name])
            if isinstance(one, Categorical)
            else frame[one.name].to_numpy()
        ).astype(np.uint16)
        for one in model.domain.modelled
    }


def of_quotas(model: Model, *, seed: str) -> tuple[float, float]:
    """The mean distance of the pairs of plain rows, and of as many rows by quotas that are the model's own
    shares."""
    (shop,) = (
        one.weights.sum(axis=1) for one in model.targets if one.clique == ("shop", "size")
    )
    counts = np.floor(shop / WHOLE * 20_000).astype(int).tolist()
    quotas = {"column": "shop", "rows": dict(zip("abc", counts, strict=True))}
    whole = pd.concat(list(Drawing(model=model, rows=sum(counts), seed=seed).blocks()))
    chosen = table(model, {"quotas": quotas}, sum(counts), seed)
    first, second = (distance(model, codes_of(model, one)) for one in (whole, chosen))
    return first, second


def test_rows_by_quotas_are_as_near_to_the_model_as_plain_rows() -> None:
    whole, chosen = np.mean([of_quotas(refining(), seed=seed) for seed in "abc"], axis=0)
    assert chosen <= 1.05 * whole


def of_condition(model: Model, frame: pd.DataFrame) -> float:
    """The mean distance of each column from its distribution in the shop a."""
    codes, distances = codes_of(model, frame), []
    for target in model.targets:
        if target.clique[0] == "shop":
            wanted, found = target.weights[0], counted(model, codes, target)[0]
            apart = found / found.sum() - wanted / wanted.sum()
            distances.append(np.abs(apart).sum() / 2)
    return float(np.mean(distances))


def test_rows_by_a_condition_are_as_near_to_the_model_as_those_of_a_whole_table() -> None:
    """Up to two of 20,000 rows: both are right to rounding."""
    model, document = refining(), {"where": [{"column": "shop", "values": ["a"]}]}
    share = next(one.weights[0].sum() / WHOLE for one in model.targets if "shop" in one.clique)
    rows = int(20_000 / share)
    whole = pd.concat(list(Drawing(model=model, rows=rows, seed="s").blocks()))
    chosen = table(model, document, 20_000)
    assert of_condition(model, chosen) <= of_condition(model, whole) + 2 / 20_000


def test_the_same_selection_and_seed_give_the_same_rows() -> None:
    document = {"quotas": {"column": "region", "rows": {"north": 40, "isle": 5}}}
    first = table(plain(), document, 45)
    assert first.equals(table(plain(), document, 45))
    assert not first.equals(table(plain(), document, 45, seed="t"))


@pytest.mark.parametrize(
    ("document", "rows", "words"),
    [
        (
            {"where": [{"column": "nowhere", "values": ["a"]}]},
            5,
            "'nowhere': the release has no",
        ),
        ({"where": [{"column": "id", "values": ["1"]}]}, 5, "'id': the release has no such"),
        ({"where": [{"column": "region", "values": ["east"]}]}, 5, "'region': value 1 is not"),
        ({"where": [{"column": "region", "values": [{"from": 1}]}]}, 5, "'region': a range of"),
        ({"where": [{"column": "age", "values": [{"from": 9, "to": 2}]}]}, 5, "'age': a range"),
        ({"where": [{"column": "age", "values": ["old"]}]}, 5, "'age': value 1 cannot be read"),
        ({"where": [{"column": "age", "values": ["nan"]}]}, 5, "'age': value 1 cannot be read"),
        ({"where": [{"column": "region", "values": [None]}]}, 5, "hardly any records where"),
        (
            {"where": [{"column": "region", "values": ["isle"]}]},
            2_000,
            "about 1[0-9] are expected",
        ),
        (
            {"quotas": {"column": "region", "rows": {"north": 2}}},
            5,
            "2 rows in all, and not for 5",
        ),
        (
            {"quotas": {"column": "region", "rows": {"north": 10, "isle": 2_000}}},
            2_010,
            "few records where region is isle",
        ),
    ],
)
def test_refusals_name_column_and_rule(document: dict[str, Any], rows: int, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        row_selection.require(plain(), RowSelection.from_json(document), rows=rows)


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        [],
        {"where": []},
        {"where": "region"},
        {"rows": 4},
        {"where": [{"column": "region"}]},
        {"where": [{"column": "", "values": ["a"]}]},
        {"where": [{"column": "region", "values": []}]},
        {"where": [{"column": "region", "values": [1.5]}]},
        {"where": [{"column": "region", "values": ["a"]}] * 21},
        {"quotas": {"column": "region"}},
        {"quotas": {"column": "region", "rows": {}}},
        {"quotas": {"column": "region", "rows": {"north": 0}}},
        {"quotas": {"column": "region", "rows": {"north": True}}},
        {"quotas": {"column": 3, "rows": {"north": 1}}},
    ],
)
def test_a_malformed_selection_is_refused(document: object) -> None:
    with pytest.raises(InputError):
        RowSelection.from_json(document)


def test_documents_round_trip_and_have_words() -> None:
    document = {
        "where": [
            {"column": "region", "values": ["north", None]},
            {"column": "age", "values": [{"from": 20, "to": 40}, "7"]},
        ],
        "quotas": {"column": "region", "rows": {"north": 3}},
    }
    selection = RowSelection.from_json(json.loads(json.dumps(document)))
    assert selection.to_json() == document and selection.rows == 3
    assert selection.words == (
        "region is north or missing; age is 20 to 40 or 7; 3 of north by region"
    )


def test_what_is_accepted_comes_out_and_what_runs_out_is_no_short_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = {"where": [{"column": "region", "values": ["isle"]}]}
    selection = RowSelection.from_json(document)
    row_selection.require(plain(), selection, rows=10)
    assert len(table(plain(), document, 10)) == 10
    monkeypatch.setattr(row_selection, "FEWEST_DRAWS", row_selection.ROUND)
    monkeypatch.setattr(row_selection, "DRAWS_A_ROW", 1)
    with pytest.raises(SynthError, match="too few that are selected"):
        table(plain(), document, 1_000)


def test_rows_of_persons_are_not_chosen_one_by_one() -> None:
    class Grouped:
        groups = np.ones(2)

    with pytest.raises(SpecError, match="people"):
        row_selection.require(
            Grouped(),  # type: ignore[arg-type]
            RowSelection.from_json({"where": [{"column": "region", "values": ["north"]}]}),
            rows=5,
        )


def test_the_command_line_draws_chosen_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.json").write_text(json.dumps(plain().to_json()))
    quotas = {"quotas": {"column": "region", "rows": {"north": 4, "south": 2}}}
    (tmp_path / "selection.json").write_text(json.dumps(quotas))
    given = ["sample", f"{tmp_path}/model.json", "--seed", "7", "--out", f"{tmp_path}/out.csv"]
    asked = [*given, "--selection", f"{tmp_path}/selection.json"]
    assert cli.main(asked) == 0
    rows = pd.read_csv(tmp_path / "out.csv")
    assert rows["region"].value_counts().to_dict() == {"north": 4, "south": 2}
    assert cli.main([*asked, "--overwrite", "--rows", "7"]) == 2
    assert "quotas ask for 6 rows" in capsys.readouterr().err
    wrong = {"where": [{"column": "region", "values": ["secret east"]}]}
    (tmp_path / "selection.json").write_text(json.dumps(wrong))
    assert cli.main([*asked, "--overwrite", "--rows", "7"]) == 2
    said = capsys.readouterr().err
    assert "'region'" in said and "secret" not in said and said.count("\n") == 1


def test_a_model_of_one_more_row_draws_as_many() -> None:
    large = replace(plain(), rows=row_selection.ROUND + 1)
    document = {"where": [{"column": "region", "values": ["south"]}]}
    assert len(table(large, document, 50)) == 50


def test_of_many_quotas_the_first_rows_of_each_are_taken() -> None:
    rng = np.random.default_rng(3)
    kinds = rng.integers(-1, 500, 4_000)
    left = rng.integers(0, 12, 500)
    before, first = left.copy(), []
    for row, kind in enumerate(kinds.tolist()):
        if kind >= 0 and before[kind] > 0:
            before[kind] -= 1
            first.append(row)
    taken = row_selection._taken(pd.DataFrame({"row": np.arange(4_000)}), kinds, left)
    assert taken["row"].tolist() == first and left.tolist() == before.tolist()
