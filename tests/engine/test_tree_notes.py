"""Remarks about trees: that nothing but noise is in one, or what ended it; by the engine, in models, by the
command line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import cli, mechanisms
from synth_engine.domain import Categorical, Domain, Integer, Partition, Place, Weak
from synth_engine.errors import InputError
from synth_engine.evaluation import tree_notes
from synth_engine.hierarchy import Growth, Rule
from synth_engine.hierarchy import growth as growing
from synth_engine.hierarchy.estimate import LeafEstimates
from synth_engine.indexing import prefixes
from synth_engine.measurement import Noise
from synth_engine.mechanisms.trees import node_selection
from synth_engine.models.model import Model
from synth_engine.models.trees import diagnostics
from synth_engine.privacy.unit import PrivacyUnit, Relation
from synth_engine.room.rows import Rows
from synth_engine.room.session import open_session
from synth_engine.spec import Spec
from synth_engine.values.strings import Strings

TREES = ("adaptive", "adaptive-basic", "adaptive-improved", "privtree", "direct-synthesis")


def square(bins: int = 64, sides: int = 2) -> Domain:
    return Domain(
        attributes=tuple(
            Integer(name=f"x{i}", low=0, high=bins - 1, width=1) for i in range(sides)
        )
    )


def fitted(
    mechanism: str, domain: Domain, codes: dict[str, Any], *, epsilon: str = "1", **rest: Any
) -> Model:
    delta = Fraction(rest.pop("delta", 0))
    spec = Spec(mechanism=mechanism, epsilon=Fraction(epsilon), delta=delta, parameters=rest)
    plan = mechanisms.plan(domain, spec)
    table = {name: np.asarray(column, dtype=np.uint16) for name, column in codes.items()}
    model = plan.fit(
        plan.run(open_session(Rows(table, domain=domain), domain=domain, cap=plan.loss))
    )
    assert Model.from_json(json.loads(json.dumps(model.to_json()))).notes == model.notes
    return model


def one_place(domain: Domain, rows: int) -> dict[str, Any]:
    return {name: np.full(rows, 7) for name in domain.names}


@pytest.mark.parametrize(("law", "scale"), [("discrete-laplace", 3), ("rounded-gaussian", 4)])
def test_the_chance_that_noise_reaches_a_number_is_that_of_its_law(
    law: Any, scale: int
) -> None:
    noise = Noise(law=law, scale=Fraction(scale))
    each = [noise.reaches(number) - noise.reaches(number + 1) for number in range(1, 200)]
    assert sum(number**2 * chance for number, chance in enumerate(each, 1)) == pytest.approx(
        noise.variance / 2
    )


def test_nothing_stands_out_of_an_empty_table_nineteen_times_out_of_twenty() -> None:
    """Of the law of noise, without the room, so that there can be many; the room is asked below."""
    rng, noise = np.random.default_rng(4), Noise(law="discrete-laplace", scale=Fraction(5))
    chance, tables = noise.reaches(20), 4_000

    def drawn(size: int) -> Any:
        return rng.geometric(-np.expm1(-1 / 5), size) - rng.geometric(-np.expm1(-1 / 5), size)

    wrong = 0
    for _ in range(tables):
        levels, looked = [], 16
        while looked and len(levels) < 5:
            opened = int((drawn(looked) >= 20).sum())
            levels.append((looked, opened))
            looked = 16 * opened
        counts = [(drawn(looked), noise) for looked, _ in levels]
        wrong += diagnostics.opens_more_than_noise(
            levels, chance=chance
        ) or diagnostics.stands_out(counts)
    assert 0.005 * tables < wrong < 0.05 * tables


def test_more_nodes_or_one_larger_count_than_noise_gives_stand_out() -> None:
    noise = Noise(law="discrete-laplace", scale=Fraction(5))
    assert not diagnostics.opens_more_than_noise(
        [(16, 1)], chance=1 / 32
    ) and diagnostics.opens_more_than_noise([(16, 6)], chance=1 / 32)
    assert not diagnostics.opens_more_than_noise([(16, 1), (16, 1)], chance=1 / 32)
    assert diagnostics.opens_more_than_noise([(16, 0), (16, 6)], chance=1 / 32)
    assert not diagnostics.stands_out(
        [(np.array([3, -60, 22]), noise)]
    ) and not diagnostics.stands_out([(np.array([-90]), noise)])
    assert diagnostics.stands_out([(np.array([3, 0, 40]), noise)])
    assert not diagnostics.stands_out(
        [(np.arange(-5_000, 41), noise)]
    )  # of many cells one may well have so much
    assert diagnostics.stands_out([(np.array([3]), noise), (np.array([60]), noise)])


@pytest.mark.parametrize("delta", ["0", "1/1000000"])
@pytest.mark.parametrize("mechanism", TREES)
def test_a_release_of_noise_is_told_and_one_of_records_is_not(
    mechanism: str, delta: str
) -> None:
    """Of an empty table it is told 19 times out of 20 or more. Each of 20 records makes any answer exp(1/100)
    times likelier at most, so that one run in 16 goes untold at most, and more than eight of twelve do once
    in 10⁸ times."""
    domain, rng = square(), np.random.default_rng(0)
    few = {name: rng.integers(0, 64, 20) for name in domain.names}
    found = [fitted(mechanism, domain, few, epsilon="1/100", delta=delta) for _ in range(12)]
    told = [tree_notes.sentences(model) for model in found]
    assert (
        sum(
            "stood out of the noise" in "".join(each) and "a larger ε" in "".join(each)
            for each in told
        )
        >= 4
    )
    assert all(
        model.rows >= 0 and len(model.sample(10, seed="s")["x0"]) == 10 for model in found
    )
    many = {name: np.clip(rng.normal(20, 4, 4_000), 0, 63) for name in domain.names}
    model = fitted(mechanism, domain, many, delta=delta)
    assert model.notes is not None and not model.notes.noise
    assert "stood out" not in "".join(tree_notes.sentences(model))


@pytest.mark.parametrize("mechanism", TREES)
def test_from_how_many_records_on_is_known_before_the_run(mechanism: str) -> None:
    domain = Domain(attributes=square().attributes, relation=Relation.REPLACE_ONE, rows=500)
    spec = Spec(mechanism=mechanism, epsilon=Fraction(1))
    model = fitted(mechanism, domain, one_place(domain, 500))
    assert model.notes is not None
    assert (
        mechanisms.plan(domain, spec).min_records_to_split() == model.notes.min_records_to_split
    )


def test_methods_with_columns_beside_a_tree_say_it_of_the_tree_and_those_without_one_do_not() -> (
    None
):
    beside = Categorical(name="trade", values=tuple("abc"), outside="clamp")
    place = Place(name="home", latitude="x0", longitude="x1")
    places = Domain(attributes=(*square().attributes, beside), places=(place,))
    words = Weak(name="word", values=Strings(alphabet="ab", min_length=1, max_length=4))
    texts = Domain(attributes=(words, beside))
    persons = Domain(
        attributes=square().attributes, unit=PrivacyUnit(max_records=3, column="who")
    )
    for domain in (places, texts, persons):
        found = mechanisms.plan(
            domain, Spec(mechanism="adaptive", epsilon=Fraction(1))
        ).min_records_to_split(1_000)
        more = mechanisms.plan(
            domain, Spec(mechanism="adaptive", epsilon=Fraction(1, 10))
        ).min_records_to_split(1_000)
        assert found is not None and more is not None and 5 * found < more < 20 * found
    assert (
        mechanisms.plan(
            places, Spec(mechanism="independent", epsilon=Fraction(1))
        ).min_records_to_split(1_000)
        is None
    )


@pytest.mark.parametrize("mechanism", TREES[:4])
def test_with_fewer_records_in_all_the_tree_most_likely_ends_at_its_first_depth(
    mechanism: str,
) -> None:
    """By noise that is really drawn; everybody lies at one place, which is the best case. With a quarter of
    the records one tree in five is deeper: half of 120 once in 10⁸ times even if it were one in four."""

    def deeper(times: float) -> int:
        domain, records = square(), 100
        plan = mechanisms.plan(domain, Spec(mechanism=mechanism, epsilon=Fraction(1, 10)))
        for _ in range(9):  # where the number itself depends on how many there are
            records = max(1, int(times * (plan.min_records_to_split(records) or 0)))
        found = [
            fitted(mechanism, domain, one_place(domain, records), epsilon="1/10")
            for _ in range(120)
        ]
        return sum(
            model.tree is not None and int(model.tree.levels.max()) > 1 for model in found
        )

    assert deeper(0.25) < 60 < deeper(4)


@pytest.mark.parametrize("mechanism", TREES[:4])
def test_one_place_that_holds_everything_is_told_where_cells_end(mechanism: str) -> None:
    """With hardly any noise: else the places beside it have now and then as much as is divided."""
    model = fitted(mechanism, square(16), one_place(square(16), 50_000), epsilon="100")
    assert model.notes is not None and model.notes.stop_reason is not None
    ended = model.notes.stop_reason
    assert (ended.why, ended.depth, ended.cells) == ("bins", 4, 1) and ended.share > 0.9
    (said,) = tree_notes.sentences(model)
    assert (
        "of the records lie in 1 cell of the last depth" in said
        and "ends at depth 4, where cells are as small" in said
    )


def test_what_ended_a_tree_is_told_apart() -> None:
    held = one_place(square(16), 50_000)
    by_depth = fitted("adaptive", square(16), held, depth=3).notes
    assert by_depth is not None and by_depth.stop_reason is not None
    assert (by_depth.stop_reason.why, by_depth.stop_reason.depth) == ("depth", 3)
    wide = square(4096, sides=6)
    by_codes = fitted("adaptive", wide, one_place(wide, 20_000), epsilon="5").notes
    assert by_codes is not None and by_codes.stop_reason is not None
    assert (by_codes.stop_reason.why, by_codes.stop_reason.depth) == ("codes", 10)
    assert "64 bits" in tree_notes.limit_note(by_codes)
    rng = np.random.default_rng(1)
    spread = {name: rng.integers(0, 4096, 3_000) for name in square(4096).names}
    by_noise = fitted("adaptive", square(4096), spread).notes
    assert by_noise is not None and by_noise.stop_reason is None and not by_noise.noise


def test_a_tree_that_is_cut_off_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_selection.cut_off, "__kwdefaults__", {"most": 40})
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, 64, 20_000) for name in square().names}
    model = fitted("adaptive", square(), codes, epsilon="4")
    assert (
        model.notes is not None
        and model.notes.stop_reason is not None
        and model.tree is not None
    )
    assert (
        model.notes.stop_reason.why == "nodes"
        and model.notes.stop_reason.depth == model.tree.levels.max() < 4
    )
    (said,) = tree_notes.sentences(model)
    assert "cut off at depth" in said and "more cells than can be stored" in said


def test_a_depth_too_full_to_be_divided_is_one_that_was_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(growing, "MAX_NODES", 3)
    monkeypatch.setattr(diagnostics, "MAX_NODES", 3)
    points = prefixes.hierarchy(square(), square().names)
    rule = Rule(name="basic", depth=5, threshold=10)
    grown = Growth(
        columns=points.columns,
        rule=rule,
        opened=(np.empty(0, dtype=np.int64),),
        counts=(np.array([9, 50, 2, 1]),),
    )
    (level,) = grown.levels(points)
    ends = LeafEstimates(
        levels=np.ones(4, dtype=np.int64),
        prefixes=level.prefixes,
        counts=grown.counts[0].astype(np.float64),
    )
    noise = Noise(law="discrete-laplace", scale=Fraction(1))
    found = diagnostics.of_growth(grown, points, noise=noise, counted=(), ends=ends, rows=62)
    assert found.stop_reason == diagnostics.StopReason(
        why="nodes", depth=1, cells=1, share=round(50 / 62, 4)
    )


def test_classes_and_texts_end_where_nothing_is_left_to_tell_apart() -> None:
    trade = Categorical(name="trade", values=tuple("abcdefgh"), outside="clamp")
    halves = Partition(name="half", column="trade", of=tuple("11112222"))
    domain = Domain(attributes=(trade, *square(16).attributes), partitions=(halves,),
                    places=(Place(name="home", latitude="x0", longitude="x1"),))  # fmt: skip
    codes = {"trade": np.full(30_000, 3), **one_place(square(16), 30_000)}
    found = fitted("adaptive-improved", domain, codes, epsilon="4").notes
    assert (
        found is not None and found.stop_reason is not None and found.stop_reason.why == "bins"
    )  # places might be finer
    alone = Domain(attributes=(trade,), partitions=(halves,))
    model = fitted("adaptive-improved", alone, {"trade": codes["trade"]}, epsilon="4")
    assert model.notes is not None and model.notes.stop_reason is None and not model.notes.noise
    nobody = [
        fitted("privtree", alone, {"trade": []}, epsilon="1/1000") for _ in range(6)
    ]  # 19 times of 20 it is told
    assert any(
        "how columns go together" in "".join(tree_notes.sentences(one)) for one in nobody
    )


def test_notes_that_make_no_sense_are_refused() -> None:
    document = fitted("adaptive", square(16), one_place(square(16), 5_000)).to_json()
    for broken in (
        {"noise": 1},
        {"opened_from": "x"},
        {"ended": {}},
        {"ended": document["notes"]["ended"] | {"why": "?"}},
    ):
        with pytest.raises(InputError):
            Model.from_json(document | {"notes": document["notes"] | broken})
    assert (
        Model.from_json({key: value for key, value in document.items() if key != "notes"}).notes
        is None
    )


def test_the_command_line_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "domain.json").write_text(json.dumps(square(16).to_json()))
    for rows, epsilon, words in (
        (20_000, "2", "of the records lie in 1 cell of the last depth"),
        (3, "0.001", "stood out of the noise"),
    ):
        (tmp_path / "t.csv").write_text("x0,x1\n" + "7,9\n" * rows)
        said = False
        for _ in range(8):  # noise is taken for records in one run of 20 at most
            if said:
                break
            code = cli.main(["synthesize", str(tmp_path / "t.csv"), "--domain", str(tmp_path / "domain.json"),
                "--mechanism",
                             "adaptive", "--epsilon", epsilon, "--out", str(tmp_path / "o.csv"),
                             "--overwrite"])  # fmt: skip
            assert code == 0
            said = words in capsys.readouterr().err
        assert said
