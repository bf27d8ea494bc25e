"""A column that is to be learned and is not found: nothing is made up, and everybody is told."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synth_engine import mechanisms, pipeline, tables, verifier
from synth_engine.cli import main
from synth_engine.domain import Domain, NotFound, Scale, ScaleBins, WeakBasket
from synth_engine.errors import DomainError, VerificationError
from synth_engine.evaluation.expected import expected_columns
from synth_engine.inference import scale_tree
from synth_engine.inference.clear_runs import NoisyCells, log_tail
from synth_engine.inference.scale_tree import CountedCells
from synth_engine.measurement import Answers
from synth_engine.models.model import Model
from synth_engine.plans import domain_learning
from synth_engine.privacy import receipt as receipts
from synth_engine.spec import Spec
from synth_engine.values import Integers
from synth_engine.verifier.marks import core_of

RECORDS = 40


def scale(name: str, of: str = "number", **facts: Any) -> dict[str, object]:
    step = {"step": 0.01} if of == "number" else {}
    return {"name": name, "kind": "scale", "of": of, "missing": None, **step, **facts}


def table(folder: Path) -> Path:
    """Too few records for anything to be learned of them."""
    rng = np.random.default_rng(3)
    path = folder / "table.csv"
    pd.DataFrame(
        {
            "height": np.round(rng.normal(170, 9, RECORDS), 2),
            "born": pd.Timestamp("1980-01-01")
            + pd.to_timedelta(rng.integers(0, 9_000, RECORDS), "D"),
            "sex": rng.choice(["f", "m"], RECORDS),
        }
    ).to_csv(path, index=False)
    return path


DECLARED = {"name": "sex", "kind": "categorical", "values": ["f", "m"], "outside": "clamp"}
OPEN = [scale("height"), scale("born", of="date")]


def spec(method: str, **parameters: object) -> Spec:
    return Spec(
        mechanism=method, epsilon=Fraction(1, 10), delta=Fraction("1e-9"), parameters=parameters
    )


@pytest.mark.usefixtures("nothing_by_chance")
@pytest.mark.parametrize("method", ["auto", "mst", "aim", "independent", "privsyn", "dpsyn"])
def test_a_column_that_was_not_found_is_empty_and_no_method_counts_it(
    method: str, tmp_path: Path
) -> None:
    domain = Domain.from_json({"attributes": [*OPEN, DECLARED]})
    release = pipeline.synthesize(table(tmp_path), domain=domain, spec=spec(method))
    assert release.model.domain.not_found == ("height", "born")
    counted = {
        name
        for call in release.answers.calls
        if call.query.verb != "intervals"
        for name in call.query.clique
    }
    assert counted <= {"sex"}
    out = tmp_path / "out.csv"
    tables.write(release.model, 25, seed="s", path=out)
    drawn = pd.read_csv(out)
    assert list(drawn) == ["height", "born", "sex"]
    assert drawn[["height", "born"]].isna().all(axis=None)
    assert set(drawn["sex"]) <= {"f", "m"}
    # Stored answers give the same model, and its document is read back.
    assert release.plan.fit(release.answers).to_json() == release.model.to_json()
    assert Model.from_json(release.model.to_json()).domain == release.model.domain
    receipt: Any = release.plan.receipt(release.answers)
    assert receipt["post_processing"]["not_found"] == ["height", "born"]
    verified = verifier.verify(receipt)
    assert verified.epsilon <= Fraction(1, 10)
    # Whoever checks a receipt is told what is stated and was not recomputed.
    assert sum("height, born" in sentence for sentence in verified.sentences) == 1


@pytest.mark.usefixtures("nothing_by_chance")
def test_a_table_of_which_nothing_was_found_still_has_records(tmp_path: Path) -> None:
    domain = Domain.from_json({"attributes": OPEN})
    release = pipeline.synthesize(table(tmp_path), domain=domain, spec=spec("independent"))
    assert release.model.domain.not_found == ("height", "born")
    assert release.model.domain.names == ("height",)
    out = tmp_path / "out.parquet"
    tables.write(release.model, 7, seed="s", path=out)
    drawn = pd.read_parquet(out)
    assert drawn.shape == (7, 2)
    assert drawn.isna().all(axis=None)
    verifier.verify(release.plan.receipt(release.answers))


@pytest.mark.usefixtures("nothing_by_chance")
def test_a_method_that_is_told_of_a_column_that_was_not_found_runs_all_the_same(
    tmp_path: Path,
) -> None:
    domain = Domain.from_json({"attributes": [*OPEN, DECLARED]})
    release = pipeline.synthesize(
        table(tmp_path), domain=domain, spec=spec("auto", target="height")
    )
    assert release.model.domain.not_found == ("height", "born")


@pytest.mark.usefixtures("nothing_by_chance")
def test_what_was_not_found_is_said_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described, receipt = tmp_path / "domain.json", tmp_path / "receipt.json"
    described.write_text(json.dumps({"attributes": [*OPEN, DECLARED]}))
    code = main(
        [
            "synthesize",
            str(table(tmp_path)),
            *("--domain", str(described), "--mechanism", "independent"),
            *("--epsilon", "0.1", "--delta", "1e-9", "--receipt", str(receipt)),
            *("--out", str(tmp_path / "out.csv")),
        ]
    )
    assert not code
    error = capsys.readouterr().err
    assert "not found: 'height', 'born'" in error
    stated = json.loads(receipt.read_text())["post_processing"]["not_found"]
    assert stated == ["height", "born"]


@pytest.mark.usefixtures("nothing_by_chance")
def test_what_was_not_found_is_recomputed_from_the_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = tmp_path / "domain.json"
    described.write_text(json.dumps({"attributes": [*OPEN, DECLARED]}))
    for name in ("one", "two"):
        synthesized = main(
            [
                "synthesize",
                str(table(tmp_path)),
                *("--domain", str(described), "--mechanism", "independent"),
                *(
                    "--epsilon",
                    "0.1",
                    "--delta",
                    "1e-9",
                    "--out",
                    str(tmp_path / f"{name}.csv"),
                ),
                *("--receipt", str(tmp_path / f"{name}.json")),
                *("--answers", str(tmp_path / f"{name}.npz")),
            ]
        )
        assert not synthesized

    def verified(receipt: str, answers: str, *domain: str) -> tuple[int, str]:
        capsys.readouterr()
        paths = str(tmp_path / receipt), "--answers", str(tmp_path / answers)
        return main(["verify", *paths, *domain]), capsys.readouterr().out

    domain = ("--domain", str(described))
    code, said = verified("one.json", "one.npz", *domain)
    assert not code
    assert said.splitlines()[-1].endswith("not found height, born; left out is no constraint.")
    assert verified("one.json", "two.npz", *domain) == (2, "")
    assert verified("one.json", "one.npz") == (2, "")
    forged = json.loads((tmp_path / "one.json").read_text())
    honest = dict(forged["post_processing"])
    for other in (
        {"not_found": ["born"]},
        {"constraints_left_out": ["height ≤ born (no room)"]},
    ):
        forged["post_processing"] = honest | other
        forged["digest"] = receipts.digest(core_of(forged))
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        # The receipt alone does not tell.
        assert main(["verify", str(tmp_path / "forged.json")]) == 0
        assert verified("forged.json", "one.npz", *domain) == (1, "")


def test_a_receipt_that_counts_what_it_says_was_not_found_is_refused(tmp_path: Path) -> None:
    domain = Domain.from_json({"attributes": [*OPEN, DECLARED]})
    # Enough of a budget to find both.
    large = Spec(mechanism="independent", epsilon=Fraction(500), delta=Fraction("1e-9"))
    plan = mechanisms.plan(domain, large)
    answers: Answers = pipeline.measure(table(tmp_path), plan=plan)
    honest: Any = plan.receipt(answers)
    assert "not_found" not in honest["post_processing"]
    verifier.verify(honest)
    for names in (["height"], ["nobody"], [1], "height"):
        forged = {**honest, "post_processing": {"not_found": names}}
        del forged["digest"]
        forged["digest"] = receipts.digest(
            {key: value for key, value in forged.items() if key not in ("marks", "seal")}
        )
        with pytest.raises(VerificationError, match="not found"):
            verifier.verify(forged)


@pytest.mark.parametrize("of", ["number", "integer", "date", "datetime"])
def test_the_state_survives_json_and_is_that_of_its_own_column_alone(of: str) -> None:
    (column,) = Domain.from_json(
        {"attributes": [scale("a", of=of, missing=["", "-"])]}
    ).undeclared
    (other,) = Domain.from_json({"attributes": [scale("a", of=of)]}).undeclared
    domain = Domain.from_json({"attributes": [column.to_json(), DECLARED]})
    empty = NotFound.of(column)
    resolved = domain.resolve({"a": empty})
    assert Domain.from_json(resolved.to_json()) == resolved
    assert resolved.not_found == ("a",)
    assert resolved.names == ("sex",)
    with pytest.raises(DomainError):
        domain.resolve({"a": NotFound.of(other)})


@pytest.mark.usefixtures("nothing_by_chance")
def test_comparisons_pass_over_a_column_that_was_not_found(tmp_path: Path) -> None:
    path = table(tmp_path)
    for columns in ([*OPEN, DECLARED], OPEN):
        domain = Domain.from_json({"attributes": columns})
        release = pipeline.synthesize(path, domain=domain, spec=spec("independent"))
        report = pipeline.report(path, model=release.model, rows=50, seed="seed")
        assert json.dumps(report)
        receipt: Any = release.plan.receipt(release.answers)
        expected = expected_columns(release.model, receipt["calls"])
        assert all(not one.figures for one in expected if one.name in ("height", "born"))


PLACE: dict[str, Any] = {
    "name": "home",
    "latitude": "north",
    "longitude": "east",
    "learned": True,
}
DEGREES = [
    {
        "name": name,
        "kind": "number",
        "low": low,
        "high": low + 1,
        "edges": [low + part / 32 for part in range(33)],
    }
    for name, low in (("north", 41), ("east", -72))
]


def test_a_place_of_which_noise_chose_the_cells_is_named(tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    rng = np.random.default_rng(1)
    at = rng.normal(0.5, 0.01, (4_000, 2))
    points = pd.DataFrame(
        {
            "north": 41 + at[:, 0],
            "east": -72 + at[:, 1],
            "sex": rng.choice(["f", "m"], len(at)),
        }
    )
    domain = Domain.from_json({"attributes": [*DEGREES, DECLARED], "places": [PLACE]})
    for rows, runs in ((3, 12), (4_000, 1)):
        points.head(rows).to_csv(path, index=False)
        epsilon = Fraction(1) if rows == 4_000 else Fraction(1, 10)
        named = 0
        for _ in range(runs):
            release = pipeline.synthesize(
                path,
                domain=domain,
                spec=Spec(mechanism="auto", epsilon=epsilon, delta=Fraction("1e-9")),
            )
            receipt: Any = release.plan.receipt(release.answers)
            stated = receipt["post_processing"].get("not_found", [])
            assert stated in ([], ["north", "east"])
            sentences = verifier.verify(receipt).sentences
            assert sum("north, east" in sentence for sentence in sentences) == len(stated) / 2
            named += bool(stated)
        # Noise makes a tree that records could have made in one of sixty runs: in seven of twelve less than
        # once in 10⁹.
        assert named > 5 if rows == 3 else named == 0


@pytest.mark.usefixtures("nothing_by_chance")
def test_a_basket_of_which_noise_chose_the_items_is_named(tmp_path: Path) -> None:
    path = tmp_path / "baskets.csv"
    basket = WeakBasket(name="items", values=Integers(0, 999), keep=4)
    domain = Domain(attributes=(basket,))
    for rows, expected in ((3, ["items"]), (4_000, [])):
        pd.DataFrame({"items": ["7 11 500"] * rows}).to_csv(path, index=False)
        epsilon = Fraction(1, 10) if expected else Fraction(1)
        release = pipeline.synthesize(
            path,
            domain=domain,
            spec=Spec(mechanism="independent", epsilon=epsilon, delta=Fraction("1e-9")),
        )
        receipt: Any = release.plan.receipt(release.answers)
        assert receipt["post_processing"].get("not_found", []) == expected
        verifier.verify(receipt)


# ---- the rule
# ----------------------------------------------------------------------------------------------------


def looked_at(
    counts: Sequence[tuple[int, float]], *, spread: float, seed: int, looks: int = 4
) -> list[CountedCells]:
    """Answers to the first partition of 2 · 10^15 whole numbers. counts: records at numbers."""
    rng = np.random.default_rng(seed)
    zero = 10**15
    cuts = scale_tree.first_cuts(2 * 10**15 + 1, zero=zero)
    exact = np.zeros(len(cuts) - 1)
    for number, records in counts:
        exact[np.searchsorted(cuts, zero + number, side="right") - 1] += records
    return [
        CountedCells(
            cuts=cuts,
            values=exact + np.rint(rng.normal(0, spread, exact.size)),
            variance=spread**2,
        )
        for _ in range(looks)
    ]


def test_noise_alone_is_taken_for_a_column_less_often_than_stated() -> None:
    """Of 400 columns without a record 5e-5 · 400 = 0.02 are found at most on the mean; four or more at less
    than once in 10^8."""
    found = sum(
        scale_tree.is_found(looked_at([], spread=200.0, seed=seed)) for seed in range(400)
    )
    assert found <= 3


def test_a_column_of_noise_has_no_density() -> None:
    rounds = looked_at([(5, 20.0)], spread=200.0, seed=0)
    assert not scale_tree.is_found(rounds)
    assert scale_tree.pieces(rounds, zero=10**15) is None
    assert scale_tree.next_share(rounds) is None


def test_what_was_found_lies_within_twice_what_is_real() -> None:
    """Records at 700 to 2,800, of which every single cell is hidden by a quarter of its count."""
    for seed in range(100):
        rounds = looked_at(
            [(700, 60.0), (1_400, 250.0), (2_600, 110.0)], spread=40.0, seed=seed, looks=1
        )
        pieces = scale_tree.pieces(rounds, zero=10**15)
        if pieces is not None:
            assert pieces.starts[0] >= 10**15 + 0
            assert pieces.starts[-1] <= 10**15 + 2 * 4_096


def learned(values: Sequence[float], *, seed: int) -> list[CountedCells]:
    """All rounds of a column of whole numbers, with the noise of one of 31 columns at an epsilon of 1."""
    rng = np.random.default_rng(seed)
    zero, most = 10**15, Fraction(24, 10)
    positions = np.sort(np.rint(values).astype(np.int64)) + zero
    rounds: list[CountedCells] = []
    while (share := scale_tree.next_share(rounds, most=most)) is not None:
        spread = 65.0 / math.sqrt(share)
        cuts = scale_tree.next_cuts(
            rounds, count=2 * zero + 1, zero=zero, spread=spread, most=most
        )
        exact = np.diff(np.searchsorted(positions, np.array(cuts)))
        noisy = exact + np.rint(rng.normal(0, spread, exact.size))
        rounds.append(CountedCells(cuts=cuts, values=noisy, variance=spread**2))
    return rounds


@pytest.mark.parametrize(
    ("records", "median", "spread", "at_most"),
    [
        (426, 1_000, 0.1, 0),
        (426, 490, 0.1, 0),
        (426, 100, 0.45, 0),
        (1_000, 1_000, 0.1, 0),
        # A tail in the wide last cell is told from noise by a little more than one deviation.
        (3_000, 940, 0.1, 3),
    ],
)
def test_no_number_is_farther_from_the_real_ones_than_they_are_wide(
    records: int, median: float, spread: float, at_most: int
) -> None:
    """Of narrow columns, which lie in one or two cells of the first partition, and of a wide one."""
    found, outside = 0, 0
    for seed in range(60):
        rng = np.random.default_rng([seed, records])
        values = np.rint(median * np.exp(spread * rng.normal(size=records)))
        pieces = scale_tree.pieces(
            learned(values.tolist(), seed=seed), zero=10**15, most=Fraction(24, 10)
        )
        if pieces is None:
            continue
        low, high = float(values.min()), float(values.max())
        drawn = [
            end - 10**15
            for start, last, weight in zip(
                pieces.starts, pieces.starts[1:], pieces.weights, strict=False
            )
            if weight
            for end in (start, last - 1)
        ]
        found += 1
        outside += min(drawn) < 2 * low - high or max(drawn) > 2 * high - low
    assert found >= 30
    assert outside <= at_most


def test_noise_far_from_a_column_does_not_keep_its_cells_from_being_split() -> None:
    """Years, all in one cell of the first partition, whose other cells hold noise of either sign."""
    narrow = 0
    for seed in range(40):
        years = np.random.default_rng(seed).integers(1950, 2006, 3_000)
        pieces = scale_tree.pieces(
            learned(years.tolist(), seed=seed), zero=10**15, most=Fraction(24, 10)
        )
        assert pieces is not None
        narrow += pieces.starts[-1] - pieces.starts[0] < 200
    assert narrow >= 36


def test_zeros_do_not_hide_the_other_numbers_of_a_column() -> None:
    """Of 1,000 records 680 are 0 and the others spread over 1 to 63, none of whose cells is clear by
    itself."""
    others = [(number, 320 / 63) for number in range(1, 64)]
    kept = 0
    for seed in range(40):
        rounds = looked_at([(0, 680.0), *others], spread=50.0, seed=seed)
        pieces = scale_tree.pieces(rounds, zero=10**15)
        assert pieces is not None
        held = np.array(pieces.weights, dtype=np.float64)
        positive = np.array([start > 10**15 for start in pieces.starts[:-1]])
        kept += bool(held[positive].sum() > 0.1 * held.sum())
    assert kept >= 30


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_the_bound_of_laplace_noise_holds(parts: int) -> None:
    """Chernoff's bound is at least the exact tail, which is known for one part, and that of simulated
    sums."""
    values = np.array([1.0, 4.0, 8.0, 12.0]) * math.sqrt(parts)
    bound = np.exp(
        log_tail(values, np.full(4, 2.0 * parts), largest=np.full(4, 2.0), laplace=True)
    )
    if parts == 1:
        assert (bound >= np.exp(-values) / 2).all()
    rng = np.random.default_rng(1)
    sums = rng.laplace(size=(200_000, parts)).sum(axis=1)
    assert (bound >= [0.98 * float((sums > value).mean()) for value in values]).all()
    assert (np.diff(bound) < 0).all()


def test_a_long_run_is_cut_to_what_is_farthest_from_noise() -> None:
    values = np.array([0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    cells = NoisyCells(values=values, variances=np.ones(8), laplace=False)
    # Neither cell is clear by itself.
    assert cells.clear(math.log(1e-5), longest=8) == (1, 3)


def test_learning_never_costs_more_than_its_largest_share() -> None:
    for number in (1, 2, 5, 8, 31, 200):
        domain = Domain.from_json(
            {"attributes": [scale(f"c{index}") for index in range(number)]}
        )
        share = domain_learning.share(domain) * domain_learning.most_of_a_scale(domain)
        assert share <= domain_learning.MAX_LEARNING_SHARE
    assert isinstance(domain.undeclared[0], Scale)


@pytest.mark.usefixtures("nothing_by_chance")
def test_what_columns_cost_more_is_taken_off_the_method(tmp_path: Path) -> None:
    """The sum of all events stays under the cap, which a run that found nothing comes near to."""
    domain = Domain.from_json({"attributes": [*OPEN, DECLARED]})
    plan = mechanisms.plan(domain, spec("independent"))
    answers = pipeline.measure(table(tmp_path), plan=plan)
    assert plan.cap is not None
    spent = sum((call.event.rho() for call in answers.calls), Fraction(0))
    learned = sum(
        (call.event.rho() for call in answers.calls if call.query.verb == "intervals"),
        Fraction(0),
    )
    assert spent <= plan.cap.amount
    assert learned > domain_learning.share(domain) * plan.cap.amount
    assert spent > Fraction(95, 100) * plan.cap.amount


def test_a_column_that_is_found_at_once_costs_its_part_and_no_more(tmp_path: Path) -> None:
    domain = Domain.from_json({"attributes": [*OPEN, DECLARED]})
    large = Spec(mechanism="independent", epsilon=Fraction(500), delta=Fraction("1e-9"))
    plan = mechanisms.plan(domain, large)
    answers = pipeline.measure(table(tmp_path), plan=plan)
    assert plan.cap is not None
    learned = sum(
        (call.event.rho() for call in answers.calls if call.query.verb == "intervals"),
        Fraction(0),
    )
    assert learned <= domain_learning.share(domain) * plan.cap.amount
    model = plan.fit(answers)
    assert isinstance(model.domain.attribute("height"), ScaleBins)
