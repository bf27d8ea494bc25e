"""Links of two tables: hashing, agreements that are refused, estimates, tables with ids, and the command
line."""

from __future__ import annotations

import csv
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import cli
from synth_engine.domain import Boolean, Domain
from synth_engine.errors import InputError, PrivacyError
from synth_engine.linking import agreement as agreements
from synth_engine.linking import drawing, forecast
from synth_engine.linking import estimate as estimates
from synth_engine.linking.agreement import SIDES, Agreement, Offer
from synth_engine.linking.estimate import LinkEstimate
from synth_engine.linking.hashing import Hashing, normalised
from synth_engine.linking.sketch import Sketch
from synth_engine.mechanisms import uniform
from synth_engine.privacy.unit import PrivacyUnit, Relation
from tests import links
from tests.engine.workbooks import Cell, Xml, workbook

HASHING = Hashing(ngram=2, functions=4, bits=12, seed=links.SEED)
CANARY = "Zanzibarbara"


# ---- hashing
# --------------------------------------------------------------------------------------------------


def test_a_bucket_is_a_function_of_the_texts_of_its_record_alone() -> None:
    columns = [["ada", "", "a", "grace", "🙂"], ["lovelace", "", "", "hopper", "b"]]
    together = HASHING.buckets_of(columns)
    alone = [
        int(HASHING.buckets_of([[first], [last]])[0])
        for first, last in zip(*columns, strict=True)
    ]
    assert together.tolist() == alone
    assert together[1] == HASHING.buckets, "a record without texts has the last bucket"
    assert (together < HASHING.codes).all()


def test_hashing_never_changes() -> None:
    """Two sides may run different versions of this software: a change needs another name."""
    columns = [["ada", "Grace"], ["Lovelace", "Hopper"]]
    assert HASHING.buckets_of(columns).tolist() == FIXED


FIXED = [1833, 3460]


def test_letters_and_accents_alone_are_hashed() -> None:
    assert normalised(" Àda-Lôvelace 7") == "adalovelace7"
    assert HASHING.buckets_of([["Àda"], ["O'Brien"]]) == HASHING.buckets_of(
        [["ada"], ["obrien"]]
    )


def test_the_same_texts_in_other_columns_are_another_record() -> None:
    first, second = HASHING.buckets_of([["ada", "lovelace"], ["lovelace", "ada"]])
    assert first != second


def test_records_agree_in_one_function_as_often_as_their_jaccard_similarity() -> None:
    texts = (["abcdefghij"], ["abcdefghiz"])  # of eleven bigrams each, nine are shared
    same = [
        Hashing(ngram=2, functions=1, bits=17, seed=f"{number:032x}").buckets_of([a])[0]
        == Hashing(ngram=2, functions=1, bits=17, seed=f"{number:032x}").buckets_of([b])[0]
        for number in range(2000)
        for a, b in [texts]
    ]
    assert np.mean(same) == pytest.approx(9 / 13, abs=0.05)


@pytest.mark.parametrize(
    "wrong",
    [
        {"ngram": 0},
        {"functions": 99},
        {"bits": 1},
        {"bits": 18},
        {"seed": "x"},
        {"seed": "A" * 32},
    ],
)
def test_hashing_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="make the link again"):
        Hashing(**{"ngram": 2, "functions": 4, "bits": 8, "seed": links.SEED, **wrong})


# ---- agreements
# -----------------------------------------------------------------------------------------------


def test_an_agreement_reads_back_and_has_one_digest() -> None:
    agreement = links.link(typos="0.1")
    document = json.loads(json.dumps(agreement.to_json()))
    assert Agreement.from_json(document).digest == agreement.digest
    assert agreement.epsilon_of_both == 2


def agree(left: Offer, right: Offer, **more: Any) -> Agreement:
    return agreements.agree(left, right, **{"rows": 1000, "seed": links.SEED, **more})


def offer_with(**facts: Any) -> Offer:
    return links.offer("right", **facts)


