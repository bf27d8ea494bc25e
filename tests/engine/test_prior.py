"""Answers read beside a public table: what it improves, what it may not change, and what is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth_engine import cli, mechanisms, pipeline, verifier
from synth_engine.domain import Categorical, Domain
from synth_engine.errors import SpecError, SynthError, VerificationError
from synth_engine.inference import shrinkage
from synth_engine.references import PublicTable, load_public_table
from tests.engine.test_auto import DELTA, answered, chain, distance, domain_of, planned

SIZES = (12, 8, 10, 3)
LEARNED: dict[str, Any] = {
    "attributes": [
        {"name": "c0", "kind": "integer", "low": 0, "high": 11},
        {
            "name": "c1",
            "kind": "weak",
            "values": {
                "set": "strings",
                "alphabet": "v0123",
                "min_length": 1,
                "max_length": 2,
            },
        },
    ]
}


def published(
    folder: Path, table: np.ndarray, *, names: list[str] | None = None, **more: Any
) -> PublicTable:
    header = ",".join(names or [f"c{place}" for place in range(table.shape[1])])
    lines = [header, *(",".join(map(str, row)) for row in table.tolist())]
    path = folder / "public.csv"
    path.write_text("\n".join(lines) + "\n")
    return load_public_table(path, published="the bureau's page", **more)


def errors(plan: Any, table: np.ndarray, prior: PublicTable) -> tuple[float, float]:
    """The mean distance of all pairs without a prior and with it, by the same answers."""
    answers = answered(plan, table)
    models = plan.fit(answers), plan.with_prior(prior).fit(answers)
    pairs = [(a, b) for a in range(len(SIZES)) for b in range(a)]
    plain, beside = (
        float(np.mean([distance(table, model, a, b) for a, b in pairs])) for model in models
    )
    return plain, beside


@pytest.mark.parametrize("delta", [Fraction(0), DELTA])
def test_a_table_of_the_same_population_improves_what_noise_hides(
    tmp_path: Path, delta: Fraction
) -> None:
    plan = planned(domain_of(*SIZES), epsilon="1", delta=delta)
    prior = published(tmp_path, chain(4_000, *SIZES, seed=1))
    # The mean of four runs: of a single one the noise may hide that it improves.
    found = [errors(plan, chain(4_000, *SIZES), prior) for _ in range(4)]
    plain, beside = np.mean(found, axis=0)
    assert beside < 0.98 * plain


@pytest.mark.parametrize("epsilon", ["0.5", "8"])
def test_a_table_of_another_population_is_not_believed(tmp_path: Path, epsilon: str) -> None:
    plan = planned(domain_of(*SIZES), epsilon=epsilon)
    # The same codes, turned round, and no relation between the columns.
    other = np.random.default_rng(2).permuted(chain(4_000, *SIZES, seed=1), axis=0)
    other = np.array(SIZES) - 1 - other
    plain, beside = errors(plan, chain(4_000, *SIZES), published(tmp_path, other))
    assert beside < 1.2 * plain + 0.01


def test_the_same_answers_and_the_same_table_give_the_same_model(tmp_path: Path) -> None:
    plan = planned(domain_of(*SIZES), epsilon="1")
    answers = answered(plan, chain(1_000, *SIZES))
    beside = plan.with_prior(published(tmp_path, chain(500, *SIZES, seed=1)))
    assert beside.fit(answers).to_json() == beside.fit(answers).to_json()


class _Replayed:
    """A session that gives the answers of another one, and refuses another question."""

    def __init__(self, plan: Any, table: np.ndarray) -> None:
        self.domain, self.lines = plan.domain, iter(answered(plan, table).answered)

    def __getattr__(self, verb: str) -> Any:
        def ask(*asked: Any, **how: Any) -> Any:
            line = next(self.lines)
            query = line.call.query.to_json()
            assert query["verb"] == verb
            if verb in ("measure", "interaction"):
                assert list(asked[0]) == query["clique"]
                assert line.answer.noise == how["noise"]
            return line.answer.index if verb == "select" else line.answer

        return ask


def test_a_prior_changes_no_question_no_price_and_no_guarantee(tmp_path: Path) -> None:
    plan = planned(domain_of(*SIZES), epsilon="2")
    beside = plan.with_prior(published(tmp_path, chain(500, *SIZES, seed=1)))
    session = _Replayed(plan, chain(1_000, *SIZES))
    beside.ask(session)
    assert next(session.lines, None) is None
    assert (beside.loss, beside.guarantee, beside.cost("basic")) == (
        plan.loss,
        plan.guarantee,
        plan.cost("basic"),
    )


def test_after_columns_were_learned_the_mechanism_reads_beside_it_too(tmp_path: Path) -> None:
    spec = mechanisms_spec(epsilon="50")
    plan = mechanisms.plan(Domain.from_json(LEARNED), spec)
    table = tmp_path / "table.csv"
    rows = chain(600, 12, 4)
    table.write_text("c0,c1\n" + "\n".join(f"{a},v{b}" for a, b in rows.tolist()) + "\n")
    answers = pipeline.measure(table, plan=plan)
    beside = plan.with_prior(published(tmp_path, chain(600, 12, 4, seed=1)))
    assert beside.fit(answers).to_json() != plan.fit(answers).to_json()


def mechanisms_spec(*, epsilon: str, mechanism: str = "auto") -> Any:
    from synth_engine.spec import Spec

    return Spec(mechanism=mechanism, epsilon=Fraction(epsilon), delta=DELTA)


def test_a_fit_takes_the_public_table_that_the_request_states(tmp_path: Path) -> None:
    plan = planned(domain_of(*SIZES), epsilon="1")
    answers = answered(plan, chain(300, *SIZES))
    beside = plan.with_prior(published(tmp_path, chain(200, *SIZES, seed=1)))
    other = published(tmp_path, chain(200, *SIZES, seed=2))
    beside.fit(answers)
    for prior in (other, None):
        with pytest.raises(SpecError, match="this is another one or none"):
            replace(beside, prior=prior).fit(answers)


def test_a_stored_request_is_planned_again_with_its_public_table_alone(tmp_path: Path) -> None:
    domain = domain_of(*SIZES)
    prior = published(tmp_path, chain(200, *SIZES, seed=1))
    first = planned(domain, epsilon="1").with_prior(prior)
    again = mechanisms.plan(domain, first.spec, prior=prior)
    assert again.digest == first.digest
    answers = answered(first, chain(300, *SIZES))
    assert again.fit(answers).to_json() == first.fit(answers).to_json()
    other = published(tmp_path, chain(200, *SIZES, seed=2))
    elsewhere = replace(prior, published="another page")
    for wrong in (other, elsewhere, None):
        with pytest.raises(SpecError, match="the request states a public table"):
            mechanisms.plan(domain, first.spec, prior=wrong)


def test_the_forecast_of_time_counts_the_second_fit(tmp_path: Path) -> None:
    prior = published(tmp_path, chain(200, *SIZES, seed=1))
    plan = planned(domain_of(*SIZES), epsilon="1")
    plain, beside = plan.needs(), plan.with_prior(prior).needs()
    assert beside.seconds > plain.seconds
    assert beside.memory_bytes == plain.memory_bytes


def test_the_forecast_counts_it_after_columns_are_learned_too(tmp_path: Path) -> None:
    plan = mechanisms.plan(Domain.from_json(LEARNED), mechanisms_spec(epsilon="50"))
    prior = published(tmp_path, chain(200, 12, 4, seed=1))
    assert plan.with_prior(prior).needs().seconds > plan.needs().seconds


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("far", [0.0, 1.0])
def test_ratios_of_many_cells_are_those_that_make_them_likeliest(law: Any, far: float) -> None:
    """As the two functions say that compute every likelihood again for each candidate."""
    rng = np.random.default_rng(3)
    expected = rng.uniform(1, 60, size=500)
    values = expected * np.exp(far * rng.normal(size=500)) + 0.3 * rng.normal(size=500)
    known: dict[str, Any] = {"variance": 1.0, "law": law, "grid": shrinkage.GRID}
    others = [np.eye(shrinkage.GRID.size)[20] * (1 - 1e-6) + 1e-6 / shrinkage.GRID.size]
    found = shrinkage.likeliest_ratios(values, expected, **known, others=others)
    candidates = [shrinkage.estimate_ratios(values, expected, **known).prior, *others]
    evidences = [
        shrinkage.evidence(values, expected, **known, prior=shares) for shares in candidates
    ]
    best = int(np.argmax(evidences))
    assert best == (0 if far else 1)
    assert np.allclose(found, candidates[best], rtol=1e-8, atol=1e-12)


def test_columns_are_renamed_and_codes_that_nobody_declares_left_out(tmp_path: Path) -> None:
    domain = Domain(
        attributes=(
            Categorical(name="c0", values=("0", "1", "2"), outside="clamp"),
            Categorical(name="town", values=("0", "1"), outside="clamp"),
            Categorical(name="lost", values=("x", "y"), outside="clamp"),
        )
    )
    rows = np.array([[0, 1, 7], [9, 0, 7], [2, 1, 7]])
    names = ["c0", "city", "lost"]
    prior = published(tmp_path, rows, names=names, renamed={"town": "city"})
    plan = mechanisms.plan(domain, mechanisms_spec(epsilon="1"), prior=prior)
    stated: Any = plan.spec.parameters["prior"]
    assert stated["columns"] == ["c0", "town"]
    assert stated["records"] == 3


def test_a_table_that_shares_no_column_is_refused_with_the_number(tmp_path: Path) -> None:
    prior = published(tmp_path, chain(100, 5, 5), names=["age", "sex"])
    with pytest.raises(SpecError, match=r"none of the 4 columns .* its 2 columns .*rename"):
        mechanisms.plan(domain_of(*SIZES), mechanisms_spec(epsilon="1"), prior=prior)


def test_a_method_that_reads_no_public_table_refuses_one(tmp_path: Path) -> None:
    prior = published(tmp_path, chain(100, *SIZES))
    spec = mechanisms_spec(epsilon="1", mechanism="independent")
    with pytest.raises(SpecError, match="independent reads no public table"):
        mechanisms.plan(domain_of(*SIZES), spec, prior=prior)


def test_a_column_that_the_file_lacks_cannot_be_renamed(tmp_path: Path) -> None:
    with pytest.raises(SynthError, match="no such column"):
        published(tmp_path, chain(10, *SIZES), renamed={"c0": "nothing"})


def receipt_of(plan: Any) -> Any:
    return json.loads(json.dumps(plan.receipt(answered(plan, chain(300, *SIZES)))))


def test_the_receipt_states_the_table_and_the_verifier_says_so(tmp_path: Path) -> None:
    prior = published(tmp_path, chain(500, *SIZES, seed=1))
    receipt = receipt_of(planned(domain_of(*SIZES)).with_prior(prior))
    assert receipt["mechanism"]["parameters"]["prior"]["sha256"] == prior.source.sha256
    verified = verifier.verify(receipt)
    assert any(prior.source.sha256 in caveat for caveat in verified.caveats)
    assert "the bureau's page" in verifier.report(verified)


@pytest.mark.parametrize(
    "change",
    [
        {"sha256": "0"},
        {"sha256": None},
        {"published": "two\nlines"},
        {"columns": []},
        {"records": "many"},
        {"release": {}},
        {"release": None},
        {"more": 1},
    ],
)
def test_a_malformed_statement_about_it_is_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    plan = planned(domain_of(*SIZES)).with_prior(published(tmp_path, chain(99, *SIZES)))
    stated: Any = plan.spec.parameters["prior"]
    parameters = {**plan.spec.parameters, "prior": {**stated, **change}}
    # Planned and digested so, hence what is refused is the statement itself.
    with pytest.raises(VerificationError, match="public table"):
        verifier.verify(
            receipt_of(replace(plan, spec=replace(plan.spec, parameters=parameters)))
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    published(tmp_path, chain(300, *SIZES, seed=1))
    (tmp_path / "table.csv").write_bytes(published_text(chain(300, *SIZES)))
    columns = [
        {"name": f"c{place}", "kind": "integer", "low": 0, "high": size - 1}
        for place, size in enumerate(SIZES)
    ]
    (tmp_path / "domain.json").write_text(json.dumps({"attributes": columns}))
    return tmp_path


def published_text(table: np.ndarray) -> bytes:
    header = ",".join(f"c{place}" for place in range(table.shape[1]))
    return "\n".join(
        [header, *(",".join(map(str, row)) for row in table.tolist()), ""]
    ).encode()


def synthesize(folder: Path, *more: object, out: str = "out.csv") -> int:
    arguments: list[object] = [
        "synthesize", folder / "table.csv", "--domain", folder / "domain.json", "--mechanism", "auto",
        "--epsilon", "1",
        "--delta", "1e-9", "--out", folder / out, *more,
    ]  # fmt: skip
    return cli.main([str(argument) for argument in arguments])


@pytest.mark.parametrize("packed", [False, True])
def test_the_table_that_is_to_be_protected_is_no_public_table(
    folder: Path, capsys: pytest.CaptureFixture[str], packed: bool
) -> None:
    public = folder / "copy.csv.gz" if packed else folder / "copy.csv"
    text = (folder / "table.csv").read_bytes()
    public.write_bytes(gzip.compress(text) if packed else text)
    assert synthesize(folder, "--prior", public, "--prior-source", "here") == cli.BAD_INPUT
    assert "the table that is to be protected" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_a_packed_table_is_recognised_as_well(folder: Path) -> None:
    packed = folder / "table.csv.gz"
    packed.write_bytes(gzip.compress((folder / "table.csv").read_bytes()))
    prior = load_public_table(folder / "table.csv", published="here")
    with pytest.raises(SpecError, match="to be protected"):
        pipeline.require_another_file(packed, prior)
    pipeline.require_another_file(folder / "public.csv", prior)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--prior", "public.csv"), "--prior-source"),
        (("--prior-source", "here"), "--prior"),
        (("--prior", "nothing.csv", "--prior-source", "here"), "cannot be read"),
        (("--prior", "public.csv", "--prior-source", "here", "--prior-column", "c0"), "NAME="),
        (("--prior", "domain.json", "--prior-source", "here"), "two columns"),
    ],
)
def test_what_is_said_badly_is_refused_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], word: str
) -> None:
    files = ("public.csv", "nothing.csv", "domain.json")
    given = [folder / text if text in files else text for text in arguments]
    assert synthesize(folder, *given) == cli.BAD_INPUT
    assert word in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_an_earlier_release_used_as_prior_is_named_with_its_own_loss(folder: Path) -> None:
    assert synthesize(folder, "--receipt", folder / "first.json", out="first.csv") == 0
    earlier = ("--prior", folder / "first.csv", "--prior-source", "our page")
    own = ("--prior-receipt", folder / "first.json")
    assert synthesize(folder, *earlier, *own, "--receipt", folder / "second.json") == 0
    first, second = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("first", "second")
    )
    release = second["mechanism"]["parameters"]["prior"]["release"]
    assert release == {"core": first["digest"], "guarantee": first["guarantee"]["sentence"]}
    assert any(first["digest"] in line for line in verifier.verify(second).caveats)


def test_a_receipt_of_another_table_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synthesize(folder, "--receipt", folder / "first.json", out="first.csv") == 0
    other = ("--prior", folder / "public.csv", "--prior-source", "our page")
    assert synthesize(folder, *other, "--prior-receipt", folder / "first.json") == cli.BAD_INPUT
    assert "another table" in capsys.readouterr().err