@pytest.mark.parametrize(
    ("right", "message"),
    [
        (offer_with(relation=Relation.REPLACE_ONE), "describe both by one relation"),
        (offer_with(unit=PrivacyUnit(max_records=3, column="person")), "set max_records"),
        (
            Offer(
                domain=links.described("graduate"),
                texts=links.TEXTS,
                attributes=("income",),
                epsilon=Fraction(1),
            ),
            "'income': the right side has no such column",
        ),
        (
            Offer(
                domain=links.described("graduate"),
                texts=("last",),
                attributes=("graduate",),
                epsilon=Fraction(1),
            ),
            "in one order",
        ),
        (
            Offer(
                domain=links.described("graduate"),
                texts=("last", "last"),
                attributes=(),
                epsilon=Fraction(1),
            ),
            "one of them twice",
        ),
        (
            Offer(
                domain=Domain(attributes=(Boolean(name="graduate", provenance="suggested"),)),
                texts=links.TEXTS,
                attributes=("graduate",),
                epsilon=Fraction(1),
            ),
            "suggested",
        ),
    ],
)
def test_sides_that_do_not_fit_are_refused_with_the_repair(right: Offer, message: str) -> None:
    with pytest.raises((InputError, PrivacyError), match=message):
        agree(links.offer("left"), right)


@pytest.mark.parametrize("wrong", [{"typos": Fraction(1)}, {"rows": 0}, {"functions": 0}])
def test_numbers_of_an_agreement_out_of_bounds_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        agree(links.offer("left"), links.offer("right"), **wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "other"},
        {"relation": "both"},
        {"rows": "many"},
        {"more": 1},
        {"left": {}},
        {
            "hashing": {
                "name": "minhash/9",
                "ngram": 2,
                "functions": 4,
                "bits": 8,
                "seed": links.SEED,
            }
        },
    ],
)
def test_a_changed_agreement_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Agreement.from_json({**links.link().to_json(), **change})


def test_the_number_of_buckets_grows_with_epsilon() -> None:
    few, many = (forecast.best_bits([(epsilon, 1)] * 2, rows=20_000) for epsilon in (0.1, 10.0))
    assert few < 9
    assert many > 14


# ---- estimates
# ------------------------------------------------------------------------------------------------


def estimated(
    rng: np.random.Generator,
    agreement: Agreement,
    *,
    both: int,
    records: tuple[int, int] = (3000, 2000),
) -> LinkEstimate:
    """An estimate of persons in random buckets, whose columns are equal wherever they are in both tables.
    Buckets are unequal, so that many different persons share one."""
    left_records, right_records = records
    persons = left_records + right_records - both
    uneven = 1 / np.arange(1, agreement.hashing.codes) ** 0.5
    buckets = rng.choice(agreement.hashing.buckets, persons, p=uneven / uneven.sum())
    codes = rng.integers(0, 2, persons)
    start = left_records - both
    return estimates.estimate(
        links.sketch_of(
            agreement, "left", buckets[:left_records], codes[:left_records], rng=rng
        ),
        links.sketch_of(agreement, "right", buckets[start:], codes[start:], rng=rng),
    )


def test_estimates_have_no_bias_and_their_intervals_cover() -> None:
    """With 200 fixed seeds; what they print never changes."""
    agreement = links.link(bits=9, epsilon="2")
    runs = [estimated(np.random.default_rng(seed), agreement, both=1000) for seed in range(200)]
    values = np.array([run.both.value for run in runs])
    assert values.mean() == pytest.approx(1000, abs=4 * values.std() / np.sqrt(200))
    covered = [run.both.low <= 1000 <= run.both.high for run in runs]
    assert 0.91 <= np.mean(covered) <= 0.99
    assert all(run.left.low <= 3000 <= run.left.high for run in runs[:20])
    joints = np.mean([run.joint for run in runs], axis=0)
    assert joints == pytest.approx(np.array([[500, 0], [0, 500]]), abs=40)
    unbiased = np.array([run.joint[0, 0] for run in runs])
    assert unbiased.std() == pytest.approx(
        np.mean([run.joint_deviation[0, 0] for run in runs]), rel=0.35
    )


def test_no_persons_in_common_are_estimated_as_none() -> None:
    estimate = estimated(np.random.default_rng(1), links.link(bits=9, epsilon="2"), both=0)
    assert estimate.both.low == 0
    assert estimate.joint.sum() == pytest.approx(estimate.both.value)


def test_typos_widen_the_interval_upwards_alone() -> None:
    exact, loose = (
        estimated(
            np.random.default_rng(2), links.link(bits=11, epsilon="4", typos=typos), both=1000
        ).both
        for typos in ("0", "0.2")
    )
    assert loose.low == exact.low
    assert loose.high == pytest.approx(exact.high / 0.8)
    assert exact.value < loose.value < loose.high


def test_an_estimate_reads_back() -> None:
    agreement = links.link(bits=9)
    estimate = estimated(np.random.default_rng(3), agreement, both=1000)
    document = json.loads(json.dumps(estimate.to_json()))
    assert LinkEstimate.from_json(document, agreement).to_json() == estimate.to_json()
    with pytest.raises(InputError, match="another link"):
        LinkEstimate.from_json(document, links.link(bits=8))
    with pytest.raises(InputError, match="malformed"):
        LinkEstimate.from_json({**document, "joint": [1]}, agreement)


def test_sketches_that_do_not_belong_together_are_refused() -> None:
    agreement, other = links.link(bits=6), links.link(bits=6, typos="0.1")
    rng = np.random.default_rng(4)
    none = np.zeros(0, dtype=np.int64)
    left, right, another = (
        links.sketch_of(link, side, none, none, rng=rng)
        for link, side in ((agreement, "left"), (agreement, "right"), (other, "right"))
    )
    estimates.estimate(right, left)
    for second in (left, another):
        with pytest.raises(InputError, match="one sketch of each side"):
            estimates.estimate(left, second)
    document: Any = json.loads(json.dumps(left.to_json()))
    assert Sketch.from_json(document, agreement).side == "left"
    with pytest.raises(InputError, match="another link"):
        Sketch.from_json(document, other)
    document["counts"][0] += 1
    with pytest.raises(InputError, match="other counts"):
        Sketch.from_json(document, agreement)


# ---- tables with ids
# ------------------------------------------------------------------------------------------


def tables_of(estimate: LinkEstimate) -> drawing.LinkedTables:
    models = {
        side: uniform.model(links.described(links.COLUMNS[side]), rows=10) for side in SIDES
    }
    return drawing.draw(estimate, models, seed="s")


def test_ids_join_in_the_estimated_number_and_columns_go_together_as_estimated() -> None:
    estimate = estimated(np.random.default_rng(5), links.link(bits=12, epsilon="8"), both=1500)
    tables = tables_of(estimate)
    left, right = (tables.tables[side] for side in SIDES)
    assert (len(left), len(right)) == (
        round(estimate.left.value),
        round(estimate.right.value),
    )
    assert left[drawing.ID].is_unique
    assert right[drawing.ID].is_unique
    joined = left.merge(right, on=drawing.ID)
    assert len(joined) == tables.shared == round(estimate.both.value)
    cells = Counter(
        zip(
            *(joined[column].astype(str).str.lower() for column in links.COLUMNS.values()),
            strict=True,
        )
    )
    for row, column in np.ndindex(2, 2):
        values = ("false", "true")
        assert abs(cells[values[row], values[column]] - estimate.joint[row, column]) <= 1


def test_the_same_seed_gives_the_same_tables() -> None:
    estimate = estimated(np.random.default_rng(6), links.link(bits=6), both=100)
    first, second = tables_of(estimate), tables_of(estimate)
    for side in SIDES:
        assert first.tables[side].equals(second.tables[side])
    assert first.record == second.record


def test_a_model_of_other_columns_is_refused() -> None:
    estimate = estimated(np.random.default_rng(7), links.link(bits=6), both=100)
    model = uniform.model(links.described("other"), rows=10)
    with pytest.raises(InputError, match="'tenant': the model of the left side"):
        drawing.draw(estimate, {"left": model, "right": model}, seed="s")


# ---- the command line
# -----------------------------------------------------------------------------------------


def files(folder: Path) -> None:
    """Two tables that share 300 persons, and their descriptions."""
    rng = np.random.default_rng(8)
    letters = rng.choice(list("abcdefghijklmnopqrstuvwxyz"), (700, 2, 12))
    people = [("".join(first), "".join(last)) for first, last in letters]
    people[250] = (CANARY, CANARY)  # in both tables
    values = rng.integers(0, 2, 700)
    for side, part in (("left", slice(0, 500)), ("right", slice(200, 700))):
        column = links.COLUMNS[side]  # type: ignore[index]
        rows = [
            (*person, ("false", "true")[value])
            for person, value in zip(people[part], values[part], strict=True)
        ]
        links.write(folder / f"{side}.csv", [*links.TEXTS, column], rows)
        document = links.described(column).to_json()
        (folder / f"{side}.json").write_text(json.dumps(document), "utf-8")


AGREE = (
    "link agree left.json right.json --left-texts first last --right-texts first last --left-columns tenant "
    "--right-columns graduate --epsilon 8 --rows 500 --out link.json"
)
SKETCH = (
    "link sketch {0}.csv --link link.json --side {0} --domain {0}.json --out {0}.sketch --receipt "
    "{0}.receipt"
)
ESTIMATE = "link estimate link.json left.sketch right.sketch --out estimate.json"


def test_a_link_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    assert cli.main(AGREE.split()) == 0
    for side in SIDES:
        assert cli.main(SKETCH.format(side).split()) == 0
        assert cli.main(["verify", f"{side}.receipt"]) == 0
        document = uniform.model(links.described(links.COLUMNS[side]), rows=10).to_json()
        (tmp_path / f"{side}.model").write_text(json.dumps(document), "utf-8")
    assert cli.main(ESTIMATE.split()) == 0
    command = (
        "link draw link.json estimate.json left.model right.model --left-out l.csv --right-out r.csv "
        "--record record.json"
    )
    assert cli.main(command.split()) == 0
    shown = capsys.readouterr()
    assert "in both tables:" in shown.out
    assert "epsilon = 16" in shown.out, "the loss of both is said where a receipt is verified"
    with Path("l.csv").open() as left, Path("r.csv").open() as right:
        ids = [{row[drawing.ID] for row in csv.DictReader(file)} for file in (left, right)]
    record = json.loads(Path("record.json").read_text())
    assert len(ids[0] & ids[1]) == record["shared"]
    assert 150 < record["shared"] < 450
    for side in SIDES:
        receipt = json.loads(Path(f"{side}.receipt").read_text())
        assert record["receipts"][side] == receipt["digest"]
    # Nothing of a text leaves either room, in no file and no message.
    inputs = {"left.csv", "right.csv"}
    written = [path for path in tmp_path.iterdir() if path.name not in inputs]
    assert len(written) == 13
    assert all(CANARY.casefold() not in path.read_text().casefold() for path in written)
    assert CANARY.casefold() not in (shown.out + shown.err).casefold()


def test_a_sketch_of_formulas_for_which_nobody_vouches_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    assert cli.main(AGREE.split()) == 0
    with Path("left.csv").open() as file:
        rows: list[list[Cell]] = [list(row) for row in csv.reader(file)]
    rows[1][-1] = Xml(f"<f>B:B</f><v>{rows[1][-1]}</v>")
    Path("left.csv").write_bytes(workbook({"Data": rows}))
    assert cli.main(SKETCH.format("left").split()) == 2
    told = capsys.readouterr().err
    assert "--vouched-by" in told and "spent" not in told
    assert not Path("left.sketch").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (SKETCH.format("left").replace("--domain left", "--domain right"), "description"),
        (SKETCH.format("left").replace("left.csv", "right.csv"), "'tenant'"),
        (SKETCH.format("left").replace("--link link", "--link left"), "no link"),
        (AGREE.replace("columns tenant", "columns rent") + " --overwrite", "'rent'"),
        (AGREE.replace("--rows 500", "--rows x") + " --overwrite", "rows"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(
    command: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    assert cli.main(AGREE.split()) == 0
    capsys.readouterr()
    assert cli.main(command.split()) == cli.BAD_INPUT
    error = capsys.readouterr().err
    assert message in error
    assert "count" not in error, "nothing was spent"
    assert CANARY not in error
    assert not Path("left.sketch").exists()
